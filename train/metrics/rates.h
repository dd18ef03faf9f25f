// Rates over time windows and their median. Called by the trainer and reports; host only.
#pragma once

#include "train/metrics/observer.h"

#include <chrono>
#include <string>
#include <vector>

namespace wellspring {

/// Seconds since `begin`.
double seconds_since(std::chrono::steady_clock::time_point begin);

/// The median of `rates` (samples/s) and its confidence interval. `rates` may be empty.
Throughput summarise_rates(const std::vector<double>& rates);

/// "4.01 M (95 %: 3.95 M to 4.05 M; median of 31 windows)"; "4.01 M (1 window; an interval
/// needs 6)".
std::string rate_text(const Throughput& throughput);
/// The same rate by the host's clock, flagged as in core/measure/clocks.h: "4.09 M !: the host's clock
/// and the marks on the stream disagree by 2.1 %".
std::string wall_clock_text(const FinishReport& report);

}  // namespace wellspring
