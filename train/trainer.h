// A training run from start to end: plans all memory, runs the steps, evaluates, writes checkpoints
// and reports. Host only.
#pragma once

#include "kernels/runtime/step_graph.h"
#include "sources/mixture.h"
#include "train/checkpoint/resume.h"
#include "train/config/run_config.h"
#include "train/metrics/observer.h"

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
  /// Largest share of the training time spent on measuring the ceiling (ceiling_affordable); 0: not
  /// measured.
  double ceiling_share = 0.02;
};

class Trainer {
 public:
  /// Opens the data, plans the network, reserves and commits all memory, loads resident data and
  /// sets the weights: from a checkpoint, from another run or newly initialised. Locks the run
  /// folder for its lifetime. Errors: config; data; device (with the memory table if the plan does
  /// not fit); runtime if another process trains in the folder; Interrupted if a signal arrives
  /// while data are read.
  Trainer(RunConfig config, TrainObserver& observer, TrainerOptions options = {});
  /// The same with the caller's sources: `training` holds them with the names and the order of the
  /// configuration, which still provides everything else.
  Trainer(RunConfig config, Mixture training, TrainObserver& observer, TrainerOptions options = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains to the last step, or until interrupt_requested(), which also ends an evaluation between
  /// two batches. Errors (runtime): a checkpoint cannot be written (tried before the first step),
  /// the loss or gradient is not finite, or graph and eager steps differ.
  FinishReport run();
  /// Trains until step `last` and waits; for tests and embedding programs.
  void train_until(std::uint64_t last);
  std::uint64_t step() const;

  /// Evaluates the current weights on the held-out sources. Does not affect the run.
  EvaluationReport evaluate();
  /// Writes a checkpoint of the current step to the run folder.
  CheckpointReport checkpoint();

  /// Measures the rate of the whole step and of the same step without its data part, on the batch
  /// in memory: the rate that the step could reach if data were free. Runs pairs of windows, one of
  /// each kind, for about `seconds` and at least kFewestForInterval pairs. Training continues
  /// meanwhile, beyond the last step if necessary; only whole steps change the state. Error
  /// (std::logic_error) if CeilingWindows::plan has an objection.
  MeasuredRates measure(double seconds);

  const RunConfig& config() const;
  const PlanReport& plan() const;
  /// Nodes of the recorded step; empty before it is recorded.
  const GraphCensus& census() const;
  /// All stored state (MemoryPlan::state) as bytes; a resumed run must have equal bytes.
  std::vector<std::uint8_t> state_bytes();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wellspring
