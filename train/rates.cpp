#include "train/rates.h"

#include "core/spread.h"

#include <cstddef>

namespace wellspring {
namespace {

using Clock = std::chrono::steady_clock;

/// Where time allows.
constexpr int kWindows = 10;
constexpr std::size_t kFewestWindows = 3;

}  // namespace

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Throughput summarise_rates(const std::string& what, const std::vector<double>& rates) {
  const Spread spread = spread_of(rates);
  return {what, spread.median, spread.spread, rates.size()};
}

std::vector<double> measure_rates(double seconds, std::int64_t batch,
                                  const std::function<void(std::uint64_t)>& run) {
  std::vector<double> rates;
  const auto begin = Clock::now();
  std::uint64_t steps = 1;
  while (rates.size() < kFewestWindows || seconds_since(begin) < seconds) {
    const auto window_begin = Clock::now();
    run(steps);
    const double spent = seconds_since(window_begin);
    const bool long_enough = spent >= 0.5 * seconds / kWindows;
    if (long_enough || seconds_since(begin) >= seconds)
      rates.push_back(static_cast<double>(steps) * static_cast<double>(batch) / spent);
    if (!long_enough) steps *= 2;
  }
  return rates;
}

}  // namespace wellspring
