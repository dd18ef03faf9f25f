// Median, spread and interval of repeated measurements. Called by benchmarks and training runs;
// host only.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace wellspring {

/// Median, and 1.4826 times the median absolute deviation, an outlier-robust estimate of a normal
/// distribution's standard deviation. (1.4826 is 1 over the third quartile of the standard normal
/// distribution.)
struct Spread {
  double median = 0;
  double spread = 0;
};
/// Returns zeros if there are no values.
Spread spread_of(std::vector<double> values);

struct Interval {
  double low = 0, high = 0;
};

/// With fewer values there is no 95 % interval of the median; see median_interval.
inline constexpr std::size_t kFewestForInterval = 6;

/// Distribution-free confidence interval of the median, at least 95 %; its ends are two of the
/// values. Empty for fewer than kFewestForInterval values.
///
/// A value is below the true median m with probability 1/2. With sorted values x(1) to x(n), m is
/// below x(k) if fewer than k values are below m. This has the probability P(B < k), B being
/// binomial(n, 1/2); m is above x(n + 1 - k) with the same probability. The interval is [x(k), x(n
/// + 1 - k)] with the largest k for which 2 P(B < k) <= 5 % (H. David, H. Nagaraja, Order
/// Statistics, 3rd edition, section 7.1). For k = 1 this is 2^(1 - n): 6.3 % for 5 values, 3.1 %
/// for 6. The method assumes independent values; adjacent time windows are correlated, so their
/// interval is slightly too narrow.
std::optional<Interval> median_interval(std::vector<double> values);

}  // namespace wellspring
