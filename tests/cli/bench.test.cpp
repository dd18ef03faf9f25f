// `bench`. No test depends on the speed of the machine.
#include "bench/generator_batches.h"
#include "bench/gpu_ceilings.h"
#include "bench/large_product.h"
#include "bench/measure.h"
#include "generators/generator.h"
#include "tests/cli/command.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

// 2 n^3 operations: for each of n^2 results, n products and n sums.
TEST(LargeProduct, CountsItsOperations) {
  bench::LargeProduct product(Device::cpu(), DType::f32, 16);
  EXPECT_EQ(product.operations(), 8192);
  int runs = 0;
  const double rate = bench::rate_of({[&] { ++runs; },
                                      3,
                                      {},
                                      [&](int times) {
                                        for (int i = 0; i < times; ++i) ++runs;
                                        return 0.5 * times;
                                      }});
  EXPECT_DOUBLE_EQ(rate, 6);
  EXPECT_GT(runs, bench::kUsualPairs);
}

/// Work of about 2 ms that appends `name` to `windows` at the end of each window.
bench::Work work_of(char name, std::string& windows) {
  return {[] {
            const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
            while (std::chrono::steady_clock::now() < end) continue;
          },
          1, [name, &windows] { windows += name; }};
}

TEST(Measure, AlternatesARowAndItsCeiling) {
  std::string windows;
  const bench::Row row = bench::measure("nothing", "things/s", work_of('r', windows),
                                        {"as little", work_of('c', windows)}, 3);
  EXPECT_EQ(row.repeats, 3);
  EXPECT_GT(row.rate, 0);
  EXPECT_FALSE(row.interval) << "3 values are too few for an interval";
  ASSERT_TRUE(row.ceiling);
  EXPECT_EQ(row.ceiling->what, "as little");
  EXPECT_EQ(row.ceiling->share.pairs, 3u);
  EXPECT_EQ(row.ceiling->share.verdict, Verdict::too_few);
  ASSERT_GE(windows.size(), 6u);
  EXPECT_EQ(windows.substr(windows.size() - 6), "rccrrc") << windows;
}

TEST(BenchRow, PrintsItsIntervals) {
  bench::Row row{"name", "GB/s", 1.5, 0, 11, Interval{1.25, 1.75}};
  bench::Ceiling ceiling{"a copy", 3, Interval{2.5, 3.5}};
  ceiling.share = {0.5, Interval{0.4, 0.6}, 11, Verdict::conclusive};
  row.ceiling = ceiling;
  expect_parts(bench::to_string(row), {"1.5 (1.25 to 1.75)"});
  EXPECT_TRUE(bench::to_string(row).ends_with(
      "GB/s      50.0 % (95 %: 40.0 to 60.0 %) of 3 (2.5 to 3.5), a copy"))
      << bench::to_string(row);
  row.ceiling->share.verdict = Verdict::contradicts;
  row.ceiling->load.machine = {1, 0, 2};
  expect_parts(bench::to_string(row), {"inconclusive: the machine was busy (other programs used "
                                       "1.00 of 2 processors"});
}

bool is_counted(const std::string& generator, const std::string& what, int side) {
  const auto rows = bench::issue_slots();
  return std::any_of(rows.begin(), rows.end(), [&](const bench::IssueSlots& row) {
    return row.generator == generator && row.what == what && row.side == side &&
           row.warp_instructions > 0;
  });
}

// `scripts/issue-slots NAME` counts the rows of a new generator.
TEST(GpuCeilings, CoverEveryMeasuredGenerator) {
  for (const GeneratorEntry& entry : generator_registry()) {
    const bool image = entry.kind == SampleKind::image;
    for (const int side : image ? std::vector{224, 32} : std::vector{1})
      EXPECT_TRUE(is_counted(entry.name, "", side)) << entry.name << " at " << side;
  }
  for (const bench::GeneratorVariant& variant : bench::generator_variants()) {
    const bool image = find_generator(variant.generator).kind == SampleKind::image;
    const int side = variant.side != 0 ? variant.side : image ? 224 : 1;
    EXPECT_TRUE(is_counted(variant.generator, variant.what, side))
        << variant.generator << ", " << variant.what << " at " << side;
  }
}

TEST(GpuCeilings, FollowFromIssueSlotsAndBytes) {
  const bench::IssueSlots& row = bench::issue_slots()[0];
  const auto ceilings_of = [&](double bytes) {
    return bench::gpu_ceilings(row.generator, row.what, row.side, bytes, Device::cpu(), 0);
  };
  const auto few = ceilings_of(1);
  ASSERT_TRUE(few);
  EXPECT_FALSE(few->is_here);
  EXPECT_DOUBLE_EQ(few->issue_rate * row.warp_instructions, 132 * 4 * 1.98e9);
  EXPECT_DOUBLE_EQ(few->write_rate, 4.8e12);
  expect_parts(bench::to_string(*few), {"NVIDIA H200, estimate from the listing"});
  // With this many bytes per sample, writing takes as long as issuing the instructions.
  const double balance = few->write_rate / few->issue_rate;
  EXPECT_TRUE(ceilings_of(balance / 2)->issue_is_lower());
  EXPECT_FALSE(ceilings_of(balance * 2)->issue_is_lower());
  EXPECT_TRUE(bench::to_string(*ceilings_of(balance / 2)).ends_with("; lower bound: issue slots"));
  EXPECT_TRUE(bench::to_string(*ceilings_of(balance * 2)).ends_with("; lower bound: writing"));
  EXPECT_FALSE(
      bench::gpu_ceilings(row.generator, "no such settings", row.side, 1, Device::cpu(), 0));
}

// A normalisation reads as much as it writes, so it is limited by the rate of a copy, not of a
// fill.
TEST(Bench, ComparesOperationsWithACopy) {
  const TemporaryFolder folder;
  const Outcome outcome = wellspring(
      {"bench", "ops", "--filter", "group norm 128x", "--json", "rows.json"}, folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(slurp(folder.path() / "rows.json"));
  ASSERT_EQ(report.at("rows").size(), 1u);
  EXPECT_EQ(report.at("rows").at(0).at("ceiling").at("what"), "a copy of the same size");
}

// scripts/trace-overhead reads these rows.
TEST(Bench, MeasuresSpansWithoutAndWithARecording) {
  const TemporaryFolder folder;
  const Outcome outcome = wellspring({"bench", "ops", "--device", "cpu", "--filter", "^trace span",
                                      "--repeats", "5", "--json", "rows.json"},
                                     folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto rows = nlohmann::json::parse(slurp(folder.path() / "rows.json")).at("rows");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows.at(0).at("name"), "trace span, nothing recorded");
  EXPECT_EQ(rows.at(1).at("name"), "trace span, recorded");
  for (const auto& row : rows) {
    EXPECT_GT(row.at("rate"), 0);
    EXPECT_EQ(row.at("rival").at("what"), "reading the clock");
    EXPECT_GT(row.at("rival").at("times"), 0);
  }
}

TEST(Bench, PrintsRowsAndWritesThemAsJson) {
  const TemporaryFolder folder;
  const Outcome outcome = wellspring(
      {"bench", "generators", "--filter", "^ee_mumu$", "--json", "rows.json"}, folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"memory write"});
  const auto report = nlohmann::json::parse(slurp(folder.path() / "rows.json"));
  // The rows are the device's own batch, a training batch and a comparison with a plain loop, then
  // a comparison of all threads with one.
  ASSERT_GE(report.at("rows").size(), 3u);
  const auto& row = report.at("rows").at(0);
  EXPECT_EQ(row.at("unit"), "events/s");
  EXPECT_GT(row.at("rate"), 0);
  EXPECT_GT(row.at("ceiling").at("rate"), 0);
  EXPECT_GT(row.at("ceiling").at("share"), 0);
  // x is f32 on the host and bf16 on a GPU.
  EXPECT_GT(row.at("bytes"), row.at("gpu_ceilings").at("bytes"));
  EXPECT_EQ(row.at("gpu_ceilings").at("gpu"), "NVIDIA H200");
  EXPECT_EQ(row.at("gpu_ceilings").at("is_here"), false);
  expect_parts(outcome.out, {"bytes per sample; NVIDIA H200, estimate from the listing: "});
  for (const auto& interval : {row.at("interval"), row.at("ceiling").at("interval"),
                               row.at("ceiling").at("share_interval")})
    EXPECT_LE(interval.at(0), interval.at(1));
  const auto& rival = report.at("rows").at(2).at("rival");
  EXPECT_EQ(rival.at("what"), "a plain loop");
  EXPECT_GT(rival.at("times"), 0);
  expect_parts(outcome.out, {"of a plain loop"});
  EXPECT_TRUE(report.contains("commit"));
  EXPECT_FALSE(report.at("machine").at("processor").get<std::string>().empty());
}

TEST(Bench, MeasuresOneLaunch) {
  const TemporaryFolder folder;
  const Outcome outcome =
      wellspring({"bench", "generators", "--filter", "^shapes$", "--batch", "3", "--size", "17",
                  "--threads", "1", "--repeats", "1", "--json", "rows.json"},
                 folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(slurp(folder.path() / "rows.json"));
  ASSERT_EQ(report.at("rows").size(), 1u) << outcome.out;
  EXPECT_EQ(report.at("rows").at(0).at("name"), "shapes 17x17x3 f32 batch 3");
  EXPECT_EQ(report.at("rows").at(0).at("repeats"), 1);
  EXPECT_GE(report.at("rows").at(0).at("bytes"), 17 * 17 * 3 * 4);
  EXPECT_FALSE(report.at("rows").at(0).contains("gpu_ceilings")) << "17 pixels have no count";

  const Outcome refused = wellspring({"bench", "ops", "--batch", "3"}, folder.path());
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  expect_parts(refused.err, {"--batch and --size apply to"});
  EXPECT_EQ(wellspring({"bench", "train", "--threads", "1"}, folder.path()).exit_code, 2);
}

/// A mixture of generated images and images from files.
constexpr const char* kBenchRun = R"(name: mixed
device: cpu
data:
  size: 12
  sources: [{name: drawn, generator: shapes, params: {classes: 3}}, {name: photos, kind: files, path: images}]
eval: {samples: 8, sources: [{of: drawn}]}
model: {name: cnn, widths: [4], blocks: [0], pool: [1], norm: none}
optimizer: {kind: sgd, lr: 0.01}
train: {batch: 8, steps: 10}
)";

TEST(Bench, MeasuresAConfigurationNextToAResidentBatch) {
  const TemporaryFolder folder;
  write_as_folder(folder / "images", labelled_noise(3, 5, 12));
  spill(folder / "mixed.yaml", kBenchRun);
  const Outcome outcome = wellspring(
      {"bench", "train", "mixed.yaml", "train.batch=4", "data.root=" + folder.path().string(),
       "--repeats", "6", "--device", "cpu", "--json", "rows.json"},
      folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(slurp(folder / "rows.json"));
  ASSERT_EQ(report.at("rows").size(), 1u) << outcome.out;
  const auto& row = report.at("rows").at(0);
  EXPECT_EQ(row.at("name"), "mixed: cnn batch 4 drawn photos");
  EXPECT_EQ(row.at("unit"), "samples/s");
  EXPECT_EQ(row.at("repeats"), 6);
  EXPECT_GT(row.at("rate"), 0);
  EXPECT_EQ(row.at("interval").size(), 2u);
  EXPECT_GT(row.at("host_clock_over_marks"), 0);
  expect_parts(outcome.out, {"by marks on the stream"});
  EXPECT_EQ(row.at("ceiling").at("what"), "the step on a resident batch");
  EXPECT_GT(row.at("ceiling").at("rate"), 0);
  EXPECT_GT(row.at("ceiling").at("share"), 0);
  EXPECT_NE(outcome.out.find("the step on a resident batch"), std::string::npos) << outcome.out;
  EXPECT_FALSE(std::filesystem::exists(folder / "runs")) << "bench must not create a run folder";
}

TEST(Bench, RefusesConfigurationsThatItCannotMeasure) {
  const TemporaryFolder folder;
  spill(folder / "mixed.yaml", kBenchRun);
  const auto expect_refused = [&](const std::vector<std::string>& arguments, const char* why) {
    std::vector<std::string> command = {"bench"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Outcome outcome = wellspring(command, folder.path());
    EXPECT_EQ(outcome.exit_code, 2) << why;
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
  };
  expect_refused({"train", "mixed.yaml", "train.bach=4"}, "unknown key 'bach'");
  expect_refused({"train", "mixed.yaml", "train.graph=check"}, "runs every step twice");
  expect_refused({"train", "mixed.yaml", "--batch", "4"}, "do not apply to a configuration");
  expect_refused({"train", "mixed.yaml", "--filter", "x"}, "do not apply to a configuration");
  expect_refused({"generators", "mixed.yaml"}, "bench generators takes no configuration");
}

TEST(Bench, RefusesOptionsOfOtherGroups) {
  const TemporaryFolder folder;
  spill(folder / "mixed.yaml", kBenchRun);
  for (const auto& [command, why] : {
           std::pair{"train mixed.yaml --ranks 4", "--ranks applies to 'bench ranks'"},
           {"train mixed.yaml --weak", "--weak applies to 'bench ranks'"},
           {"ops --threshold 3%", "--threshold applies to 'bench compare'"},
           {"compare a.json b.json --cold", "--cold applies to 'bench ops'"},
           {"ranks mixed.yaml --cold", "--cold applies to 'bench ops'"},
       }) {
    const Outcome outcome = wellspring(split_words(std::string("bench ") + command), folder.path());
    EXPECT_EQ(outcome.exit_code, 2) << command;
    expect_parts(outcome.err, {why, "name the group: wellspring bench "});
  }
}

TEST(Bench, RefusesUnwritableFiles) {
  const TemporaryFolder folder;
  for (const char* file : {"no/such/rows.json", "."}) {
    const Outcome outcome =
        wellspring({"bench", "generators", "--filter", "^ee_mumu$", "--json", file}, folder.path());
    EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    expect_parts(outcome.err, {std::string(file) + ": cannot create"});
  }
}

}  // namespace
}  // namespace wellspring::test
