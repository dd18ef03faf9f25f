// How fast something goes: rates over windows of time, and their median. Host only.
#pragma once

#include "train/observer.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace wellspring {

/// Seconds since `begin`.
double seconds_since(std::chrono::steady_clock::time_point begin);

/// The median of `rates` (samples/s), their spread and what they are rates of. No rates: no
/// windows.
Throughput summarise_rates(const std::string& what, const std::vector<double>& rates);

/// Samples/s of `run(n)`, which does n steps of `batch` samples and waits until they are done, in
/// windows of about a tenth of `seconds`; three at least, however long they take.
std::vector<double> measure_rates(double seconds, std::int64_t batch,
                                  const std::function<void(std::uint64_t)>& run);

}  // namespace wellspring
