#include "core/measure/ceiling.h"

#include <gtest/gtest.h>

#include <vector>

namespace wellspring {
namespace {

/// Pairs with these ratios of rate to ceiling, under a load that varies from pair to pair.
std::vector<RatePair> pairs_of(const std::vector<double>& ratios) {
  std::vector<RatePair> pairs;
  double ceiling = 100;
  for (const double ratio : ratios) {
    pairs.push_back({ratio * ceiling, ceiling});
    ceiling = ceiling > 50 ? ceiling / 3 : 2 * ceiling;
  }
  return pairs;
}

ProcessorLoad load_of(double others) {
  ProcessorLoad load;
  load.own = 1.05;
  load.machine = {others, 0, 2};
  return load;
}

TEST(ShareOfCeiling, IsTheMedianOfPairs) {
  const CeilingShare share = share_of_ceiling(pairs_of({0.9, 0.97, 0.98, 0.5, 0.99, 0.96}));
  EXPECT_EQ(share.verdict, Verdict::conclusive);
  EXPECT_DOUBLE_EQ(share.median, (0.96 + 0.97) / 2);
  ASSERT_TRUE(share.interval);
  EXPECT_DOUBLE_EQ(share.interval->low, 0.5);
  EXPECT_DOUBLE_EQ(share.interval->high, 0.99);
  EXPECT_EQ(share.pairs, 6u);
  EXPECT_EQ(to_string(share, load_of(1.5)), "96.5 % (95 %: 50.0 to 99.0 %)");
}

// A share of 255 % is possible only if rate and ceiling were measured under different conditions.
TEST(ShareOfCeiling, IsInconclusiveWithAnIntervalAboveOne) {
  const CeilingShare share = share_of_ceiling(pairs_of({2.1, 2.6, 2.55, 2.5, 3, 2.4, 2.6}));
  EXPECT_EQ(share.verdict, Verdict::contradicts);
  EXPECT_EQ(to_string(share, load_of(0.93)),
            "inconclusive: the machine was busy (other programs used 0.93 of 2 processors, "
            "this one 1.05)");
  EXPECT_EQ(
      to_string(share, load_of(0.05)),
      "inconclusive: above the ceiling, although the machine was not busy (other programs used "
      "0.05 of 2 processors, this one 1.05)");
  EXPECT_EQ(to_string(share, ProcessorLoad{1.05, std::nullopt}),
            "inconclusive: above the ceiling (this program used 1.05 processors; use by other "
            "programs is unknown)");
}

TEST(ShareOfCeiling, IsReportedWithAnIntervalAroundOne) {
  EXPECT_EQ(share_of_ceiling(pairs_of({0.99, 1.2, 1.1, 1.3, 1.1, 1.2})).verdict,
            Verdict::conclusive);
  // Two timed windows of the same work; caches are warmer in the second.
  EXPECT_EQ(share_of_ceiling(pairs_of({1.01, 1.01, 1.01, 1.01, 1.01, 1.01})).verdict,
            Verdict::conclusive);
  EXPECT_EQ(share_of_ceiling(pairs_of({1.03, 1.03, 1.03, 1.03, 1.03, 1.03})).verdict,
            Verdict::contradicts);
}

TEST(ShareOfCeiling, IsInconclusiveForScatteredPairs) {
  EXPECT_EQ(share_of_ceiling(pairs_of({0.5, 0.6, 0.7, 0.8, 0.9, 0.99})).verdict,
            Verdict::conclusive);
  const CeilingShare wide = share_of_ceiling(pairs_of({0.4, 0.6, 0.7, 0.8, 0.9, 9.75}));
  EXPECT_EQ(wide.verdict, Verdict::scattered);
  EXPECT_EQ(to_string(wide, load_of(1.5)),
            "inconclusive: the machine was busy (other programs used 1.50 of 2 processors, "
            "this one 1.05)");
  EXPECT_EQ(to_string(wide, load_of(0)),
            "inconclusive: the pairs of windows differ widely (other programs used 0.00 of 2 "
            "processors, this one 1.05)");
}

TEST(ShareOfCeiling, NeedsSixPairsForAnInterval) {
  const CeilingShare one = share_of_ceiling(pairs_of({0.8}));
  EXPECT_EQ(one.verdict, Verdict::too_few);
  EXPECT_EQ(to_string(one, load_of(0)), "80.0 % in 1 pair of windows; an interval needs 6");
  const CeilingShare five = share_of_ceiling(pairs_of({2, 2, 2, 2, 2}));
  EXPECT_EQ(five.verdict, Verdict::too_few);
  EXPECT_EQ(to_string(five, load_of(0.93)),
            "inconclusive: above the ceiling in 5 pairs of windows; an interval needs 6 (other "
            "programs used 0.93 of 2 processors, this one 1.05)");
}

}  // namespace
}  // namespace wellspring
