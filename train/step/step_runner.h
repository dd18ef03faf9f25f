// Runs a training step repeatedly in the way that train.graph selects: eager, recorded once and
// replayed, or both with a comparison. Called by the trainer; host only.
#pragma once

#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/step_graph.h"
#include "kernels/runtime/stream.h"
#include "train/step/snapshot.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace wellspring {

class StepRunner {
 public:
  /// Eager steps before the recording. In the first, libraries select kernels and create handles;
  /// the second shows that nothing is created again. Both are part of the training.
  static constexpr std::uint64_t kWarmUpSteps = 2;

  /// `enqueue` enqueues a step; `memory` holds all state that it changes. `warm_up`: eager steps
  /// before the recording; 0 if the whole step has already run in some other form.
  StepRunner(GraphMode mode, std::function<void(Stream&)> enqueue, const MemoryPlan& memory,
             std::uint64_t warm_up = kWarmUpSteps)
      : mode_(mode), enqueue_(std::move(enqueue)), memory_(memory), warm_up_(warm_up) {}

  /// `tell` is called with the census of the recorded step.
  void on_record(std::function<void(const GraphCensus&)> tell) { tell_ = std::move(tell); }

  /// Enqueues a step; `step` is its number, for messages. Error (runtime) if, from the same state,
  /// the recorded and the eager step lead to different states.
  void run(Stream& stream, std::uint64_t step);
  /// Begins again with eager steps and a recording, because `enqueue` now enqueues another step.
  void restart(Stream& stream);

 private:
  void record(Stream& stream);
  void check(Stream& stream, std::uint64_t step);

  GraphMode mode_;
  std::function<void(Stream&)> enqueue_;
  std::function<void(const GraphCensus&)> tell_;
  const MemoryPlan& memory_;
  std::uint64_t warm_up_;
  std::uint64_t runs_ = 0;
  std::unique_ptr<StepGraph> graph_;
  Snapshot before_, eager_, replayed_;
};

}  // namespace wellspring
