#include "kernels/ops/training.h"
#include "tests/ops/loss_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace wellspring::ops::test {
namespace {

/// Mean binary cross-entropy of logits and probabilities, in double precision.
double binary_entropy(const double* z, const Doubles& wanted) {
  double sum = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const double p = 1 / (1 + std::exp(-z[k]));
    sum -= wanted[k] * std::log(p) + (1 - wanted[k]) * std::log(1 - p);
  }
  return sum / static_cast<double>(wanted.size());
}

Doubles one_hot(std::int32_t label, std::size_t classes) {
  Doubles wanted(classes, 0);
  wanted[static_cast<std::size_t>(label)] = 1;
  return wanted;
}

class BinaryClassLossTest : public test::LossFixture {
 protected:
  Result run_labels(const Rows& rows, const std::vector<std::int32_t>& labels, float smoothing) {
    const Buffer<std::int32_t> given = buffer(labels);
    return run(rows, [&](const LossInput& in, const LossResult& out) {
      binary_cross_entropy(stream(), rows.head, in, {given}, smoothing, out);
    });
  }
  /// `targets`: [6, width]; the first columns belong to the head.
  Result run_targets(const Rows& rows, const std::vector<float>& targets, std::int32_t width,
                     float smoothing) {
    const Buffer<float> given = buffer(targets);
    return run(rows, [&](const LossInput& in, const LossResult& out) {
      binary_cross_entropy(stream(), rows.head, in, {nullptr, given, width}, smoothing, out);
    });
  }
};

/// Expects the score 1 where the largest logit and the largest target have the same index.
void expect_scores(const Rows& rows, const std::vector<float>& scores,
                   const std::function<Doubles(std::size_t)>& target) {
  const Doubles z = in_double(rows.outputs);
  for (std::size_t row = 0; row < rows.batch(); ++row) {
    const double* own = z.data() + rows.own(row);
    const Doubles t = target(row);
    const bool right = std::max_element(own, own + t.size()) - own ==
                       std::max_element(t.begin(), t.end()) - t.begin();
    EXPECT_EQ(scores[row], rows.holds(row) && right ? 1 : 0) << row;
  }
}

TEST_P(BinaryClassLossTest, MatchesDoublePrecisionAndFiniteDifferencesForLabels) {
  const std::vector<std::int32_t> labels = {3, 77, 0, 0, 2, 1};  // 77: a label of another head
  for (const float smoothing : {0.0f, 0.1f}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Rows rows = six_rows(4, dtype);
      const auto target = [&](std::size_t row) { return one_hot(labels[row] % 4, 4); };
      const Result result = run_labels(rows, labels, smoothing);
      expect_agrees(rows, result, [&](const double* z, std::size_t row) {
        return binary_entropy(z, smoothed(target(row), static_cast<double>(smoothing)));
      });
      expect_scores(rows, result.scores, target);
    }
  }
}

// The targets are mixtures of two classes, or anything in [0, 1]; there is an unused column.
TEST_P(BinaryClassLossTest, MatchesDoublePrecisionAndFiniteDifferencesForTargets) {
  std::vector<float> targets = random_values<float>(30, 3, 0, 1);
  std::copy_n(std::vector<float>{0, 0.75f, 0.25f, 0}.begin(), 4, targets.begin());
  std::copy_n(std::vector<float>{0, 0, 0, 1}.begin(), 4, targets.begin() + 20);
  for (const float smoothing : {0.0f, 0.1f}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Rows rows = six_rows(4, dtype);
      const auto target = [&](std::size_t row) {
        return Doubles(targets.begin() + static_cast<std::ptrdiff_t>(5 * row),
                       targets.begin() + static_cast<std::ptrdiff_t>(5 * row + 4));
      };
      const Result result = run_targets(rows, targets, 5, smoothing);
      expect_agrees(rows, result, [&](const double* z, std::size_t row) {
        return binary_entropy(z, smoothed(target(row), static_cast<double>(smoothing)));
      });
      expect_scores(rows, result.scores, target);
    }
  }
}

TEST_P(BinaryClassLossTest, IsTheSameForALabelAndItsProbabilities) {
  const Rows rows = six_rows(4, DType::f32);
  const std::vector<std::int32_t> labels = {3, 0, 0, 1, 2, 1};
  std::vector<float> targets(24, 0);
  for (std::size_t row = 0; row < 6; ++row)
    targets[row * 4 + static_cast<std::size_t>(labels[row])] = 1;
  const Result hard = run_labels(rows, labels, 0.1f), soft = run_targets(rows, targets, 4, 0.1f);
  EXPECT_EQ(soft.loss, hard.loss);
  EXPECT_EQ(soft.gradient, hard.gradient);
  EXPECT_EQ(soft.scores, hard.scores);
}

TEST_P(BinaryClassLossTest, ResolvesTiesToTheFirstLogit) {
  Rows rows = six_rows(4, DType::f32);
  rows.slots = slots_of({0, 0, 0, 0, 0, 0});
  for (std::size_t row = 0; row < 6; ++row)
    std::copy_n(std::vector<float>{1, 2, 2, 0}.begin(), 4,
                rows.outputs.begin() + static_cast<std::ptrdiff_t>(rows.own(row)));
  EXPECT_EQ(run_labels(rows, {1, 2, 0, 3, 1, 1}, 0).scores, (std::vector<float>{1, 0, 0, 0, 1, 1}));
}

TEST_P(BinaryClassLossTest, IsNaNForALabelOutsideTheHeadOrALogitThatIsNaN) {
  Rows rows = six_rows(3, DType::f32);
  rows.slots = slots_of({0, 0, 0, 0, 0, 0});
  rows.weights.assign(6, 1);
  rows.outputs[rows.own(5)] = std::numeric_limits<float>::quiet_NaN();
  const Result result = run_labels(rows, {-1, 3, 1 << 30, 0, 2, 1}, 0.1f);
  for (const std::size_t row : {0, 1, 2}) {
    EXPECT_TRUE(std::isnan(result.loss[row])) << row;
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(result.gradient[rows.own(row) + k], 0) << row;
  }
  EXPECT_TRUE(std::isfinite(result.loss[3]) && std::isfinite(result.loss[4]));
  EXPECT_TRUE(std::isnan(result.loss[5]));
}

// One wrong output of two costs 3e4, the other nothing.
TEST_P(BinaryClassLossTest, StaysFiniteForHugeLogits) {
  Rows rows = six_rows(2, DType::f32);
  for (std::size_t row = 0; row < 6; ++row) {
    rows.outputs[rows.own(row)] = -3e4f;
    rows.outputs[rows.own(row) + 1] = -3e4f;
  }
  const Result result = run_labels(rows, {0, 0, 0, 0, 0, 0}, 0);
  EXPECT_NEAR(result.loss[0], 1.5e4, 1e-2);
  for (const double g : result.gradient) EXPECT_TRUE(std::isfinite(g));
}

WS_ON_EVERY_BACKEND(BinaryClassLossTest);

}  // namespace
}  // namespace wellspring::ops::test
