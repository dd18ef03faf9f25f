#include "train/evaluation/roc_curve.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

using Samples = std::vector<RankedSample>;

/// The definition of the area: all pairs. Exact, because the sums are multiples of 1/2 below 2^53.
double by_pairs(const Samples& samples) {
  double won = 0, pairs = 0;
  for (const RankedSample& one : samples)
    for (const RankedSample& zero : samples)
      if (one.signal && !zero.signal) {
        const double weight = double{one.weight} * zero.weight;
        won += weight * (one.score > zero.score ? 1.0 : one.score == zero.score ? 0.5 : 0.0);
        pairs += weight;
      }
  return won / pairs;
}

/// Scores of the signal are higher by a third of the range, rounded to an integer.
Samples random_samples(int count, int distinct, unsigned most_weight, std::uint32_t seed) {
  std::mt19937 random(seed);
  Samples samples;
  for (int i = 0; i < count; ++i) {
    const bool signal = random() % 2 == 1;
    const auto shift = signal ? static_cast<float>((distinct + 2) / 3) : 0.0f;
    samples.push_back({static_cast<float>(random() % static_cast<unsigned>(distinct)) + shift,
                       static_cast<float>(random() % most_weight + 1), signal});
  }
  return samples;
}

TEST(RocCurve, HasTheShareOfOrderedPairsAsItsArea) {
  for (const int distinct : {2, 7, 1 << 20})
    for (const unsigned most_weight : {1u, 5u}) {
      Samples samples = random_samples(300, distinct, most_weight, 1);
      const double expected = by_pairs(samples);
      EXPECT_EQ(roc_curve(samples)->area, expected) << distinct << ", " << most_weight;
      EXPECT_GT(expected, 0.5);
    }
}

TEST(RocCurve, IsOneForOrderAndAHalfForEqualScores) {
  Samples samples = {{2, 1, true}, {1, 1, false}, {-5, 1, false}, {3, 1, true}};
  EXPECT_EQ(roc_curve(samples)->area, 1.0);
  samples = {{2, 1, false}, {1, 1, true}};
  EXPECT_EQ(roc_curve(samples)->area, 0.0);
  samples = {{2, 1, false}, {2, 1, true}, {2, 1, true}};
  EXPECT_EQ(roc_curve(samples)->area, 0.5);
}

TEST(RocCurve, IsMissingWhereItIsNotDefined) {
  Samples samples = {{2, 1, true}, {1, 1, true}};
  EXPECT_FALSE(roc_curve(samples)) << "no background";
  samples = {{2, 1, true}, {std::numeric_limits<float>::quiet_NaN(), 1, false}, {1, 1, false}};
  EXPECT_FALSE(roc_curve(samples)) << "NaN";
  samples = {{2, 1, true}, {1, 0, false}};
  EXPECT_FALSE(roc_curve(samples)) << "background without weight";
  EXPECT_FALSE(roc_curve({}));
}

// Ten signal samples, 10 to 1, and five background samples, 9.9, 7.9 ... 1.9. A cut at the best
// three signal samples (30 %) passes one background sample; the best five (50 %) pass two.
TEST(RocCurve, GivesTheBackgroundAtASignalEfficiency) {
  Samples samples;
  for (int i = 10; i >= 1; --i) {
    samples.push_back({static_cast<float>(i), 1, true});
    if (i % 2 == 0) samples.push_back({static_cast<float>(i) - 0.1f, 1, false});
  }
  const RocCurve curve = roc_curve(samples).value();
  EXPECT_EQ(curve.background[0], 1.0 / 5) << "above 8: 9.9";
  EXPECT_EQ(curve.background[1], 2.0 / 5) << "above 6: 9.9 and 7.9";
  for (RankedSample& sample : samples) sample.score = 1;
  const RocCurve tied = roc_curve(samples).value();
  EXPECT_DOUBLE_EQ(tied.background[0], 0.3) << "a tie of all samples: the diagonal";
  EXPECT_DOUBLE_EQ(tied.background[1], 0.5);
}

TEST(RocCurve, KeepsFewPointsOfManySamples) {
  Samples samples = random_samples(20000, 1 << 20, 3, 2);
  const RocCurve curve = roc_curve(samples).value();
  ASSERT_LE(curve.points.size(), 402u);
  ASSERT_GE(curve.points.size(), 200u);
  EXPECT_EQ(curve.points.front(), std::pair(0.0, 0.0));
  EXPECT_EQ(curve.points.back(), std::pair(1.0, 1.0));
  double area = 0;
  for (std::size_t i = 1; i < curve.points.size(); ++i) {
    const auto &before = curve.points[i - 1], &point = curve.points[i];
    ASSERT_GE(point.first, before.first);
    ASSERT_GE(point.second, before.second);
    area += (point.first - before.first) * 0.5 * (point.second + before.second);
  }
  // Between two points, the curve is inside a box with sides of at most 1/200 and one sample.
  EXPECT_NEAR(area, curve.area, 1.0 / 200);
}

}  // namespace
}  // namespace wellspring
