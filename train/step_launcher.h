// Launches training steps with their data, one by one or several together (train.steps_per_launch).
// Called by the trainer; host only.
#pragma once

#include "core/error.h"
#include "sources/mixture.h"
#include "train/config/run_config.h"
#include "train/step/run_context.h"
#include "train/step/step_runner.h"
#include "train/step/supervised_task.h"

#include <cstdint>
#include <optional>

namespace wellspring {

class StepLauncher {
 public:
  /// All arguments must outlive this object.
  StepLauncher(const RunConfig& config, RunContext& context, Mixture& mixture, SupervisedTask& task)
      : config_(config), context_(context), mixture_(mixture), task_(task) {}

  /// Error (config) if a source streams and keeps fewer batches ahead than a launch has steps. Call
  /// after Mixture::plan.
  void expect_rows() const;

  /// Selects the network of `step`. Returns the number of steps to launch together, starting there
  /// and ending before `last`; the number is the same on all ranks.
  std::uint64_t next(StepRunner& runner, std::uint64_t step, std::uint64_t last);
  /// Makes the data of these steps available. Returns any damage that this rank has found in them;
  /// the caller may then try fewer steps.
  std::optional<Error> prepare(std::uint64_t step, std::uint64_t count);
  /// Enqueues the prepared steps.
  void launch(StepRunner& runner, std::uint64_t step, std::uint64_t count);

 private:
  std::uint64_t steps_without_host(std::uint64_t step, std::uint64_t last) const;

  const RunConfig& config_;
  RunContext& context_;
  Mixture& mixture_;
  SupervisedTask& task_;
};

}  // namespace wellspring
