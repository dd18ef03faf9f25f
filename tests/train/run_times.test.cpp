// Times that a run measures in passing. No test depends on the speed of the machine.
#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"
#include "tests/train/training_testing.h"
#include "train/metrics/metrics_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

constexpr const char* kStreamed = R"(name: streamed
device: cpu
threads: 1
out: {}
data: {{size: 8, sources: [{{name: photos, kind: files, path: {}, storage: streamed, ahead: 2}}]}}
model: {{name: mlp}}
train: {{batch: 4, steps: 64, log_every: 8, checkpoint_every: 32}}
)";

class RunTimesOfARun : public testing::Test {
 protected:
  RunTimesOfARun() { write_image_folder(folder_ / "photos", 2, 6, 8, 8); }
  ~RunTimesOfARun() override { clear_interrupt(); }
  RunConfig config(const Settings& settings = {}) const {
    return RunConfig::parse(
        fmt::format(kStreamed, (folder_ / "run").string(), (folder_ / "photos").string()), "a.yaml",
        settings);
  }
  FinishReport train(Listener& listener, const Settings& settings = {}) const {
    return Trainer(config(settings), listener, quick()).run();
  }
  TemporaryFolder folder_;
};

TEST_F(RunTimesOfARun, AreReportedAndStored) {
  Listener listener;
  const FinishReport finish = train(listener);
  ASSERT_EQ(listener.steps.size(), 8u);
  for (const StepReport& report : listener.steps) {
    ASSERT_TRUE(report.wait) << "8 launches contain one with a mark";
    EXPECT_GE(*report.wait, 0);
    EXPECT_LT(*report.wait, 1);
  }
  const RunTime& time = finish.time;
  EXPECT_GT(time.training, 0);
  EXPECT_GT(time.checkpoints, 0);
  EXPECT_EQ(time.evaluations, 0);
  EXPECT_GT(time.metrics, 0);
  EXPECT_LE(time.training + time.start + time.checkpoints + time.pictures, time.total * (1 + 1e-9));
  // Two readings of the same clock at both ends of each stretch.
  EXPECT_GT(time.clocks, 0);
  const MetricsHistory history = read_metrics(folder_ / "run");
  ASSERT_EQ(history.times.size(), 1u);
  EXPECT_EQ(history.times[0].training, time.training);
  EXPECT_EQ(history.steps[3].wait, listener.steps[3].wait);
  const std::string page = slurp(folder_ / "run/report.html");
  expect_parts(page, {"Where the time went", "in steps: writing metrics", "wellspring diagnose",
                      "samples/s by wall clock"});
}

TEST_F(RunTimesOfARun, AreKeptByAResumedRun) {
  Listener first, second;
  first.interrupt_at = 32;
  EXPECT_EQ(train(first).status, RunStatus::interrupted);
  clear_interrupt();
  EXPECT_EQ(train(second).status, RunStatus::finished);
  const MetricsHistory history = read_metrics(folder_ / "run");
  EXPECT_EQ(history.times.size(), 2u);
  EXPECT_EQ(history.runs.size(), 2u);
  EXPECT_EQ(
      std::ranges::count_if(history.steps, [](const auto& step) { return step.wait.has_value(); }),
      8);
}

// Generated rows are made inside the step, which has nothing to wait for.
TEST_F(RunTimesOfARun, HaveNoWaitsWithoutStreams) {
  Listener listener;
  const FinishReport finish = Trainer(small_run(folder_ / "small", {"device=cpu"}), listener).run();
  for (const StepReport& report : listener.steps) EXPECT_FALSE(report.wait);
  EXPECT_EQ(finish.input.bound, InputBound::inconclusive);
  EXPECT_GT(finish.time.evaluations, 0);
}

}  // namespace
}  // namespace wellspring::test
