#include "kernels/ops/ranking.h"

#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace wellspring::ops {
namespace {

using test::Buffer;
using test::random_values;

/// Over all pairs.
double area_of_pairs(const std::vector<float>& scores, const std::vector<std::int32_t>& labels) {
  double above = 0, pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t k = 0; k < scores.size(); ++k) {
      if (labels[i] != 0 || labels[k] != 1) continue;
      above += scores[i] > scores[k] ? 1 : (scores[i] == scores[k] ? 0.5 : 0);
      pairs += 1;
    }
  }
  return above / pairs;
}

TEST(Ranking, BinsKeepTheOrderOfScores) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> rising = {-infinity, -3e38f, -2, -1.5f, -1e-30f, 0,
                                     1e-30f,    0.01f,  1,  1.02f, 3e38f,   infinity};
  for (std::size_t i = 1; i < rising.size(); ++i) {
    EXPECT_LT(score_bin(rising[i - 1]), score_bin(rising[i])) << rising[i];
  }
  EXPECT_EQ(score_bin(-0.0f), score_bin(0.0f));
  EXPECT_GE(score_bin(-infinity), 0);
  EXPECT_LT(score_bin(infinity), kScoreBins);
  EXPECT_EQ(score_bin(std::numeric_limits<float>::quiet_NaN()), 0);
}

class RankingTest : public test::OperationTest {};

// Scores that lie on a grid of 1/64 below 2 are never one in a bin with another: the area is exact.
TEST_P(RankingTest, AreaIsThatOverAllPairs) {
  constexpr std::size_t kRows = 500;
  std::vector<float> logits = random_values<float>(3 * kRows, 5, -1, 1), scores(kRows);
  std::vector<std::int32_t> labels(kRows);
  for (float& logit : logits) logit = std::round(logit * 64) / 64;
  for (std::size_t i = 0; i < kRows; ++i) {
    labels[i] = static_cast<std::int32_t>(i % 3 == 0);
    logits[3 * i + 2] += labels[i] == 0 ? 0.25f : 0.0f;
    scores[i] = logits[3 * i + 2] - logits[3 * i + 1];
  }
  const Buffer<float> values = buffer(logits);
  const Buffer<std::int32_t> classes = buffer(labels);
  const Buffer<std::uint32_t> counts = buffer(std::vector<std::uint32_t>(kRankingCounts));
  // In two pieces, as batches come.
  count_scores(stream(), 300, {values, 3, 2, 1}, classes, counts);
  count_scores(stream(), kRows - 300, {values + 900, 3, 2, 1}, classes + 300, counts);
  const double area = area_under_curve(counts.values());
  EXPECT_NEAR(area, area_of_pairs(scores, labels), 1e-12);
  EXPECT_GT(area, 0.55);
}

TEST_P(RankingTest, OneColumnIsAScoreToo) {
  const std::vector<float> values = {3, -1, 2, -5};
  const Buffer<float> scores = buffer(values);
  const Buffer<std::int32_t> classes = buffer(std::vector<std::int32_t>{0, 0, 1, 1});
  const Buffer<std::uint32_t> counts = buffer(std::vector<std::uint32_t>(kRankingCounts));
  count_scores(stream(), 4, {scores, 1, 0, -1}, classes, counts);
  EXPECT_EQ(area_under_curve(counts.values()), 0.75);
  EXPECT_EQ(area_under_curve(std::vector<std::uint32_t>(kRankingCounts)), 0.5);
}

WS_ON_EVERY_BACKEND(RankingTest);

TEST(RankingTeams, SameCountsForAnyTeamSize) {
  const std::vector<float> scores = random_values<float>(300, 2, -1, 1);
  std::vector<std::int32_t> labels(300);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 2);
  std::vector<std::uint32_t> counts(kRankingCounts);
  wellspring::test::expect_equal_for_all_team_sizes(
      CountScores{300, {scores.data(), 1, 0, -1}, labels.data(), counts.data()}, 1, {256, 0},
      {wellspring::test::bytes_of(counts)});
}

}  // namespace
}  // namespace wellspring::ops
