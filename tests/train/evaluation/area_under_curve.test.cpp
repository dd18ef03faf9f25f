#include "train/evaluation/area_under_curve.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace wellspring {
namespace {

using ops::ScoredSample;

/// The definition, over all pairs. Exact, because the sums are multiples of 1/2 below 2^53.
double by_pairs(const std::vector<ScoredSample>& samples) {
  double won = 0, pairs = 0;
  for (const ScoredSample& one : samples)
    for (const ScoredSample& zero : samples)
      if (one.label == 1 && zero.label == 0) {
        won += one.score > zero.score ? 1.0 : one.score == zero.score ? 0.5 : 0.0;
        pairs += 1;
      }
  return won / pairs;
}

TEST(AreaUnderCurve, EqualsTheShareOfOrderedPairs) {
  std::mt19937 random(1);
  for (const int distinct : {2, 7, 1 << 20}) {
    std::vector<ScoredSample> samples;
    for (int i = 0; i < 300; ++i) {
      const auto label = static_cast<std::int32_t>(random() % 4) - 1;  // -1 and 2 do not count
      // Scores of label 1 are higher by a third of the range, rounded to an integer.
      const auto shift = static_cast<float>((distinct + 2) / 3 * label);
      samples.push_back(
          {static_cast<float>(random() % static_cast<unsigned>(distinct)) + shift, label});
    }
    const double expected = by_pairs(samples);
    EXPECT_EQ(area_under_curve(samples), expected) << distinct;
    EXPECT_GT(expected, 0.5);
  }
}

TEST(AreaUnderCurve, IsOneForSortedAndAHalfForEqualScores) {
  std::vector<ScoredSample> samples = {{2, 1}, {1, 0}, {-5, 0}, {3, 1}};
  EXPECT_EQ(area_under_curve(samples), 1.0);
  samples = {{2, 0}, {1, 1}};
  EXPECT_EQ(area_under_curve(samples), 0.0);
  samples = {{2, 0}, {2, 1}, {2, 1}};
  EXPECT_EQ(area_under_curve(samples), 0.5);
}

TEST(AreaUnderCurve, IsEmptyIfUndefined) {
  std::vector<ScoredSample> samples = {{2, 1}, {1, 1}, {3, -1}};
  EXPECT_EQ(area_under_curve(samples), std::nullopt) << "there is only one class";
  samples = {{2, 1}, {std::numeric_limits<float>::quiet_NaN(), 0}, {1, 0}};
  EXPECT_EQ(area_under_curve(samples), std::nullopt) << "a score is NaN";
  EXPECT_EQ(area_under_curve({}), std::nullopt);
}

}  // namespace
}  // namespace wellspring
