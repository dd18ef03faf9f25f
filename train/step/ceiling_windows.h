// How fast a run's step would be if data were free: the step without its data part, measured in
// windows between the run's own. Called by the trainer; host only.
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

/// Whether another measurement may be made: `spent` seconds went into them, the next takes about
/// `next`, and `trained` seconds were trained. All of them together may take `share` of the
/// training; at first `kCeilingAllowance`, so that short runs have a few, too.
bool ceiling_affordable(double spent, double next, double trained, double share);
inline constexpr double kCeilingAllowance = 0.2;  // seconds

/// Steps of either half of a pair, where a step takes `seconds`: as many as last 20 ms, which clock
/// and launches then matter less than 1 % of. Fewer than the `log_every` steps of a window of
/// metrics, so that a step lies between two pairs, in which the caches become warm again.
std::uint64_t ceiling_window(double seconds, std::uint64_t log_every);

/// Makes pairs of windows: `length` steps of the run, and right after them as many on the batch
/// that they left in memory. State is put aside and back; nothing of a run depends on it.
class CeilingWindows {
 public:
  struct Settings {
    std::int64_t batch;       ///< samples a step
    std::uint64_t log_every;  ///< steps of a window of metrics
    double share;             ///< see ceiling_affordable
    GraphMode graph;          ///< of the run
  };
  /// `resident` enqueues the step without its data part. `memory` holds all state that it changes.
  CeilingWindows(const Settings& settings, std::function<void(Stream&)> resident,
                 const MemoryPlan& memory);
  /// Plans host memory for the state, which is complete by now; or finds out that there can be no
  /// ceiling.
  void plan(MemoryPlan& memory);

  /// Samples/s of the run, as a window tells; pairs are made from the first call on, if at all.
  void expect(double rate);

  /// Before step `step` of the run: begins its half of a pair if a window of metrics ends with it.
  void before_step(Stream& stream, std::uint64_t step);
  /// Something else took time: the half that was begun is dropped.
  void drop() { begun_.reset(); }
  /// At the end of a window of metrics: ends the run's half. True if there is one, and it is time
  /// for the other, after `trained` seconds of training.
  bool due(Stream& stream, std::uint64_t step, double trained);
  /// Makes the other half, when nobody waits for what lies in the ring of metrics.
  void measure(Stream& stream, std::uint64_t step);

  /// What a run with windows of such rates (samples/s) tells at its end, having begun at `begin`.
  MeasuredRates summarise(const std::vector<double>& rates, const ProcessorTimes& begin) const;

  /// One pair after the other for so many seconds, but kFewestForInterval at least. `step` is the
  /// run's; `advance` makes one, and `measure` calls measure(). Error (std::logic_error) where
  /// plan() found that there can be none.
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
  std::string objection_;     ///< why there can be no ceiling; "" where there can
  StepRunner runner_;
  Event run_begin_, run_end_, resident_begin_, resident_end_;
  double step_seconds_ = 0;
  std::uint64_t length_ = 0;  ///< steps; 0: not known yet
  std::optional<std::uint64_t> begun_;
  double spent_ = 0, last_cost_ = 0;  ///< seconds
  std::vector<RatePair> pairs_;
};

}  // namespace wellspring
