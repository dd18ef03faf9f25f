// Reports about windows of steps.
#include "train/step/metrics_windows.h"

#include "core/work_watch.h"
#include "kernels/runtime/memory_plan.h"
#include "tests/train/training_testing.h"
#include "train/step/source_truth.h"
#include "train/step/supervised_task.h"

#include <gtest/gtest.h>

#include <vector>

namespace wellspring::test {
namespace {

// An evaluation within a window restarts its clock, so earlier steps of the window do not count.
TEST(MetricsWindow, DividesTheTimedStepsByTheirTime) {
  const RunConfig config = small_run("unused", {"device=cpu"});
  Mixture mixture = config.open_training(WorkWatch());
  MemoryPlan memory(Device::cpu());
  mixture.plan(memory, config.train.batch, 30);
  const std::vector<HeadSpec> heads = SupervisedTask::Input::of(config, mixture).heads;
  const HeadLosses losses(heads, feed_heads(heads, config.heads, training_truth(config, mixture)),
                          mixture.size(), Share::whole(config.train.batch), DType::f32,
                          HeadLosses::Mode::train, memory, "losses");
  std::vector<ops::StepMetrics> lines(8);
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i].loss = static_cast<float>(i);
  const std::vector<double> sums(lines.size() * static_cast<std::size_t>(losses.layout().sums()));
  WindowLines window{8, 12, lines, sums, 0.5, 8, true};
  const StepReport whole = summarise_window(window, mixture, losses, config.train.batch, 30);
  EXPECT_EQ(whole.window, 4u);
  EXPECT_EQ(whole.loss, 1.5) << "must be the mean of 0 to 3";
  EXPECT_EQ(whole.samples_per_second, 4 * 8 / 0.5);
  window.timed_from = 11;
  const StepReport part = summarise_window(window, mixture, losses, config.train.batch, 30);
  EXPECT_EQ(part.loss, 1.5);
  EXPECT_EQ(part.samples_per_second, 1 * 8 / 0.5);
}

}  // namespace
}  // namespace wellspring::test
