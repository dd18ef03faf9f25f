#include "core/measure/spread.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace wellspring {
namespace {

/// Median of at least one value; reorders them.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// The largest k for which fewer than k heads in `count` fair coin tosses have a probability of at
/// most 2.5 %; 0 if no k qualifies.
std::size_t tail_rank(std::size_t count) {
  constexpr double kTail = 0.025;
  const auto n = static_cast<double>(count);
  double log_probability = -n * std::log(2.0);  // probability of no heads
  double tail = std::exp(log_probability);      // probability of at most `k` heads
  std::size_t k = 0;
  for (; k < count && tail <= kTail; ++k) {
    const auto heads = static_cast<double>(k);
    log_probability += std::log((n - heads) / (heads + 1));
    tail += std::exp(log_probability);
  }
  return k;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  Spread result;
  result.median = median(values);
  for (double& value : values) value = std::abs(value - result.median);
  result.spread = 1.4826 * median(values);
  return result;
}

std::optional<Interval> median_interval(std::vector<double> values) {
  const std::size_t k = tail_rank(values.size());
  if (k == 0) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Interval{values[k - 1], values[values.size() - k]};
}

}  // namespace wellspring
