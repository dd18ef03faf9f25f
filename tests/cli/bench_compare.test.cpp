// `bench compare` of handwritten results. No test measures.
#include "bench/measure.h"
#include "tests/cli/command.h"
#include "tests/support/error_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace wellspring::test {
namespace {

/// A result with rows {name, rate, low, high}; low 0: no interval.
struct WrittenRow {
  std::string name;
  double rate, low, high;
};

std::string result(const std::vector<WrittenRow>& rows, const std::string& processor = "A") {
  nlohmann::json json = {{"machine", {{"processor", processor}, {"threads", 2}}},
                         {"device_name", processor},
                         {"rows", nlohmann::json::array()}};
  for (const WrittenRow& row : rows) {
    nlohmann::json interval;
    if (row.low > 0) interval = {row.low, row.high};
    json["rows"].push_back(
        {{"name", row.name}, {"unit", "images/s"}, {"rate", row.rate}, {"interval", interval}});
  }
  return json.dump();
}

class BenchCompare : public testing::Test {
 protected:
  Outcome compare(const std::string& before, const std::string& after,
                  std::vector<std::string> more = {}) const {
    spill(folder_ / "a.json", before);
    spill(folder_ / "b.json", after);
    std::vector<std::string> arguments = {"bench", "compare", "a.json", "b.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return wellspring(arguments, folder_.path());
  }
  TemporaryFolder folder_;
};

TEST_F(BenchCompare, CountsChangesBeyondThresholdAndNoise) {
  const std::string before = result({{"slower", 100, 98, 102},
                                     {"faster", 100, 98, 102},
                                     {"small", 100, 99.9, 100.1},
                                     {"noisy", 100, 70, 130},
                                     {"few", 100, 0, 0},
                                     {"gone", 1, 1, 1}});
  const std::string after = result({{"slower", 90, 88, 92},
                                    {"faster", 110, 108, 112},
                                    {"small", 96, 95.9, 96.1},
                                    {"noisy", 80, 60, 100},
                                    {"few", 10, 0, 0},
                                    {"new", 1, 1, 1}});
  const Outcome outcome = compare(before, after, {"--json", "c.json"});
  EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
  expect_parts(outcome.out, {"SLOWER", "faster", "0.900", "0.863 to 0.939", "too few repeats"});
  expect_parts(outcome.err, {"only before: gone", "only after: new"});
  const auto json = nlohmann::json::parse(slurp(folder_ / "c.json"));
  std::vector<std::string> changes;
  for (const auto& row : json.at("rows")) changes.push_back(row.at("change"));
  EXPECT_EQ(changes, (std::vector<std::string>{"slower", "faster", "none", "none", "unknown"}));
  EXPECT_TRUE(json.at("rows")[4].at("interval").is_null());
  // With a smaller threshold, the small change counts; with a larger one, nothing does.
  EXPECT_EQ(compare(result({{"small", 100, 99.9, 100.1}}), result({{"small", 96, 95.9, 96.1}}),
                    {"--threshold", "3%"})
                .exit_code,
            5);
  EXPECT_EQ(compare(before, after, {"--threshold", "0.2"}).exit_code, 0);
}

TEST_F(BenchCompare, NamesOtherMachines) {
  const std::string rows = result({{"a", 1, 1, 1}});
  expect_parts(compare(rows, result({{"a", 1, 1, 1}}, "B")).err, {"A, 2 threads", "B, 2 threads"});
  EXPECT_EQ(compare(rows, rows).err, "");
}

TEST_F(BenchCompare, RefusesOtherFiles) {
  const std::string good = result({{"a", 1, 1, 1}});
  const auto expect_refused = [&](const Outcome& outcome, int code, const char* why) {
    EXPECT_EQ(outcome.exit_code, code) << why;
    expect_parts(outcome.err, {why});
  };
  expect_refused(compare(good, "{}"), 3, "b.json is not a result of wellspring bench");
  expect_refused(compare("nonsense", good), 3, "a.json is not a result of wellspring bench");
  expect_refused(compare(good, result({{"b", 1, 1, 1}})), 3, "have no row in common");
  expect_refused(compare(good, result({{"a", 0, 0, 0}})), 3, "the rate of 'a' is not above 0");
  expect_refused(compare(good, good, {"--threshold", "x"}), 2, "--threshold 'x'");
  expect_refused(compare(good, good, {"--repeats", "3"}), 2, "takes only --threshold");
  expect_refused(compare(good, good, {"c.json"}), 2, "takes two files");
  expect_refused(wellspring({"bench", "compare", "a.json"}, folder_.path()), 2, "takes two files");
}

TEST(BenchSlowdown, IsADropThatAllWindowsShow) {
  EXPECT_DOUBLE_EQ(bench::slowdown_of({100, 101, 99, 95, 90, 90, 80, 81, 79}), 0.2);
  EXPECT_EQ(bench::slowdown_of({100, 101, 99, 95, 90, 90, 80, 99, 79}), 0) << "one is as fast";
  EXPECT_EQ(bench::slowdown_of({100, 101, 99, 98, 98, 98, 97, 96, 97}), 0) << "less than 5 %";
  EXPECT_EQ(bench::slowdown_of({100, 90, 80}), 0) << "too few";
}

TEST(BenchRow, FlagsClocksThatDisagreeAndADeviceThatThrottles) {
  bench::Row row{"name", "samples/s", 1000, 0, 11, Interval{990, 1010}};
  row.clocks = 0.99;
  EXPECT_TRUE(bench::to_string(row).ends_with("\n    by marks on the stream 1.01 k"))
      << bench::to_string(row);
  row.clocks = 0.9;
  row.slowdown = 0.2;
  expect_parts(bench::to_string(row), {"by marks on the stream 1.11 k !: the host's clock and the "
                                       "marks on the stream disagree by 10.0 %",
                                       "its rate fell by 20 % while it was measured"});
}

TEST(ColdWork, EmptiesTheCachesBeforeEachRun) {
  int runs = 0;
  bench::MemoryTraffic flush(Device::cpu(), bench::MemoryTraffic::Kind::write, 1 << 16);
  const bench::Work work = bench::cold({[&] { ++runs; }, 3}, &flush);
  EXPECT_EQ(work.work, 3);
  EXPECT_GE(work.seconds(2), 0);
  EXPECT_EQ(runs, 2);
  work.seconds(1000);
  EXPECT_EQ(runs, 7) << "at most 5 per window";
}

TEST(Bench, MeasuresFilesAndColdOperations) {
  const TemporaryFolder folder;
  const Outcome files = wellspring(
      {"bench", "files", "--repeats", "1", "--filter", "decoding, one|npy", "--json", "rows.json"},
      folder.path());
  ASSERT_EQ(files.exit_code, 0) << files.err;
  const auto rows = nlohmann::json::parse(slurp(folder / "rows.json")).at("rows");
  ASSERT_EQ(rows.size(), 5u) << files.out;
  for (const auto& row : rows) EXPECT_GT(row.at("ceiling").at("share"), 0) << row;
  EXPECT_EQ(rows[0].at("ceiling").at("what"), "libjpeg-turbo alone, in memory");
  EXPECT_EQ(rows[2].at("ceiling").at("what"), "a copy in memory");

  const Outcome ops = wellspring(
      {"bench", "ops", "--cold", "--repeats", "1", "--filter", "group norm 128x"}, folder.path());
  ASSERT_EQ(ops.exit_code, 0) << ops.err;
  expect_parts(ops.out, {"group norm 128x16x16x64 forward, cold"});
  const Outcome refused = wellspring({"bench", "generators", "--cold"}, folder.path());
  EXPECT_EQ(refused.exit_code, 2);
  expect_parts(refused.err, {"--cold applies to 'bench ops'"});
}

}  // namespace
}  // namespace wellspring::test
