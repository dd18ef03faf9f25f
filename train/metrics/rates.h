// How fast something goes: rates over windows of time, and their median. Host only.
#pragma once

#include "train/metrics/observer.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {

/// Seconds since `begin`.
double seconds_since(std::chrono::steady_clock::time_point begin);

/// The median of `rates` (samples/s), their spread, its interval and what they are rates of. No
/// rates: no windows.
Throughput summarise_rates(const std::string& what, const std::vector<double>& rates);

/// `rates` of a run's windows, and `pairs` of some of them with windows on resident batches.
MeasuredRates summarise_pairs(const std::vector<double>& rates, const std::vector<RatePair>& pairs,
                              const ProcessorLoad& load);

/// "4.01 M (95 %: 3.95 M to 4.05 M; median of 31 windows)"; "4.01 M (1 window, too few for an
/// interval)".
std::string rate_text(const Throughput& throughput);
/// What is known of a run's rate beside its ceiling, a line each: ("ceiling", "4.11 M (...)") and
/// ("reached", "97.4 % (95 %: 96.1 to 98.8 %)"). None where the run itself has no rate.
std::vector<std::pair<std::string, std::string>> ceiling_lines(const FinishReport& report);

}  // namespace wellspring
