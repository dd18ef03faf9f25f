// Rates over windows of time, and their medians. Called by the trainer, benchmarks and reports;
// host only.
#pragma once

#include "train/metrics/observer.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {

/// Seconds since `begin`.
double seconds_since(std::chrono::steady_clock::time_point begin);

/// The median of `rates` (samples/s), its spread and interval; `what` names the configuration. No
/// rates: no windows.
Throughput summarise_rates(const std::string& what, const std::vector<double>& rates);

/// Summarises the `rates` of a run's windows, and `pairs` of windows with and without resident
/// batches.
MeasuredRates summarise_pairs(const std::vector<double>& rates, const std::vector<RatePair>& pairs,
                              const ProcessorLoad& load);

/// "4.01 M (95 %: 3.95 M to 4.05 M; median of 31 windows)"; "4.01 M (1 window, too few for an
/// interval)".
std::string rate_text(const Throughput& throughput);
/// The run's ceiling as (label, text) lines: ("ceiling", "4.11 M (...)") and ("reached", "97.4 %
/// (95 %: 96.1 to 98.8 %)"). Empty if the run has no rate.
std::vector<std::pair<std::string, std::string>> ceiling_lines(const FinishReport& report);

}  // namespace wellspring
