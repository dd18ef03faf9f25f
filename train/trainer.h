// A training run from start to end: plans all memory, runs the steps, evaluates, writes checkpoints
// and reports. Host only.
#pragma once

#include "core/measure/step_times.h"
#include "kernels/batch/communicator.h"
#include "kernels/runtime/step_graph.h"
#include "sources/mixture.h"
#include "train/checkpoint/resume.h"
#include "train/config/run_config.h"
#include "train/metrics/observer.h"
#include "train/step/kept_batches.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

struct TrainerOptions {
  ResumeChoice resume;
  /// false: no run folder, checkpoints or metrics; for benchmarks and tests.
  bool write_files = true;
  /// Seconds between checkpoints if train.checkpoint_every is 0.
  double checkpoint_seconds = 600;
  /// Batches that TimedPart::without_data cycles through. Fewer are kept if making the batches after
  /// the least number takes longer than `keep_seconds`.
  KeepBatches keep = {};
  double keep_seconds = 2;
  /// The trainer's rank. Must outlive the trainer.
  Communicator* ranks = &single_rank();
};

/// Part of a step to time.
enum class TimedPart : std::uint8_t {
  whole,
  without_data,  ///< with batches in memory: the cost of a step if data were free
  data_alone,    ///< makes the batches and learns nothing
};

/// With several ranks, each has a trainer with the same options and configuration (device, threads,
/// memory and paths may differ); all make the same calls. A rank trains on its share of the global
/// batch and evaluates its part of the held-out samples; reports cover all samples. Only rank 0
/// writes files. All end at the same step: on a signal to any rank, or at a limit that rank 0
/// reaches. If one throws, the code that started the ranks ends the others (see Communicator).

class Trainer {
 public:
  /// Opens the data, plans the network, reserves and commits all memory, loads resident data and
  /// sets the weights: from a checkpoint, from another run or newly initialised. Locks the run
  /// folder for the trainer's lifetime. Errors: config; data; device (with the memory table if the
  /// plan does not fit); runtime if another process trains in the folder; Interrupted if a signal
  /// arrives while it reads data.
  Trainer(RunConfig config, TrainObserver& observer, TrainerOptions options = {});
  /// The same with the caller's sources. `training` must list them under the names and in the order
  /// of the configuration, which provides all other settings.
  Trainer(RunConfig config, Mixture training, TrainObserver& observer, TrainerOptions options = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains to the last step, or until interrupt_requested(), which also ends an evaluation between
  /// two batches. Errors (runtime): a checkpoint cannot be written (tried before the first step),
  /// the loss or gradient is not finite, or graph and eager steps differ.
  FinishReport run();
  /// Trains until step `last` and waits for the device; for tests and embedding programs.
  void train_until(std::uint64_t last);
  std::uint64_t step() const;

  /// Evaluates the current weights on the held-out sources. Does not affect the run.
  EvaluationReport evaluate();
  /// Writes a checkpoint of the current step to the run folder.
  CheckpointReport checkpoint();

  /// Times `count` steps after a warm-up; for benchmarks. Continues beyond the last step if
  /// necessary. Steps without data restore the state at the end. Timing the data alone leaves the
  /// weights unchanged and the metrics meaningless.
  StepTimes time_steps(std::uint64_t count, TimedPart part = TimedPart::whole);
  /// Batches that TimedPart::without_data cycles through; none before its first call.
  KeptBatches kept_batches() const;

  const RunConfig& config() const;
  const PlanReport& plan() const;
  /// Nodes of the recorded step; empty before it is recorded.
  const GraphCensus& census() const;
  /// All stored state (MemoryPlan::state) as bytes; a resumed run must reproduce them exactly.
  std::vector<std::uint8_t> state_bytes();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wellspring
