#include "train/evaluation/regression_scores.h"

#include "tests/train/several_ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace wellspring {
namespace {

/// Targets x (a latent, 0 to 4) and y (a column of `target`, -1 to 1) of source 1.
struct RegressionScoresTest : ::testing::Test {
  RegressionScoresTest() {
    head.name = "h";
    head.loss = LossKind::regression;
    head.targets = {{"x", "mm", 0, 4}, {"y", "", -1, 1}};
    feed.column.assign(2 * kMaxSources, 0);
    feed.column[2] = 1;   // source 1, x: latent 1
    feed.column[3] = -2;  // source 1, y: column 1 of target
    feed.sources = 2;
  }
  HeadReport report(const std::vector<float>& weight, std::int64_t batch = 2) {
    RegressionScores scores(head);
    add(scores, weight, 0, static_cast<std::int64_t>(weight.size()), batch);
    return written(scores);
  }
  /// Adds the samples from `begin` to `end`.
  void add(RegressionScores& scores, std::vector<float> weights, std::int64_t begin,
           std::int64_t end, std::int64_t batch) {
    scores.clear();
    for (std::int64_t first = begin; first < end; first += batch) {
      PredictedRows rows;
      rows.source = 1;
      rows.count = std::min(batch, end - first);
      rows.width = 2;
      rows.outputs = outputs.data() + 2 * first;
      rows.truth.weight = weights.data() + first;
      rows.truth.layout.latents = 2;
      rows.truth.latents = latents.data() + 2 * first;
      rows.truth.layout.targets = 2;
      rows.truth.target = targets.data() + 2 * first;
      scores.add(rows, feed);
    }
  }
  static HeadReport written(const RegressionScores& scores) {
    HeadReport report{"h", 0, {{"rmse of x", -1, "mm"}, {"mae of x", -1, "mm"}}};
    scores.write(report);
    return report;
  }
  static double value(const HeadReport& report, const std::string& what) {
    for (const Score& score : report.scores)
      if (score.what == what) return score.value;
    return std::nan("");
  }

  HeadSpec head;
  HeadSources feed;
  // Outputs are (x - 2) / 2 and y: the predictions of x are 1, 2, 4.
  std::vector<float> outputs = {-0.5f, 0.5f, 0, 0.25f, 1, -0.5f};
  std::vector<float> latents = {9, 1, 9, 1, 9, 4};             // x: 1, 1, 4
  std::vector<float> targets = {9, 0.5f, 9, 0.25f, 9, -0.5f};  // y: 0.5, 0.25, -0.5
};

TEST_F(RegressionScoresTest, AreRightByHand) {
  const HeadReport found = report({1, 1, 1});
  // The errors of x are 0, 1, 0; the mean of x is 2, and its squared deviations sum to 6.
  EXPECT_DOUBLE_EQ(value(found, "bias of x"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(value(found, "resolution of x"), std::sqrt(1.0 / 3 - 1.0 / 9));
  EXPECT_DOUBLE_EQ(value(found, "R^2 of x"), 1 - 1.0 / 6);
  EXPECT_EQ(value(found, "rmse of x"), -1) << "already reported";
  EXPECT_EQ(value(found, "resolution of y"), 0);
  EXPECT_EQ(value(found, "R^2 of y"), 1);
  targets = {9, 0.5f, 9, 0.5f, 9, 0.5f};
  EXPECT_TRUE(std::isnan(value(report({1, 1, 1}), "R^2 of y"))) << "the target does not vary";
  EXPECT_TRUE(found.scores.back().detail);
}

TEST_F(RegressionScoresTest, WeightSamplesLikeCopies) {
  const HeadReport weighted = report({1, 2, 1});
  outputs.insert(outputs.end(), {0, 0.25f});
  latents.insert(latents.end(), {9, 1});
  targets.insert(targets.end(), {9, 0.25f});
  const HeadReport copied = report({1, 1, 1, 1}, 3);
  for (const char* const what : {"bias of x", "resolution of x", "R^2 of x"})
    EXPECT_DOUBLE_EQ(value(weighted, what), value(copied, what)) << what;
  EXPECT_DOUBLE_EQ(value(weighted, "rmse of x"), std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(value(weighted, "mae of x"), 0.5);
}

// All sums are of a few multiples of 1/64, so their order does not matter.
TEST_F(RegressionScoresTest, AreThoseOfAllRanks) {
  const std::vector<float> weight = {1, 2, 1};
  const HeadReport whole = report(weight);
  test::run_ranks(2, [&](Communicator& ranks) {
    RegressionScores scores(head);
    add(scores, weight, ranks.rank() == 0 ? 0 : 1, ranks.rank() == 0 ? 1 : 3, 2);
    scores.add_ranks(ranks);
    const HeadReport found = written(scores);
    ASSERT_EQ(found.scores.size(), whole.scores.size());
    for (std::size_t i = 0; i < whole.scores.size(); ++i)
      EXPECT_EQ(found.scores[i].value, whole.scores[i].value) << whole.scores[i].what;
  });
}

}  // namespace
}  // namespace wellspring
