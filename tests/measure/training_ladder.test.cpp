// The rungs of real configurations. No test depends on the speed of the machine.
#include "measure/training_ladder.h"

#include "core/text/text.h"
#include "kernels/runtime/caches.h"
#include "measure/diagnosis_report.h"
#include "measure/page_cache.h"
#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::test {
namespace {

constexpr const char* kRun = R"(name: small
device: cpu
threads: 1
data:
  size: 8
  sources:
    - {{name: photos, kind: files, path: {}, storage: streamed, ahead: 2}}
    - {{name: shapes, kind: generator, generator: shapes}}
  schedule:
    - {{at: 0%, weights: {{photos: 0, shapes: 1}}}}
    - {{at: 50%, weights: {{photos: 1, shapes: 0}}}}
model: {{name: mlp}}
train: {{batch: 8, steps: 30, log_every: 4}}
)";

class TrainingLadders : public testing::Test {
 protected:
  TrainingLadders() { write_image_folder(folder_.path(), 2, 6, 8, 8); }
  RunConfig config(const std::vector<std::string>& settings = {}) const {
    return RunConfig::parse(fmt::format(kRun, folder_.path().string()), "small.yaml", settings);
  }
  static std::vector<std::string> stages(TrainingLadder& ladder) {
    std::vector<std::string> stages;
    for (const Rung& rung : ladder.rungs())
      if (!rung.apart) stages.push_back(rung.stage);
    return stages;
  }
  static LadderLimits few_turns() {
    LadderLimits limits;
    limits.window = 1e-3;
    limits.tight = 1e9;  // ends as soon as there are intervals
    return limits;
  }
  TrainObserver silent_;
  TemporaryFolder folder_;
};

TEST_F(TrainingLadders, HaveTheRungsOfTheConfiguration) {
  TrainingLadder streamed(config(), silent_);
  EXPECT_EQ(stages(streamed),
            (std::vector<std::string>{"", "generation", "copying", "decoding", "reading files"}));
  TrainingLadder resident(
      config({"data.sources.0.storage=resident", "data.sources.1.augment=[flip_x: 0.5]"}), silent_);
  EXPECT_EQ(stages(resident), (std::vector<std::string>{"", "generation and augmentation"}));
  EXPECT_FALSE(resident.files());
  ASSERT_TRUE(streamed.files());
  EXPECT_EQ(streamed.files()->count, 12u);
  EXPECT_GT(streamed.files()->bytes, 12u * 8 * 8);
}

TEST_F(TrainingLadders, TestCausesWithLessOfTheirWork) {
  TrainingLadder training(config({"data.sources.1.augment=[flip_x: 0.5]"}), silent_);
  const auto tried = [&](const std::string& stage) {
    std::vector<std::string> names;
    for (const Counterfactual& one : training.test_causes({{stage, 0.5, {}, 2}}, few_turns())) {
      EXPECT_TRUE(one.interval);
      EXPECT_GT(one.gain, 0);
      names.push_back(one.what);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(tried("decoding"),
            (Names{"twice the reading threads", "half of the rows decoded in memory"}));
  EXPECT_EQ(tried("reading files"),
            (Names{"twice the reading threads", "half of the rows in memory as they are stored"}));
  EXPECT_EQ(tried("generation and augmentation"), Names{"no augmentation"});
  EXPECT_EQ(tried("copying"), Names{});
  // The configuration's own cache leaves no half to add.
  TrainingLadder cached(config({"data.sources.0.cache=decoded"}), silent_);
  EXPECT_EQ(cached.test_causes({{"decoding", 0.5, {}, 2}}, few_turns()).size(), 1u);
}

// Weights of 0 to 1 over the first half, then 1: 1/4 + 1/2.
TEST_F(TrainingLadders, UseTheMeanWeightsOfASchedule) {
  const TrainingLadder ladder(config(), silent_);
  ASSERT_EQ(ladder.notes().size(), 1u);
  expect_parts(ladder.notes()[0], {"mean weights", "photos 0.75, shapes 0.25"});
  EXPECT_DOUBLE_EQ(ladder.plan().sources[0].weight, 0.75);
}

TEST_F(TrainingLadders, MeasureEveryRungAndReportIt) {
  TrainingLadder training(config(), silent_);
  DiagnosisReport report;
  report.title = "a <title>";
  report.ladder = measure_ladder(training.rungs(), few_turns());
  report.diagnosis = diagnose(report.ladder);
  report.cold = training.measure_cold(few_turns());
  report.sources = training.plan().sources;
  report.machine = {{"decoding", *training.decoding_rate(), "images/s"},
                    {"a <copy>", 8.94e9, "B/s"},
                    {"bus", {}, "B/s", "there is no device"}};
  EXPECT_EQ(report.ladder.turns(), static_cast<int>(kFewestForInterval));
  EXPECT_EQ(report.ladder.configured().name, "as configured");
  EXPECT_TRUE(report.diagnosis.lost_interval);
  EXPECT_GT(report.diagnosis.data_seconds, 0);
  for (const RungResult& rung : report.ladder.rungs) {
    EXPECT_GT(rung.rate, 0) << rung.name;
    EXPECT_GE(rung.p99, rung.p50) << rung.name;
    EXPECT_LE(rung.wait, 1) << rung.name;
    EXPECT_GT(rung.busy.value_or(0), 0) << rung.name;
  }
  EXPECT_EQ(report.ladder.ceiling().wait < 0.5, true) << "resident batches need no data";
  EXPECT_GE(beyond_caches(Device::cpu()), std::size_t{64} << 20);
  expect_parts(training.notes().back(), {"may find its rows in a cache", "resident batches"});
  const nlohmann::ordered_json json = to_json(report);
  EXPECT_EQ(json["rungs"][0]["busy"], report.ladder.ceiling().busy.value());
  expect_parts(to_html(report), {"<th>busy</th>"});
  EXPECT_EQ(json["rungs"].size(), report.ladder.rungs.size() + (report.cold->rung ? 1 : 0));
  EXPECT_EQ(json["rungs"][0]["share_of_ceiling"], 1);
  for (const char* name : {"resident batches", "decoded rows in host memory", "data alone"}) {
    EXPECT_NE(to_text(report).find(name), std::string::npos) << name;
    EXPECT_NE(to_html(report).find(name), std::string::npos) << name;
  }
  EXPECT_NE(to_html(report).find("a &lt;title&gt;"), std::string::npos);
  expect_parts(to_text(report),
               {"This machine, now", "a <copy>  8.94 GB/s", "bus       none: there is"});
  expect_parts(to_html(report), {"a &lt;copy&gt;</td>", "8.94 GB/s", "none: there is no device"});
  EXPECT_EQ(json["machine_rates"][1]["rate"], 8.94e9);
  EXPECT_TRUE(json["machine_rates"][2]["rate"].is_null());
  EXPECT_EQ(json["machine_rates"][2]["reason"], "there is no device");
  EXPECT_EQ(to_html(report).find("http"), std::string::npos) << "the page needs no other file";
}

TEST_F(TrainingLadders, SweepSettingsAndNameTheBest) {
  TrainingLadder training(config({"data.sources.0.threads=1"}), silent_);
  const Ladder sweep = measure_ladder(training.sweep(), few_turns());
  std::vector<std::string> names;
  for (const RungResult& rung : sweep.rungs) names.push_back(rung.name);
  EXPECT_EQ(names, (std::vector<std::string>{"as configured", "train.batch=4", "train.batch=16",
                                             "threads=2", "data.sources.0.threads=2",
                                             "data.sources.0.ahead=4"}));
  EXPECT_EQ(sweep.rungs[1].samples, 4);
}

TEST_F(TrainingLadders, SkipSettingsThatAreNotAllowed) {
  TrainingLadder training(config({"train.accumulate=2", "train.batch=16"}), silent_);
  std::vector<std::string> names;
  for (const Rung& rung : training.sweep()) names.push_back(rung.name);
  EXPECT_EQ(std::ranges::count(names, "train.batch=8"), 0);
  EXPECT_EQ(std::ranges::count(names, "train.batch=32"), 1);
  expect_parts(join(training.notes()), {"not tried: train.batch=8"});
}

// A phase that began during the measurement would record another step.
TEST_F(TrainingLadders, TrainAllParametersFromTheStart) {
  struct Recordings : TrainObserver {
    int count = 0;
    void on_graph(const GraphCensus&, std::uint64_t) override { ++count; }
  } recordings;
  TrainingLadder training(
      config({"optimizer.parameters=[{match: '*', unfreeze_at: 3}, {match: '*.bias', "
              "frozen: false}]"}),
      recordings);
  expect_parts(join(training.notes()), {"unfreeze_at"});
  const std::vector<Rung> rungs = training.rungs();
  const Rung& configured = *std::ranges::find(rungs, "as configured", &Rung::name);
  configured.run(2);
  const int first = recordings.count;
  configured.run(8);
  EXPECT_GT(first, 0);
  EXPECT_EQ(recordings.count, first);
}

/// Steps of `samples` samples at `rate` steps/s.
RungResult swept(const std::string& name, double samples, double rate) {
  RungResult rung;
  rung.name = name;
  rung.samples = samples;
  rung.rate = rate;
  rung.interval = Interval{0.9 * rate, 1.1 * rate};
  return rung;
}

TEST(Sweep, IsWonByARateAboveTheIntervalOfTheConfiguration) {
  Ladder sweep;
  sweep.rungs = {swept("as configured", 8, 10), swept("too near", 8, 12), swept("slow", 4, 15)};
  EXPECT_EQ(best_of_sweep(sweep).name, "as configured");
  sweep.rungs.push_back(swept("train.batch=16", 16, 8));
  EXPECT_EQ(best_of_sweep(sweep).name, "train.batch=16");
}

TEST_F(TrainingLadders, RefuseStepsThatRunTwice) {
  expect_parts(message_of(ErrorKind::config,
                          [&] { TrainingLadder ladder(config({"train.graph=check"}), silent_); }),
               {"train.graph is check", "train.graph=on"});
}

TEST(DiagnosisReport, AdvisesTheRemedyOfEachCause) {
  DiagnosisReport report;
  RungResult& rung = report.ladder.rungs.emplace_back();
  rung.rate = 10;
  rung.rates = {10};
  report.sources.push_back({"photos", "", "", 1, true, true, 1 << 20});
  for (const auto& [stage, word] : std::vector<std::pair<std::string, std::string>>{
           {"copying", "storage: resident (1.0 MiB of device"},
           {"decoding", "cache: decoded (1.0 MiB of host"},
           {"reading files", "cache: encoded"},
           {"generation", "bench generators"},
           {"augmentation", "augmentations"}}) {
    report.diagnosis.causes = {{stage, 0.5, {0.4, 0.6}, 2}};
    expect_parts(advice(report).at(0), {stage, word, "2.00 times"});
  }
}

TEST(DiagnosisReport, AdvisesOnlyWhatApplies) {
  DiagnosisReport report;
  RungResult& rung = report.ladder.rungs.emplace_back();
  rung.name = "as configured";
  rung.rate = 10;
  rung.rates = {10};
  report.sources.push_back({"photos", "", "", 1, true, true, 1 << 20});
  report.diagnosis.causes = {{"decoding", 0.5, {0.4, 0.6}, 2, false, /*confirmed=*/false}};
  EXPECT_TRUE(advice(report).empty()) << "the cause is not confirmed";
  expect_parts(to_text(report), {"NOT confirmed: decoding", "compete for processors"});

  report.diagnosis.causes = {{"reading files", 0.5, {0.4, 0.6}, 2}};
  report.files = FileCount{5000, 5000 * 4096};
  EXPECT_EQ(advice(report).size(), 2u);
  expect_parts(advice(report)[0], {"cache: encoded (19.5 MiB of host memory)"});
  expect_parts(advice(report)[1],
               {"pack 5000 files", "--layout webdataset", "19.5 MiB of storage"});
  report.files->count = 10;
  EXPECT_EQ(advice(report).size(), 1u) << "few files need no shards";

  report.tried = {{"twice the reading threads", {"reading files"}, 1.5, Interval{1.4, 1.6}},
                  {"half of the rows", {"reading files"}, 1, Interval{0.9, 1.1}}};
  report.cold.emplace();
  report.cold->rung = rung;
  report.cold->rung->rate = 2.5;
  report.sweep.emplace();
  report.sweep->rungs = {swept("as configured", 8, 10), swept("train.batch=16", 16, 15)};
  report.sweep->rungs[0].memory = 1 << 20;
  report.sweep->rungs[1].memory = 2 << 20;
  const std::vector<std::string> lines = advice(report);
  ASSERT_EQ(lines.size(), 4u);
  expect_parts(lines[0], {"storage: copy the files", "up to 4.00 times"});
  expect_parts(lines[1], {"train.batch=16: 3.00 times", "2.0 MiB of device memory instead of 1.0",
                          "learning rate"});
  expect_parts(lines[2], {"cache: encoded"});
  EXPECT_EQ(lines[3], "twice the reading threads: 1.50 times the rate, measured");
  expect_parts(to_text(report),
               {"twice the reading threads: 1.50 times as fast (95 %: 1.40 to 1.60):"
                " confirms reading files",
                "does not help"});
  EXPECT_EQ(to_json(report)["counterfactuals"][1]["helps"], false);
}

/// The rungs of a data set of encoded files, without noise; batches of 8 samples with 4 kB each.
DiagnosisReport report_of_files(std::vector<Cause> causes) {
  DiagnosisReport report;
  for (const auto& [stage, rate] :
       std::vector<std::pair<std::string, double>>{{"", 100},
                                                   {"augmentation", 90},
                                                   {"copying", 60},
                                                   {"decoding", 30},
                                                   {"reading files", 20}}) {
    RungResult& rung = report.ladder.rungs.emplace_back();
    rung.name = rung.stage = stage;
    rung.samples = 8;
    rung.bytes = 8 * 4096;
    rung.rate = rate;
    rung.rates.assign(kFewestForInterval, rate);
  }
  report.sources.push_back({"photos", "", "", 1, true, true, 1 << 20});
  report.diagnosis.causes = std::move(causes);
  return report;
}

// The last rung without file stages makes 90 steps/s, the configuration 20.
TEST(DiagnosisReport, AdvisesGenerationWithTheGainOfTheLadder) {
  for (const std::string stage : {"copying", "decoding", "reading files", "copying, decoding"}) {
    const DiagnosisReport report = report_of_files({{stage, 0.5, {0.4, 0.6}, 2}});
    expect_parts(advice(report).at(0), {"generate the samples on the device", "32.0 KiB",
                                        "up to 4.50 times the rate, 720 samples/s"});
  }
  const auto advises = [](const DiagnosisReport& report) {
    return std::ranges::any_of(advice(report), [](const std::string& line) {
      return line.find("generate the samples") != std::string::npos;
    });
  };
  EXPECT_FALSE(advises(report_of_files({{"augmentation", 0.5, {0.4, 0.6}, 2}})));
  EXPECT_FALSE(advises(report_of_files({{"decoding", 0.5, {0.4, 0.6}, 2, false, false}})))
      << "the cause is not confirmed";
  DiagnosisReport of_python = report_of_files({{"decoding", 0.5, {0.4, 0.6}, 2}});
  of_python.sources.clear();
  EXPECT_FALSE(advises(of_python)) << "the loader of another program";
  // The rung with rows on the device was left out.
  DiagnosisReport few = report_of_files({{"reading files", 0.5, {0.4, 0.6}, 2}});
  few.ladder.rungs.erase(few.ladder.rungs.begin() + 1);
  few.ladder.rungs[1].stage = "augmentation, copying";
  expect_parts(advice(few).at(0), {"generate the samples", "5.00 times the rate, 800 samples/s"});
}

TEST(DiagnosisReport, DrawsABarOfEachRung) {
  DiagnosisReport report = report_of_files({});
  RungResult& alone = report.ladder.rungs.emplace_back(report.ladder.rungs.back());
  alone.apart = true;
  report.diagnosis = diagnose(report.ladder);
  report.sweep.emplace();
  report.sweep->rungs = {swept("as configured", 8, 10), swept("train.batch=4", 4, 5)};
  const std::string page = to_html(report);
  std::vector<std::string> widths;
  const std::string bar = "<div class=\"bar c0\" style=\"width:";
  for (std::size_t at = 0; (at = page.find(bar, at)) != std::string::npos;) {
    at += bar.size();
    widths.push_back(page.substr(at, page.find('"', at) - at));
  }
  EXPECT_EQ(widths, (std::vector<std::string>{"100.0%", "90.0%", "60.0%", "30.0%", "20.0%", "0.0%",
                                              "100.0%", "25.0%"}))
      << "relative to the fastest rung of each table; data alone has no bar";
}

TEST(DiagnosisReport, SaysHowManyOfAThousandHoursGoToData) {
  DiagnosisReport report;
  report.ladder.rungs = {swept("resident batches", 8, 10), swept("as configured", 8, 7.5)};
  for (RungResult& rung : report.ladder.rungs) rung.rates.assign(kFewestForInterval, rung.rate);
  report.diagnosis = diagnose(report.ladder);
  expect_parts(to_text(report), {"If data were free: 1.33 times as fast (95 %: 1.33 to 1.33).",
                                 "Of 1,000 hours, 250 go to data."});
  report.diagnosis.lost = 0;
  EXPECT_EQ(to_text(report).find("1,000 hours"), std::string::npos);
}

TEST(PageCache, TellsBytesOfStorageFromBytesOfMemory) {
  EXPECT_EQ(kept_by_page_cache({.calls = 100, .storage = 50}), "");
  EXPECT_EQ(kept_by_page_cache({.calls = 0, .storage = 50}), "") << "mapped files";
  EXPECT_EQ(kept_by_page_cache({.calls = 100, .storage = 49}),
            "the page cache kept the files: 49 B of 100 B came from storage");
  EXPECT_NE(kept_by_page_cache({.calls = 0, .storage = 0}), "");
  const std::filesystem::path memory = "/dev/shm";  // never on storage
  if (!std::filesystem::is_directory(memory) || !bytes_read()) return;
  const TemporaryFolder folder(memory);
  write_bytes(folder / "a", Bytes(5000));
  const ReadingRates rates = reading_rates(files_below(folder.path()));
  EXPECT_FALSE(rates.cold);
  expect_parts(rates.not_cold, {"the page cache kept the files"});
}

TEST(PageCache, FindsFilesAndCountsWhatIsRead) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "a/b.bin", Bytes(5000));
  EXPECT_EQ(files_below(folder.path()).size(), 1u);
  EXPECT_EQ(files_below(folder.path() / "a/b.bin").size(), 1u);
  EXPECT_TRUE(files_below(folder.path() / "absent").empty());
  const ReadingRates rates = reading_rates(files_below(folder.path()));
  EXPECT_GT(rates.warm.value_or(0), 0);
  EXPECT_NE(rates.cold.has_value(), !rates.not_cold.empty());
  EXPECT_FALSE(reading_rates({folder.path() / "absent"}).warm);
  if (const auto before = bytes_read()) {
    drop_from_page_cache(files_below(folder.path()));
    EXPECT_GE(bytes_read()->calls, before->calls);
  }
}

}  // namespace
}  // namespace wellspring::test
