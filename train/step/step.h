// One training step as nodes on a stream, in the order of the diagram in docs/architecture.md.
// Called by the trainer; host only.
#pragma once

#include "kernels/batch/batch_columns.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"
#include "sources/mixing/mixup_pass.h"
#include "sources/mixture.h"
#include "train/config/run_config.h"
#include "train/heads/head_losses.h"
#include "train/network/gradient_buckets.h"
#include "train/network/shards.h"
#include "train/optimizer/learning_rate.h"
#include "train/step/kept_batches.h"
#include "train/step/metrics_windows.h"
#include "train/step/run_context.h"
#include "train/step/supervised_task.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace wellspring {

/// A batch and the slots of its rows.
struct StepBatch {
  BatchView view;
  const Slot* slots;
};

/// A step reads and writes device memory only, and continues from the state left by the previous
/// step. It can be enqueued, or recorded once and replayed.
class TrainingStep {
 public:
  /// Plans this rank's rows of the batch, the losses, the counters and the metrics ring, and memory
  /// for the batches of `keep`. `mixture`, `task` and `context` must outlive this object.
  TrainingStep(const RunConfig& config, Mixture& mixture, SupervisedTask& task, RunContext& context,
               const KeepBatches& keep = {});
  /// Uploads the tables of the losses. Call after commit.
  void load(Stream& stream) { losses_.load(stream); }

  /// Enqueues the whole step.
  void enqueue(Stream& stream);
  /// Enqueues the data part, and the end that moves on to the next step.
  void enqueue_data(Stream& stream);
  /// Copies the batch in memory to the place `k` of the kept batches.
  void keep(Stream& stream, std::size_t k);
  std::size_t kept_batches() const { return kept_.size(); }
  /// The first `count` kept batches.
  KeptBatches kept_batches(std::size_t count) const {
    return {count, step_bytes_ + count * batch_bytes_};
  }
  /// Enqueues the step without its data part, on kept batch `k`; on the batch in memory if no
  /// batches are kept.
  void enqueue_kept(Stream& stream, std::size_t k);

  BatchView batch() const { return batch_.view(); }
  const Planned<StepState>& state() const { return state_; }
  const PlannedRing& ring() const { return ring_; }
  const HeadLosses& losses() const { return losses_; }

 private:
  void data(Stream& stream);
  void learn(Stream& stream, const StepBatch& batch);
  void pass(Stream& stream, const StepBatch& batch, std::int64_t index);
  void optimize(Stream& stream, const StepBatch& batch);
  StepBatch made() const { return {batch(), mixture_.slots()}; }
  StepBatch kept(std::size_t k) const;

  Mixture& mixture_;
  SupervisedTask& task_;
  Rows rows_;  ///< rows of the first pass through the network
  std::int64_t passes_;
  ops::ScheduleSpec schedule_;
  HeadLosses losses_;
  std::optional<BatchMix> mix_;
  BatchColumns batch_;
  struct KeptBatch {
    BatchColumns columns;
    Planned<Slot> slots;
  };
  std::vector<KeptBatch> kept_;
  std::size_t step_bytes_ = 0, batch_bytes_ = 0;
  Planned<StepState> state_;
  PlannedRing ring_;
  std::optional<GradientBuckets> buckets_;  ///< unset: a single rank
};

/// The learning-rate schedule of a run.
ops::ScheduleSpec learning_rate_schedule(const RunConfig& config);

}  // namespace wellspring
