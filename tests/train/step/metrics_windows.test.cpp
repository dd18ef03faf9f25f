// Reports about windows of steps.
#include "train/step/metrics_windows.h"

#include "core/work_watch.h"
#include "kernels/runtime/memory_plan.h"
#include "tests/support/rank_group.h"
#include "tests/train/training_testing.h"
#include "train/step/source_truth.h"
#include "train/step/supervised_task.h"

#include <gtest/gtest.h>

#include <vector>

namespace wellspring::test {
namespace {

// An evaluation within a window restarts the clock, so earlier steps of the window do not count.
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
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i].step = 8 + i;
    lines[i].loss = static_cast<float>(i);
  }
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

// Only rank 1 has a non-finite loss, in step 5.
TEST(MetricsWindow, AddsTheLinesOfAllRanks) {
  RankGroup(2).run([](Communicator& ranks) {
    RunContext context(ranks, 8, Device::cpu(), 1);
    PlannedRing ring;
    ring.lines = context.memory.reserve<ops::StepMetrics>("test", "ring", 8);
    ring.sums = context.memory.reserve<double>("test", "sums", 8 * 2);
    int windows = 0;
    MetricsWindows collected(context, ring, [&](const WindowLines& window) {
      ++windows;
      for (std::uint64_t s = window.first; s < window.last; ++s) {
        const auto step = static_cast<double>(s);
        EXPECT_EQ(window.line(s).loss, 1.5f);
        EXPECT_EQ(window.line(s).overflow.items, 2 * s + 1);
        EXPECT_EQ(window.line(s).nonfinite, s < 5 ? 0 : s + 1);
        EXPECT_EQ(window.sums(s)[0], 2 * step);
        EXPECT_EQ(window.sums(s)[1], 3);
      }
    });
    context.memory.commit();
    collected.open(context.stream, 0, 0);
    const bool second = ranks.rank() == 1;
    for (std::uint64_t s = 0; s < 8; ++s) {
      ring.lines.data()[s] = {s, second ? 2.0f : 1.0f, 0, 0, second && s >= 5 ? 6u : 0u, {0, s}};
      if (second) ++ring.lines.data()[s].overflow.items;
      ring.sums.data()[2 * s] = static_cast<double>(s);
      ring.sums.data()[2 * s + 1] = second ? 2 : 1;
      if (s % 4 == 3) collected.close(context.stream, s + 1);
    }
    collected.flush(context.stream);
    EXPECT_EQ(windows, 2);
  });
}

}  // namespace
}  // namespace wellspring::test
