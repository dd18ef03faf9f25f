// The clock of a run, and the decisions between its steps. Called by the trainer; host only.
#pragma once

#include "train/keep_best.h"
#include "train/metrics/observer.h"
#include "train/step/run_context.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace wellspring {

/// Work of a process other than training.
enum class Pause : std::uint8_t { start, evaluation, checkpoint, picture };

/// Training time is the time that is spent on steps.
class RunClock {
 public:
  using Clock = std::chrono::steady_clock;

  /// Limits in seconds: the training time of all processes, and the time between two checkpoints.
  RunClock(double time_limit, double checkpoint_seconds)
      : time_limit_(time_limit), checkpoint_seconds_(checkpoint_seconds) {}

  /// Starts the clock of this process.
  void start();
  /// Excludes the time since `begin`, which was not spent on steps.
  void exclude(Clock::time_point begin, Pause pause);
  /// Adds the training time of earlier processes.
  void resume(double training_seconds) { earlier_seconds_ = training_seconds; }
  /// Restarts the time until the next checkpoint.
  void checkpointed() { checkpointed_ = Clock::now(); }

  Clock::time_point began() const { return began_; }
  /// Training time of this process, and of all processes of the run.
  double training_seconds() const;
  /// The time of this process so far, by its use.
  RunTime spent() const;
  double all_training_seconds() const { return earlier_seconds_ + training_seconds(); }
  bool out_of_time() const { return all_training_seconds() >= time_limit_; }
  bool checkpoint_due() const;

 private:
  double time_limit_, checkpoint_seconds_;
  Clock::time_point began_ = Clock::now(), checkpointed_ = began_;
  std::array<double, 4> paused_ = {};  ///< by Pause
  double earlier_seconds_ = 0;
};

/// A decision between two steps, the same on all ranks.
struct RunDecision {
  std::optional<RunStatus> end;  ///< nullopt: another step
  bool checkpoint_due = false;   ///< by time, after that step
  bool checkpoint_now = false;   ///< the observer of rank 0 wants one before that step
  bool damaged = false;          ///< a rank cannot read its data for that step
};

/// Rank 0 decides, using its clock, the best figure so far and its observer. A signal to any rank
/// ends the run. `damaged`: this rank cannot read its data for the next step.
RunDecision decide(RunContext& context, const RunClock& clock, const BestKeeper& best,
                   TrainObserver& observer, bool damaged);

}  // namespace wellspring
