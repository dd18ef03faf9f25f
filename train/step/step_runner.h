// Runs a training step repeatedly in the way that train.graph selects: eager, recorded once and
// replayed, or both with a comparison. A launch runs one step or, with train.steps_per_launch,
// several steps without the host between them. Called by the trainer; host only.
#pragma once

#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/step_graph.h"
#include "kernels/runtime/stream.h"
#include "train/step/snapshot.h"

#include <cstddef>
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

  /// `enqueue` enqueues a step; `memory` holds all state that it changes. `most`: steps of a long
  /// launch, at least 1. `warm_up`: eager steps before the recording; 0 if the whole step has
  /// already run in some other form.
  StepRunner(GraphMode mode, std::function<void(Stream&)> enqueue, const MemoryPlan& memory,
             std::int64_t most, std::uint64_t warm_up = kWarmUpSteps)
      : mode_(mode),
        enqueue_(std::move(enqueue)),
        memory_(memory),
        most_(static_cast<std::uint64_t>(most)),
        warm_up_(warm_up) {}

  using Tell = std::function<void(const GraphCensus&, std::uint64_t steps)>;
  /// `tell` is called with the census of each recorded graph and its number of steps.
  void on_record(Tell tell) { tell_ = std::move(tell); }

  /// Number of steps of the next launch if the host acts after `free` steps: `most`, or 1 if they do
  /// not fit or the step is not recorded yet.
  std::uint64_t next_launch(std::uint64_t free) const {
    return runs_ >= warm_up_ && free >= most_ ? most_ : 1;
  }
  /// Enqueues `count` steps, a result of next_launch(); `step` is the number of the first, for
  /// messages. Error (runtime) if, from the same state, the recorded and the eager steps lead to
  /// different states.
  void run(Stream& stream, std::uint64_t step, std::uint64_t count = 1);
  /// Begins again with eager steps and a recording if the phase differs from the one before, so that
  /// `enqueue` now enqueues another step.
  void select_phase(Stream& stream, std::size_t phase);

 private:
  void record(Stream& stream);
  void enqueue(Stream& stream, std::uint64_t step, std::uint64_t count);
  void replay(Stream& stream, std::uint64_t step, std::uint64_t count);
  void check(Stream& stream, std::uint64_t step, std::uint64_t count);

  GraphMode mode_;
  std::function<void(Stream&)> enqueue_;
  Tell tell_;
  const MemoryPlan& memory_;
  std::uint64_t most_, warm_up_;
  std::size_t phase_ = 0;
  std::uint64_t runs_ = 0;              ///< steps
  std::unique_ptr<StepGraph> graph_;    ///< one step
  std::unique_ptr<StepGraph> several_;  ///< `most_` steps; a CPU repeats `graph_` instead
  Snapshot before_, eager_, replayed_;
};

}  // namespace wellspring
