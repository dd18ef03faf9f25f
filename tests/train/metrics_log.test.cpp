#include "train/metrics_log.h"

#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

using test::message_of;
using test::slurp;
using test::spill;
using test::TemporaryFolder;

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

TEST(MetricsLogTest, WritesWhatItReads) {
  const TemporaryFolder folder;
  EvaluationReport evaluation;
  evaluation.step = 10;
  evaluation.results = {
      {"held",
       "head",
       50,
       3,
       0.25,
       0.9,
       0.95,
       {{"head", 0.25, {{"accuracy", 0.9, "", 0.042, 0.95}}}}},
      {"other", "head", 5, 0, 1, {}, {}, {{"place", 1, {{"rmse of x", 2, "mm"}}}}}};
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
}

TEST(MetricsLogTest, OpeningAtAStepDropsWhatFollows) {
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

TEST(MetricsLogTest, ALineOfSomethingElseIsNamed) {
  const TemporaryFolder folder;
  spill(folder / "metrics.jsonl", "{\"kind\":\"step\"}\n");
  const std::string message = message_of(ErrorKind::data, [&] { read_metrics(folder.path()); });
  EXPECT_NE(message.find("metrics.jsonl:1"), std::string::npos) << message;
}

TEST(MetricsLogTest, NoFileIsAnEmptyHistory) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_metrics(folder.path()).steps.empty());
}

}  // namespace
}  // namespace wellspring
