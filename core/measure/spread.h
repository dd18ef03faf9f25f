// Median, spread and interval of repeated measurements. For benchmarks and training runs; host
// only.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace wellspring {

/// The middle of the values, and 1.4826 times the median distance from it: their standard deviation
/// if they were normal, unmoved by a few outliers. (1.4826 is one over the third quartile of the
/// normal law.)
struct Spread {
  double median = 0;
  double spread = 0;
};
/// Zeros for no values.
Spread spread_of(std::vector<double> values);

struct Interval {
  double low = 0, high = 0;
};

/// With fewer values no 95 % interval of their median can be given: see median_interval.
inline constexpr std::size_t kFewestForInterval = 6;

/// Two of the values, between which the median m of the law that they were drawn from lies with at
/// least 95 %, whatever that law; nothing for fewer than kFewestForInterval values.
///
/// A value is below m with probability 1/2, so with the values in order, x(1) to x(n), m lies below
/// x(k) when fewer than k values are below it: with probability P(B < k), B binomial of n and 1/2;
/// above x(n + 1 - k) as often. The interval is [x(k), x(n + 1 - k)] with the largest k for which
/// 2 P(B < k) <= 5 % (H. David, H. Nagaraja, Order Statistics, 3rd edition, section 7.1). With
/// k = 1 that is 2^(1 - n): 6.3 % for 5 values, 3.1 % for 6. It takes the values to be independent;
/// windows of time that follow each other at once are not quite, and their interval is too short.
std::optional<Interval> median_interval(std::vector<double> values);

}  // namespace wellspring
