// Measures a run's ceiling, the rate of its step without the data part, in short windows between
// the run's own steps. Called by the trainer; host only.
#pragma once

#include "core/measure/ceiling.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/step_graph.h"
#include "kernels/runtime/stream.h"
#include "train/metrics/observer.h"
#include "train/step/step_runner.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// True if the run can afford another measurement, which takes about `next` seconds after `spent`
/// seconds of measurements and `trained` seconds of training. Measurements may take `share` of the
/// training, and at least kCeilingAllowance, so that short runs have a few, too.
bool ceiling_affordable(double spent, double next, double trained, double share);
inline constexpr double kCeilingAllowance = 0.2;  // seconds

/// Steps in each half of a pair if a step takes `seconds`: enough for 20 ms, so that clock and
/// launch overheads are below 1 %. Fewer than `log_every`, so that at least one step between two
/// pairs warms up the caches.
std::uint64_t ceiling_window(double seconds, std::uint64_t log_every);

/// Measures pairs of windows: `length` steps of the run, and right after them the same number on
/// the batch left in memory. State is saved and restored, so that the run does not depend on it.
class CeilingWindows {
 public:
  struct Settings {
    std::int64_t batch;       ///< samples per step
    std::uint64_t log_every;  ///< steps per window of metrics
    double share;             ///< see ceiling_affordable
    GraphMode graph;          ///< the run's mode
  };
  /// `resident` enqueues the step without its data part. `memory` holds all state changed by it.
  CeilingWindows(const Settings& settings, std::function<void(Stream&)> resident,
                 const MemoryPlan& memory);
  /// Plans host memory for a copy of the state, after all other planning; or records why no ceiling
  /// can be measured.
  void plan(MemoryPlan& memory);

  /// Reports the run's rate in samples/s. Pairs start after the first call.
  void expect(double rate);

  /// Before step `step` of the run: begins the run's half of a pair if it would end with a window
  /// of metrics.
  void before_step(Stream& stream, std::uint64_t step);
  /// Drops an open half, since something else took time.
  void drop() { begun_.reset(); }
  /// At the end of a window of metrics: ends the run's half. True if the other half should follow,
  /// after `trained` seconds of training.
  bool due(Stream& stream, std::uint64_t step, double trained);
  /// Measures the other half. The ring of metrics must have been read.
  void measure(Stream& stream, std::uint64_t step);

  /// Final report of a run with windows of these rates (samples/s) that started at `begin`.
  MeasuredRates summarise(const std::vector<double>& rates, const ProcessorTimes& begin) const;

  /// Measures pairs for `seconds`, but at least kFewestForInterval pairs. `step` is the run's
  /// counter; `advance` runs a step, `measure` calls measure(). Error (std::logic_error): plan()
  /// found that no ceiling can be measured.
  MeasuredRates make_pairs(Stream& stream, const std::uint64_t& step, double seconds,
                           const std::function<void()>& advance,
                           const std::function<void()>& measure);

 private:
  void begin(Stream& stream, std::uint64_t step);
  bool end(Stream& stream, std::uint64_t step);
  void copy_state(Stream& stream, CopyDirection direction) const;
  double next_cost() const;

  Settings settings_;
  const MemoryPlan& memory_;
  Planned<std::byte> aside_;  ///< a copy of the state
  std::string objection_;     ///< why no ceiling can be measured; "": it can
  StepRunner runner_;
  Event run_begin_, run_end_, resident_begin_, resident_end_;
  double step_seconds_ = 0;
  std::uint64_t length_ = 0;  ///< steps; 0: not yet known
  std::optional<std::uint64_t> begun_;
  double spent_ = 0, last_cost_ = 0;  ///< seconds
  std::vector<RatePair> pairs_;
};

}  // namespace wellspring
