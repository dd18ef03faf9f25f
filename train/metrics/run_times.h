// The use of a run's time, as its loop measures it in passing. Called by the trainer and
// reports; host only.
#pragma once

#include "train/metrics/observer.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {

/// Measurements of the windows of a process.
class WindowTimes {
 public:
  /// `timed` steps took `seconds` by the marks on the stream. `first`: the window contains the first
  /// steps of the process, which select kernels and record the graph.
  void add(const StepReport& report, double seconds, std::uint64_t timed, bool first);
  /// The host has reported a window in the time since `begin`.
  void reported_since(std::chrono::steady_clock::time_point begin);
  /// Fills in the throughput, the verdict, and RunTime::metrics and first_steps.
  void summarise(FinishReport& finish, const PlanReport& plan) const;

 private:
  std::vector<double> rates_, waits_;  ///< clean windows
  double metrics_seconds_ = 0;
  double first_seconds_ = 0;  ///< windows with the first steps
  std::uint64_t first_steps_ = 0;
};

/// The cost of data according to these waits. They are a lower bound, because generation and
/// augmentation are inside the step, and because reading threads compete with a step on the CPU. So
/// only runs on a GPU that compute nothing from their rows can be called not input-bound.
InputVerdict judge_waits(const PlanReport& plan, const std::vector<double>& waits);

/// The name of the training time among the parts.
inline constexpr const char* kStepsPart = "steps";

/// The process times as (what, seconds), the largest part first, without parts of 0; they add up to
/// `total`. Parts of the training: see RunTime.
std::vector<std::pair<std::string, double>> parts_of(const RunTime& time);
/// "98.1 s: steps 93.2 %, evaluations 4.1 %, checkpoints 2.7 %".
std::string time_text(const RunTime& time);
/// Adds the times of two processes. Their clocks are averaged by training time.
RunTime operator+(const RunTime& a, const RunTime& b);

}  // namespace wellspring
