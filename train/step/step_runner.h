// Runs a training step again and again as train.graph says: enqueued, recorded once and replayed,
// or both ways compared. Host only.
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
  /// Eager steps before the step is recorded: libraries choose their kernels and make their handles
  /// in the first, the second shows that nothing is made anew. They count as steps.
  static constexpr std::uint64_t kWarmUpSteps = 2;

  /// `enqueue` puts a step on a stream; `memory` holds all the state that it changes. `warm_up`: 0
  /// where the libraries have been through all of it before.
  StepRunner(GraphMode mode, std::function<void(Stream&)> enqueue, const MemoryPlan& memory,
             std::uint64_t warm_up = kWarmUpSteps)
      : mode_(mode), enqueue_(std::move(enqueue)), memory_(memory), warm_up_(warm_up) {}

  /// Called with the census of the step once it is recorded.
  void on_record(std::function<void(const GraphCensus&)> tell) { tell_ = std::move(tell); }

  /// Enqueues a step; `step` is its number, for messages. Error (runtime): the recorded step and
  /// the enqueued one, from equal states, left different states.
  void run(Stream& stream, std::uint64_t step);

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
