#include "train/metrics/metrics_log.h"

#include "core/version.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

StepReport step_report(std::uint64_t step) {
  StepReport report;
  report.step = step;
  report.steps = 100;
  report.window = 10;
  report.loss = 1.0 / static_cast<double>(step);
  report.accuracy = 0.5;
  report.gradient_norm = 0.1f;
  report.learning_rate = 1e-3f;
  report.samples_per_second = 1234.5;
  report.sources = {{"a \"quoted\" name", 80, 0.75, 0.8, 0.3, 0.9}};
  return report;
}

TEST(MetricsLogTest, RoundTripsItsRecords) {
  const TemporaryFolder folder;
  EvaluationReport evaluation;
  evaluation.step = 10;
  evaluation.results = {
      {"held",
       "head",
       50,
       3,
       737280,
       0.25,
       0.9,
       0.95,
       {{"head", 0.25, {{"accuracy", 0.9, "", 0.042, 0.95}}}}},
      {"other", "head", 5, 0, 0, 1, {}, {}, {{"place", 1, {{"rmse of x", 2, "mm"}}}}}};
  ClassifierReport classifier;
  classifier.classes = {{"a", 20, 0.5, 0.25, 1.0 / 3, 0.75}, {"b", 0, 0.0}};
  classifier.confusion = {5, 15, 0, 0};
  classifier.calibration = {{1, 0.75, 0.25}};
  classifier.roc_curve = {{0, 0}, {0.25, 0.5}, {1, 1}};
  HeadReport& classified = evaluation.results[0].heads[0];
  classified.scores.push_back({"calibration error", 0.5});
  classified.scores.back().detail = true;
  classified.classifier = classifier;
  {
    MetricsLog log(folder.path(), 0);
    log.write(step_report(10));
    log.sync();
    log.write(evaluation);
  }
  const MetricsHistory history = read_metrics(folder.path());
  ASSERT_EQ(history.steps.size(), 1u);
  EXPECT_EQ(history.steps[0].loss, 0.1);
  EXPECT_EQ(history.steps[0].gradient_norm, 0.1f);
  EXPECT_EQ(history.steps[0].sources[0].name, "a \"quoted\" name");
  EXPECT_EQ(history.steps[0].sources[0].achieved_share, 0.8);
  ASSERT_EQ(history.evaluations.size(), 1u);
  EXPECT_EQ(history.evaluations[0].results[0].best_accuracy, 0.95);
  EXPECT_EQ(history.evaluations[0].results[0].trained_on, 3u);
  EXPECT_EQ(history.evaluations[0].results[0].distinct, 737280u);
  const Score& accuracy = history.evaluations[0].results[0].heads.at(0).scores.at(0);
  EXPECT_EQ(accuracy.error, 0.042);
  EXPECT_EQ(accuracy.best, 0.95);
  const EvaluationResult& regression = history.evaluations[0].results[1];
  EXPECT_FALSE(regression.accuracy.has_value());
  EXPECT_FALSE(regression.best_accuracy.has_value());
  ASSERT_EQ(regression.heads.size(), 1u);
  EXPECT_EQ(regression.heads[0].head, "place");
  EXPECT_EQ(regression.heads[0].scores[0].what, "rmse of x");
  EXPECT_EQ(regression.heads[0].scores[0].value, 2);
  EXPECT_EQ(regression.heads[0].scores[0].unit, "mm");
  EXPECT_FALSE(regression.heads[0].scores[0].error || regression.heads[0].scores[0].best);
  EXPECT_FALSE(regression.heads[0].classifier);
  const HeadReport& read = history.evaluations[0].results[0].heads[0];
  EXPECT_FALSE(read.scores[0].detail);
  EXPECT_TRUE(read.scores[1].detail);
  ASSERT_TRUE(read.classifier);
  EXPECT_EQ(read.classifier->classes[0].f1, 1.0 / 3);
  EXPECT_EQ(read.classifier->classes[0].area, 0.75);
  EXPECT_EQ(read.classifier->classes[1].precision, 0.0);
  EXPECT_EQ(read.classifier->classes[1].recall, std::nullopt);
  EXPECT_EQ(read.classifier->confusion, classifier.confusion);
  EXPECT_EQ(read.classifier->calibration[0].accuracy, 0.25);
  EXPECT_EQ(read.classifier->roc_curve, classifier.roc_curve);
}

/// JSON writes infinity and NaN as null.
TEST(MetricsLogTest, ReadsResultsThatAreNotFinite) {
  const TemporaryFolder folder;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  StepReport step = step_report(10);
  step.loss = kInfinity;
  step.gradient_norm = std::numeric_limits<float>::infinity();
  step.sources[0].loss = kNan;
  step.sources[0].heads = {{"head", kInfinity, {{"rmse of x", kNan, "mm"}}}};
  EvaluationReport evaluation;
  evaluation.step = 10;
  evaluation.results = {
      {"held", "head", 50, {}, 0, kNan, {}, {}, {{"head", kInfinity, {{"R", -kInfinity}}}}}};
  ClassifierReport classifier;
  classifier.classes = {{"a", 20, kNan}};
  classifier.calibration = {{1, kNan, 0.25}};
  evaluation.results[0].heads[0].classifier = classifier;
  {
    MetricsLog log(folder.path(), 0);
    log.write(step);
    log.write(evaluation);
  }
  const MetricsHistory history = read_metrics(folder.path());
  ASSERT_EQ(history.steps.size(), 1u);
  EXPECT_TRUE(std::isnan(history.steps[0].loss));
  EXPECT_TRUE(std::isnan(history.steps[0].gradient_norm));
  EXPECT_TRUE(std::isnan(history.steps[0].sources[0].loss));
  EXPECT_TRUE(std::isnan(history.steps[0].sources[0].heads.at(0).scores.at(0).value));
  ASSERT_EQ(history.evaluations.size(), 1u);
  const EvaluationResult& result = history.evaluations[0].results.at(0);
  EXPECT_TRUE(std::isnan(result.loss));
  EXPECT_TRUE(std::isnan(result.heads.at(0).loss));
  EXPECT_TRUE(std::isnan(result.heads[0].scores.at(0).value));
  ASSERT_TRUE(result.heads[0].classifier);
  EXPECT_FALSE(result.heads[0].classifier->classes.at(0).precision) << "as if it were undefined";
  EXPECT_TRUE(std::isnan(result.heads[0].classifier->calibration.at(0).confidence));
}

TEST(MetricsLogTest, DropsLaterRecordsWhenOpenedAtAStep) {
  const TemporaryFolder folder;
  {
    MetricsLog log(folder.path(), 0);
    for (const std::uint64_t step : {10, 20, 30}) log.write(step_report(step));
  }
  spill(folder / "metrics.jsonl", slurp(folder / "metrics.jsonl") + "{\"kind\":\"step\",\"st");
  { MetricsLog log(folder.path(), 20); }
  const MetricsHistory history = read_metrics(folder.path());
  ASSERT_EQ(history.steps.size(), 2u);
  EXPECT_EQ(history.steps.back().step, 20u);
  EXPECT_TRUE(slurp(folder / "metrics.jsonl").ends_with("\n"));
}

RunRecord run_from(std::uint64_t step) {
  PlanReport plan;
  plan.device = "cpu (Imagined, 2 threads set by the affinity mask)";
  plan.precision = "f32";
  plan.graph = "on";
  plan.model = "cnn";
  plan.parameters = 1234;
  plan.batch = 8;
  plan.steps = 100;
  return run_record(plan, step);
}

TEST(MetricsLogTest, RecordsWhereWhenAndWithWhatARunWasTrained) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(1794996334), "2026-11-18T10:05:34Z");
  const TemporaryFolder folder;
  { MetricsLog(folder.path(), 0).write(run_from(0)); }
  const RunRecord record = read_metrics(folder.path()).runs.at(0);
  EXPECT_EQ(record.step, 0u);
  EXPECT_EQ(record.time.size(), utc_text(0).size());
  EXPECT_FALSE(record.host.empty());
  EXPECT_EQ(record.version, kVersion);
  EXPECT_EQ(record.commit, kCommit);
  EXPECT_EQ(record.build, kBuildType);
  EXPECT_EQ(record.device, "cpu (Imagined, 2 threads set by the affinity mask)");
  EXPECT_EQ(record.precision, "f32");
  EXPECT_EQ(record.graph, "on");
  EXPECT_EQ(record.model, "cnn");
  EXPECT_EQ(record.parameters, 1234);
  EXPECT_EQ(record.batch, 8);
  EXPECT_EQ(record.last_step, 100u);
}

// One process ran from step 0 to 20, and another from 20 to the end at 30.
TEST(MetricsLogTest, ForgetsAProcessWithoutRemainingSteps) {
  const TemporaryFolder folder;
  {
    MetricsLog log(folder.path(), 0);
    log.write(run_from(0));
    log.write(step_report(20));
    FinishReport finish;
    finish.step = 20;
    log.write(finish);
  }
  {
    MetricsLog log(folder.path(), 20);
    log.write(run_from(20));
    log.write(step_report(30));
  }
  const auto begun = [&] {
    std::vector<std::uint64_t> steps;
    for (const RunRecord& record : read_metrics(folder.path()).runs) steps.push_back(record.step);
    return steps;
  };
  using Steps = std::vector<std::uint64_t>;
  EXPECT_EQ(begun(), (Steps{0, 20}));
  { MetricsLog log(folder.path(), 30); }
  EXPECT_EQ(begun(), (Steps{0, 20}));
  { MetricsLog log(folder.path(), 20); }
  EXPECT_EQ(begun(), Steps{0});
  EXPECT_NE(slurp(folder / "metrics.jsonl").find("\"kind\":\"rate\""), std::string::npos);
  { MetricsLog log(folder.path(), 0); }
  EXPECT_EQ(slurp(folder / "metrics.jsonl"), "");
}

TEST(MetricsLogTest, KeepsTheRate) {
  FinishReport finish;
  finish.step = 100;
  finish.throughput = {900, 7, Interval{890, 910}};
  finish.load.own = 1.5;
  finish.load.machine = {0.25, 0.125, 2};
  finish.time = {100, 98, 1, 0.5, 0.25, 0, 0.125, 0, 1.5};
  finish.input = {InputBound::highly, 0.5, {}, "HIGHLY"};
  const TemporaryFolder folder;
  { MetricsLog(folder.path(), 0).write(finish); }
  EXPECT_EQ(slurp(folder / "metrics.jsonl"),
            R"({"kind":"rate","step":100,"samples_per_second":900.0,"interval":[890.0,910.0],)"
            R"("windows":7,"processors":{"own":1.5,"others":0.25,"stolen":0.125,"of":2},)"
            R"("host_clock_over_marks":1.5,"seconds":{"total":100.0,"training":98.0,"start":1.0,)"
            R"("evaluations":0.5,"checkpoints":0.25,"pictures":0.0,"metrics":0.125,)"
            R"("first_steps":0.0},"input":{"text":"HIGHLY","wait":0.5,"interval":null}})"
            "\n");
  const std::vector<RunTime> times = read_metrics(folder.path()).times;
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].evaluations, 0.5);
  EXPECT_EQ(times[0].clocks, 1.5);
  std::ofstream(folder / "metrics.jsonl") << R"({"kind":"rate","step":1})"
                                          << "\n";
  EXPECT_TRUE(read_metrics(folder.path()).times.empty()) << "of a version without times";
  finish.throughput = {};
  { MetricsLog(folder.path(), 0).write(finish); }
  const std::string none = slurp(folder / "metrics.jsonl");
  EXPECT_NE(none.find(R"("samples_per_second":null,"interval":null,"windows":0)"),
            std::string::npos)
      << none;
}

TEST(MetricsLogTest, ReportsALineThatIsNotARecord) {
  const TemporaryFolder folder;
  spill(folder / "metrics.jsonl", "{\"kind\":\"step\"}\n");
  const std::string message = message_of(ErrorKind::data, [&] { read_metrics(folder.path()); });
  EXPECT_NE(message.find("metrics.jsonl:1"), std::string::npos) << message;
}

TEST(MetricsLogTest, ReadsAMissingFileAsAnEmptyHistory) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_metrics(folder.path()).steps.empty());
}

}  // namespace
}  // namespace wellspring::test
