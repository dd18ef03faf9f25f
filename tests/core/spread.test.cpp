#include "core/spread.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

TEST(SpreadTest, IsTheMedianAndTheScaledMedianDistance) {
  EXPECT_EQ(spread_of({}).median, 0);
  EXPECT_EQ(spread_of({3}).median, 3);
  EXPECT_EQ(spread_of({3}).spread, 0);
  EXPECT_EQ(spread_of({4, 1}).median, 2.5);
  EXPECT_DOUBLE_EQ(spread_of({4, 1}).spread, 1.4826 * 1.5);
  // Distances from 3: 2, 1, 0, 1, 997.
  EXPECT_EQ(spread_of({1000, 2, 1, 4, 3}).median, 3);
  EXPECT_DOUBLE_EQ(spread_of({1000, 2, 1, 4, 3}).spread, 1.4826);
}

}  // namespace
}  // namespace wellspring
