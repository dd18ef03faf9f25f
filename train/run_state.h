// The state of a run on this rank's device: its origin, its checkpoints, and the parts of it that
// ranks share. Called by the trainer; host only.
#pragma once

#include "sources/mixture.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/resume.h"
#include "train/config/run_config.h"
#include "train/keep_best.h"
#include "train/step/run_context.h"
#include "train/step/step.h"
#include "train/step/supervised_task.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

class RunState {
 public:
  /// All arguments must outlive this object.
  RunState(const RunConfig& config, RunContext& context, Mixture& mixture, SupervisedTask& task,
           const TrainingStep& step, BestKeeper& best)
      : config_(config),
        context_(context),
        mixture_(mixture),
        task_(task),
        step_(step),
        best_(best) {}

  struct Start {
    std::uint64_t step = 0;
    double training_seconds = 0;  ///< training time of earlier processes
  };
  /// Sets the weights and, on a resume, everything else. Rank 0 chooses the checkpoint; all ranks
  /// read it. `own`: as for checkpoint_to_resume; null on other ranks. Errors: config if the
  /// ranks' configurations differ; otherwise as in resume_checkpoint and transfer_weights.
  Start begin(const ResumeChoice& choice, const CheckpointStore* own,
              std::vector<std::string>& notes);

  /// Error (runtime) on all ranks if any of them had a loss or gradient that is not finite.
  void require_finite(const std::optional<std::filesystem::path>& newest);
  /// Writes a checkpoint on rank 0, while the others wait. For rehearse, only rank 0 calls it.
  CheckpointReport write(std::uint64_t step, const RunProgress& progress,
                         CheckpointWriting writing = CheckpointWriting::keep);
  /// Gives all ranks the running statistics of rank 0, for evaluation and export. Training does not
  /// read them.
  void share_running_statistics();

 private:
  Start resume(const std::filesystem::path& checkpoint, const CheckpointStore* own,
               std::vector<std::string>& notes);

  const RunConfig& config_;
  RunContext& context_;
  Mixture& mixture_;
  SupervisedTask& task_;
  const TrainingStep& step_;
  BestKeeper& best_;
  DataIdentity data_;
};

}  // namespace wellspring
