// One training step as nodes on a stream: the diagram of docs/architecture.md, in its order. Host
// only.
#pragma once

#include "kernels/batch/batch_columns.h"
#include "kernels/batch/communicator.h"
#include "kernels/ops/training.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"
#include "sources/mixing/mixup_pass.h"
#include "sources/mixture.h"
#include "train/config/run_config.h"
#include "train/heads/head_losses.h"
#include "train/step/metrics_windows.h"
#include "train/step/supervised_task.h"

#include <optional>

namespace wellspring {

/// Everything that a step reads and writes lies in device memory and begins where the step before
/// left it, so a step may be enqueued, or recorded once and replayed.
class TrainingStep {
 public:
  /// Plans the batch, the losses, the counters and the ring of metrics. `mixture` and `task`
  /// outlive it.
  TrainingStep(const RunConfig& config, Mixture& mixture, SupervisedTask& task, MemoryPlan& memory);
  /// After commit: uploads what the losses need.
  void load(Stream& stream) { losses_.load(stream); }

  /// Enqueues all of it.
  void enqueue(Stream& stream);
  /// Enqueues all but the data, on the batch that lies in memory.
  void enqueue_resident(Stream& stream);

  BatchView batch() const { return batch_.view(); }
  const Planned<StepState>& state() const { return state_; }
  const PlannedRing& ring() const { return ring_; }
  const HeadLosses& losses() const { return losses_; }

 private:
  void begin(Stream& stream);
  void data(Stream& stream);
  void learn(Stream& stream);
  void forward(Stream& stream);
  void loss(Stream& stream);
  void backward(Stream& stream);
  void reduce(Stream& stream);
  void optimize(Stream& stream);
  void end(Stream& stream);
  Pass pass(Stream& stream, const BatchView& batch) const;

  Mixture& mixture_;
  SupervisedTask& task_;
  ops::ScheduleSpec schedule_;
  SingleRank ranks_;
  HeadLosses losses_;
  std::optional<BatchMix> mix_;
  BatchColumns batch_;
  Planned<StepState> state_;
  PlannedRing ring_;
};

/// The learning rate's schedule of a run.
ops::ScheduleSpec learning_rate_schedule(const RunConfig& config);

}  // namespace wellspring
