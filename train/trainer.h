// A training run from start to end: plans all memory, runs the step, evaluates, checkpoints and
// reports. Host only.
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
  /// false: no run folder, no checkpoints, no metrics; for measuring and for tests.
  bool write_files = true;
  /// Between checkpoints where train.checkpoint_every is 0.
  double checkpoint_seconds = 600;
  /// How much of the training's time may go into measuring its ceiling (ceiling_affordable); 0: it
  /// is not measured.
  double ceiling_share = 0.02;
};

class Trainer {
 public:
  /// Opens the data, plans the network, reserves and commits all memory, loads what is resident
  /// and sets the weights: from a checkpoint, from another run, or anew. Keeps the run folder to
  /// itself while it lives. Errors: config, data, device (the memory table where it does not fit),
  /// runtime where another process trains into the folder; Interrupted where a signal came while
  /// data were read.
  Trainer(RunConfig config, TrainObserver& observer, TrainerOptions options = {});
  /// The same with sources of the caller's own making. `training` holds them under the names and in
  /// the order of the configuration, which still says all the rest.
  Trainer(RunConfig config, Mixture training, TrainObserver& observer, TrainerOptions options = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains to the last step, or until interrupt_requested(), which also ends an evaluation between
  /// two batches. Errors: runtime when a checkpoint cannot be written, which is tried before the
  /// first step, loss or gradient is not finite, or graph and eager steps differ.
  FinishReport run();
  /// Trains until step `last` and waits; for tests and embedding programs.
  void train_until(std::uint64_t last);
  std::uint64_t step() const;

  /// Evaluates the held-out sources with the current weights. No effect on the run.
  EvaluationReport evaluate();
  /// Writes a checkpoint of this moment under the run folder.
  CheckpointReport checkpoint();

  /// Rate of the whole step beside that of the same step without its data part, on the batch that
  /// lies in memory: what the whole step could reach if data were free. In pairs of windows, one of
  /// each, for about so many seconds; at least kFewestForInterval pairs. The run goes on meanwhile,
  /// beyond its last step if need be; its state is what the whole steps made it. Error
  /// (std::logic_error) where CeilingWindows::plan has an objection.
  MeasuredRates measure(double seconds);

  const RunConfig& config() const;
  const PlanReport& plan() const;
  /// Nodes of the recorded step; empty until it is recorded.
  const GraphCensus& census() const;
  /// All state that is stored (MemoryPlan::state), as bytes: what a resumed run must have equal.
  std::vector<std::uint8_t> state_bytes();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wellspring
