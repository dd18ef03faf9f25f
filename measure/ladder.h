// The throughput ladder: the same step with more and more of its data path, measured alternately.
// Called by `diagnose` and by embedding programs; host only.
//
//     const Ladder ladder = measure_ladder(
//         {{.name = "resident batches", .samples = 128, .run = step_on_ready_batches},
//          {.name = "as configured", .stage = "loading", .samples = 128, .run = step_with_loader}});
//     const Diagnosis diagnosis = diagnose(ladder);
#pragma once

#include "core/measure/processor_load.h"
#include "core/measure/spread.h"
#include "core/measure/step_times.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// One way to run the step. The first rung is the ceiling; the last one is what the user runs.
struct Rung {
  std::string name = {};   ///< "decoded rows in host memory"
  std::string stage = {};  ///< addition to the rung before: "decoding"; the first adds nothing
  double samples = 1;      ///< per step
  double bytes = 0;        ///< data per step; 0: unknown
  bool apart = false;      ///< measured with the others, but not part of the ladder: data alone
  double memory = 0;       ///< bytes of device memory that it reserves; 0: unknown
  double processors = 0;   ///< divisor of `busy`; 0: a GPU, where `busy` is 1 - `wait`
  /// Runs this number of steps and returns their times. May run further steps before them.
  std::function<StepTimes(std::int64_t)> run = {};
};

struct LadderLimits {
  double seconds = 60;   ///< limit of all turns and warm-ups; the turn that has begun is completed
  double window = 0.25;  ///< shortest time of a rung in a turn, seconds
  std::string option = "--seconds ";  ///< how users write the time of all ladders, for messages
  double part = 1;                    ///< share of that time that `seconds` is
  double tight = 0.02;     ///< width of an interval, relative to its median, that ends the turns
  std::uint64_t seed = 1;  ///< order of the rungs in each turn
  /// Measures a turn, without intervals, even if the warm-up takes all the time: a report must not
  /// be lost for its last part.
  bool at_least_one_turn = false;
  std::function<double()> clock = {};  ///< seconds; default: a steady clock
};

struct RungResult {
  std::string name, stage;
  double samples = 1, bytes = 0;  ///< per step
  bool apart = false;
  std::vector<double> rates;         ///< steps/s, by turn
  double rate = 0;                   ///< their median
  std::optional<Interval> interval;  ///< 95 % interval of the median, see median_interval
  double p50 = 0, p99 = 0;           ///< seconds of a step, over the steps of all turns
  double wait = 0;                   ///< share of the time that steps waited for their data
  /// On the CPU, processor time of this process per wall time and thread of the step: reading
  /// threads add to it. On a GPU, the share of the time between marks without the waits. nullopt:
  /// unknown.
  std::optional<double> busy = {};
  /// Rate by the host's clock over the rate by the marks on the stream: see core/measure/clocks.h.
  double clocks = 1;
  double share = 0;  ///< samples/s over the first rung: median over the turns
  std::optional<Interval> share_interval = {};
  double memory = 0;  ///< see Rung

  double samples_per_second() const { return rate * samples; }
  double bytes_per_second() const { return rate * bytes; }
};

struct Ladder {
  std::vector<RungResult> rungs;
  bool tight = false;  ///< false: the time ran out first
  std::string option;  ///< see LadderLimits
  double seconds = 0;
  ProcessorLoad load;

  int turns() const { return static_cast<int>(rungs.front().rates.size()); }
  /// The last rung that is not apart.
  const RungResult& configured() const;
  const RungResult& ceiling() const { return rungs.front(); }
};

/// Warms up each rung until two windows agree, then measures all of them alternately, in a random
/// order, until every interval is tight or the time runs out. Errors (config): the time runs out
/// before the first turn, without `at_least_one_turn`; Interrupted after a signal.
Ladder measure_ladder(const std::vector<Rung>& rungs, const LadderLimits& limits = {});

/// Waits, at most a second, until this process and the processes that this thread has started are
/// idle, so that threads and workers that read ahead for one rung do not slow the next one.
void wait_until_idle();

/// The smallest value that at least a share `part` of the values does not exceed (nearest rank).
double quantile(std::vector<double> values, double part);

}  // namespace wellspring
