#include "core/measure/spread.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace wellspring {
namespace {

TEST(SpreadOf, GivesTheMedianAndTheScaledMedianDeviation) {
  EXPECT_EQ(spread_of({}).median, 0);
  EXPECT_EQ(spread_of({3}).median, 3);
  EXPECT_EQ(spread_of({3}).spread, 0);
  EXPECT_EQ(spread_of({4, 1}).median, 2.5);
  EXPECT_DOUBLE_EQ(spread_of({4, 1}).spread, 1.4826 * 1.5);
  // The distances from 3 are 2, 1, 0, 1, 997.
  EXPECT_EQ(spread_of({1000, 2, 1, 4, 3}).median, 3);
  EXPECT_DOUBLE_EQ(spread_of({1000, 2, 1, 4, 3}).spread, 1.4826);
}

/// 1-based ranks of the interval's ends among n sorted values; zeros if there is no interval.
std::pair<int, int> ranks(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.rbegin(), values.rend(), 1);  // n, n - 1, ..., 1
  const auto interval = median_interval(values);
  if (!interval) return {0, 0};
  return {static_cast<int>(interval->low), static_cast<int>(interval->high)};
}

// Expected values, from exact integers: the largest k with sum over j < k of C(n, j) <= 0.025 *
// 2^n.
TEST(MedianInterval, FollowsTheBinomialDistribution) {
  using Ranks = std::pair<int, int>;
  EXPECT_EQ(ranks(0), Ranks(0, 0));
  EXPECT_EQ(ranks(5), Ranks(0, 0));  // 2 / 2^5 is 6.3 %
  EXPECT_EQ(ranks(kFewestForInterval), Ranks(1, 6));
  EXPECT_EQ(ranks(8), Ranks(1, 8));
  EXPECT_EQ(ranks(9), Ranks(2, 8));
  EXPECT_EQ(ranks(11), Ranks(2, 10));
  EXPECT_EQ(ranks(20), Ranks(6, 15));
  EXPECT_EQ(ranks(100), Ranks(40, 61));
  EXPECT_EQ(ranks(2000), Ranks(956, 1045));  // 2^-2000 underflows a double
}

}  // namespace
}  // namespace wellspring
