#include "kernels/ops/loss.h"

#include "kernels/ops/binary_loss.h"
#include "tests/ops/loss_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace wellspring::ops::test {
namespace {

class LossTest : public test::LossFixture {
 protected:
  Result run_class(const Rows& rows, const std::vector<std::int32_t>& labels, float smoothing = 0) {
    const Buffer<std::int32_t> device_labels = buffer(labels);
    return run(rows, [&](const LossInput& in, const LossResult& out) {
      softmax_cross_entropy(stream(), rows.head, in, device_labels, smoothing, out);
    });
  }
  Result run_single(const std::vector<float>& logits, std::int32_t label, float smoothing = 0) {
    Rows rows;
    rows.head.width = rows.head.outputs = static_cast<std::int32_t>(logits.size());
    rows.head.sources = 1;
    rows.head.weight[0] = 1;
    rows.outputs = logits;
    rows.slots = slots_of({0});
    rows.weights = {1};
    return run_class(rows, {label}, smoothing);
  }
};

TEST_P(LossTest, ClassLossMatchesDoublePrecisionAndFiniteDifferences) {
  for (const float smoothing : {0.0f, 0.1f}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Rows rows = six_rows(4, dtype);
      const std::vector<std::int32_t> labels = {3, 77, 0, 0, 2, 1};  // 77: a label of another head
      const Result result = run_class(rows, labels, smoothing);
      expect_agrees(rows, result, [&](const double* z, std::size_t row) {
        Doubles wanted(4, 0);
        wanted[static_cast<std::size_t>(labels[row])] = 1;
        return cross_entropy(z, smoothed(wanted, static_cast<double>(smoothing)));
      });
      const Doubles z = in_double(rows.outputs);
      for (std::size_t row = 0; row < 6; ++row) {
        const double* own = z.data() + rows.own(row);
        const bool right = std::max_element(own, own + 4) - own == labels[row];
        EXPECT_EQ(result.scores[row], rows.holds(row) && right ? 1 : 0) << row;
      }
    }
  }
}

TEST_P(LossTest, StaysFiniteForHugeLogits) {
  for (const float smoothing : {0.0f, 0.1f}) {
    const Result right = run_single({1e30f, -1e30f, 0}, 0, smoothing);
    EXPECT_TRUE(std::isfinite(right.loss[0]));
    EXPECT_EQ(right.scores[0], 1);
    const Result wrong = run_single({3e4f, -3e4f, 0}, 1, smoothing);
    EXPECT_NEAR(wrong.loss[0],
                6e4 * (1 - static_cast<double>(smoothing)) + 3e4 * static_cast<double>(smoothing),
                1e-2);
    EXPECT_EQ(wrong.scores[0], 0);
    for (const double g : wrong.gradient) EXPECT_TRUE(std::isfinite(g));
  }
}

TEST_P(LossTest, ResolvesTiesToTheFirstLogit) {
  EXPECT_EQ(run_single({1, 2, 2, 0}, 1).scores[0], 1);
  EXPECT_EQ(run_single({1, 2, 2, 0}, 2).scores[0], 0);
  EXPECT_EQ(run_single({0, 0}, 0).scores[0], 1);
  EXPECT_NEAR(run_single({0, 0}, 0).loss[0], std::log(2.0), 1e-7);
}

TEST_P(LossTest, PassesNaNsThrough) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (std::int32_t label = 0; label < 3; ++label) {
    EXPECT_TRUE(std::isnan(run_single({0, nan, 1}, label).loss[0])) << label;
    EXPECT_EQ(run_single({nan, nan, nan}, label).scores[0], 0) << label;
    EXPECT_FALSE(std::isfinite(run_single({0, infinity, 1}, label).loss[0])) << label;
  }
}

TEST_P(LossTest, IsNaNForALabelOutsideTheHead) {
  for (const std::int32_t label : {-1, 3, 1 << 30}) {
    const Result result = run_single({1, 2, 3}, label);
    EXPECT_TRUE(std::isnan(result.loss[0])) << label;
    for (const double g : result.gradient) EXPECT_EQ(g, 0) << label;
  }
}

/// Probabilities of `classes` classes for `rows` rows. They sum to 1 in even rows and to 1/2 in odd
/// rows; each row has one extra, unused column.
std::vector<float> probabilities(std::size_t rows, std::size_t classes, std::uint64_t seed) {
  std::vector<float> values = random_values<float>(rows * (classes + 1), seed, 0, 1);
  for (std::size_t row = 0; row < rows; ++row) {
    float* own = values.data() + row * (classes + 1);
    const float sum = std::accumulate(own, own + classes, 0.0f) * (row % 2 == 0 ? 1.0f : 2.0f);
    for (std::size_t k = 0; k < classes; ++k) own[k] /= sum;
  }
  return values;
}

TEST_P(LossTest, SoftLabelLossMatchesDoublePrecisionAndFiniteDifferences) {
  for (const float smoothing : {0.0f, 0.1f}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Rows rows = six_rows(4, dtype);
      const std::vector<float> targets = probabilities(6, 4, 5);
      const Buffer<float> device_targets = buffer(targets);
      const Result result = run(rows, [&](const LossInput& in, const LossResult& out) {
        soft_cross_entropy(stream(), rows.head, in, device_targets, 5, smoothing, out);
      });
      const auto wanted = [&](std::size_t row) {
        const float* own = targets.data() + row * 5;
        return Doubles(own, own + 4);
      };
      expect_agrees(rows, result, [&](const double* z, std::size_t row) {
        return cross_entropy(z, smoothed(wanted(row), static_cast<double>(smoothing)));
      });
      const Doubles z = in_double(rows.outputs);
      for (std::size_t row = 0; row < 6; ++row) {
        const double* own = z.data() + rows.own(row);
        const Doubles t = wanted(row);
        const bool right = std::max_element(own, own + 4) - own ==
                           std::max_element(t.begin(), t.end()) - t.begin();
        EXPECT_EQ(result.scores[row], rows.holds(row) && right ? 1 : 0) << row;
      }
    }
  }
}

// A label must give the same result as a soft label with a single probability of 1.
TEST_P(LossTest, TreatsOneHotSoftLabelsAsLabels) {
  const Rows rows = six_rows(4, DType::f32);
  const std::vector<std::int32_t> labels = {3, 0, 0, 1, 2, 1};
  std::vector<float> targets(24, 0);
  for (std::size_t row = 0; row < 6; ++row)
    targets[row * 4 + static_cast<std::size_t>(labels[row])] = 1;
  const Buffer<float> device_targets = buffer(targets);
  const Result hard = run_class(rows, labels, 0.1f);
  const Result soft = run(rows, [&](const LossInput& in, const LossResult& out) {
    soft_cross_entropy(stream(), rows.head, in, device_targets, 4, 0.1f, out);
  });
  // Both results sum K numbers below 16, in different orders.
  expect_within(soft.loss, in_double(hard.loss), 8 * 16 * test::rounding(DType::f32), "loss");
  EXPECT_EQ(soft.scores, hard.scores);
}

TEST_P(LossTest, MultiLabelLossMatchesDoublePrecisionAndFiniteDifferences) {
  for (const auto positives : {PositiveWeight::equal, PositiveWeight::balanced}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      Rows rows = six_rows(3, dtype);
      rows.scores = kSigmoidScores;
      // Targets of 0, 1 and in between, as in mixed samples, with one more column than the head has
      // outputs. Row 2 has no label; the labels of row 4 sum to less than one.
      std::vector<float> targets = random_values<float>(24, 3, 0, 1);
      for (std::size_t i = 0; i < 24; i += 2) targets[i] = targets[i] > 0.5f ? 1 : 0;
      std::fill_n(targets.begin() + 8, 3, 0.0f);
      std::copy_n(std::vector<float>{0.125f, 0, 0.5f}.begin(), 3, targets.begin() + 16);
      const Buffer<float> device_targets = buffer(targets);
      const Result result = run(rows, [&](const LossInput& in, const LossResult& out) {
        sigmoid_cross_entropy(stream(), rows.head, in, device_targets, 4, positives, out);
      });
      const auto there = [&](std::size_t row) {
        const float* t = targets.data() + row * 4;
        return static_cast<int>(std::count_if(t, t + 3, [](float v) { return v > 0.5f; }));
      };
      expect_agrees(rows, result, [&](const double* z, std::size_t row) {
        const float* given = targets.data() + row * 4;
        const double number = std::accumulate(given, given + 3, 0.0);
        const double positive =
            positives == PositiveWeight::balanced ? 3 / std::max(1.0, number) : 1;
        double sum = 0;
        for (std::size_t k = 0; k < 3; ++k) {
          const double p = 1 / (1 + std::exp(-z[k])), t = static_cast<double>(targets[row * 4 + k]);
          sum -= positive * t * std::log(p) + (1 - t) * std::log(1 - p);
        }
        return sum / 3;
      });
      for (std::size_t row = 0; row < 6; ++row) {
        int right = 0, both = 0, said = 0;
        for (std::size_t k = 0; k < 3; ++k) {
          const bool says = rows.outputs[rows.own(row) + k] > 0, is = targets[row * 4 + k] > 0.5f;
          right += says == is;
          both += says && is;
          said += says;
        }
        const bool holds = rows.holds(row);
        EXPECT_EQ(result.scores[row], holds ? static_cast<float>(right) / 3.0f : 0) << row;
        EXPECT_EQ(result.scores[6 + row], holds ? 2.0f * static_cast<float>(both) : 0) << row;
        EXPECT_EQ(result.scores[12 + row], holds ? static_cast<float>(there(row) + said) : 0)
            << row;
      }
    }
  }
}

// The loss is linear in the targets, so the loss of a mixture is the weighted mean of both losses.
// With equal weights this always holds; with balanced weights it holds if both rows have the same
// number of labels.
TEST_P(LossTest, IsLinearInMixturesOfSeveralLabels) {
  Rows rows = six_rows(4, DType::f32);
  rows.scores = kSigmoidScores;
  const auto cost = [&](const std::vector<float>& targets, PositiveWeight positives) {
    const Buffer<float> device_targets = buffer(targets);
    return run(rows, [&](const LossInput& in, const LossResult& out) {
      sigmoid_cross_entropy(stream(), rows.head, in, device_targets, 4, positives, out);
    });
  };
  const auto expect_linear = [&](const std::vector<float>& a, const std::vector<float>& b,
                                 PositiveWeight positives) {
    for (const float share : {0.3f, 0.5f, 0.9f}) {
      std::vector<float> mixed(a.size());
      for (std::size_t i = 0; i < a.size(); ++i) mixed[i] = share * a[i] + (1 - share) * b[i];
      const Result of_a = cost(a, positives), of_b = cost(b, positives);
      const auto mixture = [&](const auto& va, const auto& vb) {
        Doubles all;
        for (std::size_t i = 0; i < va.size(); ++i)
          all.push_back(double{share} * static_cast<double>(va[i]) +
                        (1 - double{share}) * static_cast<double>(vb[i]));
        return all;
      };
      const Result of_both = cost(mixed, positives);
      // The tolerance of expect_agrees, applied to three results.
      const double u = test::rounding(DType::f32);
      expect_within(of_both.loss, mixture(of_a.loss, of_b.loss), 3 * 16 * 16 * u, "loss");
      expect_within(of_both.gradient, mixture(of_a.gradient, of_b.gradient), 3 * 16 * u,
                    "gradient");
    }
  };
  std::vector<float> a, b, two_of_a, two_of_b;
  for (int row = 0; row < 6; ++row) {
    for (const float t : {1, 0, 0, 0}) a.push_back(t);
    for (const float t : {1, 1, 0, 1}) b.push_back(t);
    for (const float t : {1, 0, 1, 0}) two_of_a.push_back(t);
    for (const float t : {0, 0, 1, 1}) two_of_b.push_back(t);
  }
  expect_linear(a, b, PositiveWeight::equal);
  expect_linear(two_of_a, two_of_b, PositiveWeight::balanced);
}

// With all K outputs at -30, each present label costs 30 and absent ones cost nothing, as e^-30
// vanishes next to 1. With balanced weights, the mean over the outputs is 30 if the labels present
// (including fractions) add up to at least one, and 30 t if their total t is below one.
TEST_P(LossTest, BalancesPresentLabels) {
  Rows rows = six_rows(4, DType::f32);
  rows.scores = kSigmoidScores;
  rows.slots = slots_of({0, 0, 0, 0, 0, 0});
  rows.weights.assign(6, 1);
  std::fill(rows.outputs.begin(), rows.outputs.end(), -30.0f);
  const Buffer<float> targets =
      buffer(std::vector<float>{0, 1,    0, 0, 1, 1, 1, 1, 0.75f, 0.25f, 0.75f, 0,
                                0, 0.5f, 0, 0, 0, 0, 0, 0, 0.5f,  1,     0.5f,  0.5f});
  const Result result = run(rows, [&](const LossInput& in, const LossResult& out) {
    sigmoid_cross_entropy(stream(), rows.head, in, targets, 4, PositiveWeight::balanced, out);
  });
  // Except for the divisors 1.75 and 2.5, all values are 30 times powers of two, so four roundings
  // suffice.
  expect_within(result.loss, {30, 30, 30, 15, 0, 30}, 30 * 4 * test::rounding(DType::f32), "loss");
}

TEST_P(LossTest, MultiLabelLossStaysFiniteForHugeOutputs) {
  for (const float sign : {1.0f, -1.0f}) {
    Rows rows = six_rows(2, DType::f32);
    rows.scores = kSigmoidScores;
    std::fill(rows.outputs.begin(), rows.outputs.end(), sign * 3e4f);
    const Buffer<float> targets = buffer(std::vector<float>(12, sign > 0 ? 0.0f : 1.0f));
    const Result result = run(rows, [&](const LossInput& in, const LossResult& out) {
      sigmoid_cross_entropy(stream(), rows.head, in, targets, 2, PositiveWeight::equal, out);
    });
    EXPECT_NEAR(result.loss[0], 3e4, 1e-2);
    for (const double g : result.gradient) EXPECT_TRUE(std::isfinite(g));
  }
}

/// The error of a target t with the outputs y[0], y[2], ... in double precision.
double error_of_target(const RegressionLaw& law, const double* y, double t) {
  const double e = y[0] - t, delta = static_cast<double>(law.delta);
  switch (law.error) {
    case RegressionError::squared:
      return e * e;
    case RegressionError::huber:
      return std::abs(e) <= delta ? e * e / 2 : delta * (std::abs(e) - delta / 2);
    case RegressionError::gaussian: {
      const double variance = std::max(std::exp(y[2]), 1e-6);
      return (std::log(variance) + e * e / variance) / 2;
    }
    case RegressionError::quantile: {
      double sum = 0;
      for (int j = 0; j < law.outputs; ++j) {
        const double level = static_cast<double>(law.level[j]), below = t - y[2 * j];
        sum += std::max(level * below, (level - 1) * below);
      }
      return sum / law.outputs;
    }
  }
  return 0;
}

TEST_P(LossTest, RegressionLossMatchesDoublePrecisionAndFiniteDifferences) {
  const RegressionLaw laws[] = {
      {},
      {.error = RegressionError::huber, .delta = 0.75f},
      {.error = RegressionError::gaussian, .outputs = 2},
      {.error = RegressionError::quantile, .outputs = 3, .level = {0.5f, 0.125f, 0.9f}}};
  for (const RegressionLaw& law : laws) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(static_cast<int>(law.error));
      Rows rows = six_rows(2 * law.outputs, dtype);
      rows.scores = 4;
      // The exponentials of log variances stay below 3.
      if (law.outputs == 2)
        for (float& y : rows.outputs) y *= 0.2f;
      const std::vector<float> latents = random_values<float>(24, 2, 0, 9),
                               targets = random_values<float>(18, 4, -5, 5);
      // Source 0 has both targets among its latents, and source 2 has one in the target column.
      std::vector<std::int32_t> column(2 * kMaxSources, 1 << 20);
      column[0] = 3, column[1] = 1;
      column[4] = 0, column[5] = -3;
      const std::vector<float> shift = {4.5f, 1}, scale = {0.25f, -0.2f};
      const Buffer<float> l = buffer(latents), t = buffer(targets), a = buffer(shift),
                          b = buffer(scale),
                          e = buffer(std::vector<float>(law.level, law.level + law.outputs));
      const Buffer<std::int32_t> c = buffer(column);
      const Result result = run(rows, [&](const LossInput& in, const LossResult& out) {
        regression_loss(stream(), rows.head, in, {2, l, 4, t, 3, c, a, b, e}, law, out);
      });
      const auto target = [&](std::size_t row, std::size_t k) {
        const std::int32_t at = column[rows.slots[row].source * 2 + k];
        const float value = at >= 0 ? latents[row * 4 + static_cast<std::size_t>(at)]
                                    : targets[row * 3 + static_cast<std::size_t>(-1 - at)];
        return static_cast<double>(value - shift[k]) * static_cast<double>(scale[k]);
      };
      expect_agrees(rows, result, [&](const double* y, std::size_t row) {
        return (error_of_target(law, y, target(row, 0)) +
                error_of_target(law, y + 1, target(row, 1))) /
               2;
      });
      const Doubles y = in_double(rows.outputs);
      for (std::size_t row = 0; row < 6; ++row) {
        if (!rows.holds(row)) continue;
        for (std::size_t k = 0; k < 2; ++k) {
          const double in_unit =
              (y[rows.own(row) + k] - target(row, k)) / static_cast<double>(scale[k]);
          // Values are below 7, or below 35 in the other unit, with four rounding errors each.
          const double tolerance = 35 * 8 * test::rounding(DType::f32);
          EXPECT_NEAR(result.scores[2 * k * 6 + row], in_unit * in_unit, 2 * 35 * tolerance);
          EXPECT_NEAR(result.scores[(2 * k + 1) * 6 + row], std::abs(in_unit), tolerance);
        }
      }
    }
  }
}

// A variance below 1e-6 counts as 1e-6; the output still has a gradient that makes it grow.
TEST_P(LossTest, GaussianLossStaysFiniteForTinyVariances) {
  Rows rows = six_rows(2, DType::f32);
  rows.scores = 2;
  for (std::size_t i = 0; i < rows.outputs.size(); ++i) rows.outputs[i] = -1e4f;
  for (std::size_t row = 0; row < 6; ++row) rows.outputs[rows.own(row)] = 0.5f;
  const Buffer<float> latents = buffer(std::vector<float>(6, 0.25f)),
                      shift = buffer(std::vector<float>{0}), scale = buffer(std::vector<float>{1});
  const Buffer<std::int32_t> column = buffer(std::vector<std::int32_t>(kMaxSources));
  const Result result = run(rows, [&](const LossInput& in, const LossResult& out) {
    regression_loss(stream(), rows.head, in, {1, latents, 1, nullptr, 0, column, shift, scale},
                    {.error = RegressionError::gaussian, .outputs = 2}, out);
  });
  for (std::size_t row = 0; row < 6; ++row) {
    if (!rows.holds(row) || rows.weights[row] == 0) continue;
    EXPECT_TRUE(std::isfinite(result.loss[row]));
    EXPECT_LT(result.gradient[rows.own(row) + 1], 0);
  }
}

WS_ON_EVERY_BACKEND(LossTest);

TEST(LossTeams, GiveEqualBitsForAnySize) {
  const auto outputs = random_values<float>(930, 1, -5, 5),
             given = random_values<float>(930, 2, 0, 1);
  const std::vector<Slot> slots = slots_of({0, 1, 2});
  const std::vector<float> weights = {1, 2, 1}, shift(290, 0.5f), scale(290, 2.0f);
  for (const std::int32_t own : {2, 10, 290}) {  // below and above the lanes of a team
    SCOPED_TRACE(own);
    HeadSlice head = {.batch = 3, .width = 310, .begin = 7, .outputs = own, .sources = 0b101};
    head.weight[0] = 1;
    head.weight[2] = 0.5f;
    const std::vector<std::int32_t> labels = {own - 1, 1, -1};
    std::vector<float> loss(3), scores(3 * 2 * 290), gradient(930);
    const HeadRows<float> rows = {head,        outputs.data(), slots.data(),   weights.data(),
                                  loss.data(), scores.data(),  gradient.data()};
    using wellspring::test::bytes_of;
    const auto check = [&]<class Loss>(const Loss& functor) {
      const auto lanes = static_cast<std::size_t>(reduce_lanes(own));
      wellspring::test::expect_equal_for_all_team_sizes(
          functor, 3, {128, lanes * sizeof(typename Loss::Scratch)},
          {bytes_of(loss), bytes_of(scores), bytes_of(gradient)});
    };
    check(SoftmaxCrossEntropy<float>{rows, labels.data(), 0.1f});
    check(SoftCrossEntropy<float>{rows, given.data(), 310, 0.1f});
    check(BinaryClassLoss<float>{rows, {labels.data()}, 0.1f});
    check(BinaryClassLoss<float>{rows, {nullptr, given.data(), 310}, 0.1f});
    check(SigmoidCrossEntropy<float>{rows, given.data(), 310, PositiveWeight::balanced});
    std::vector<std::int32_t> column(kMaxSources * static_cast<std::size_t>(own));
    for (std::size_t i = 0; i < column.size(); ++i)
      column[i] = static_cast<std::int32_t>(i) % own * (i % 2 == 0 ? 1 : -1);
    for (const RegressionError error : {RegressionError::squared, RegressionError::gaussian}) {
      const bool gaussian = error == RegressionError::gaussian;
      check(RegressionLoss<float>{rows,
                                  {gaussian ? own / 2 : own, given.data(), 310, given.data(), 310,
                                   column.data(), shift.data(), scale.data()},
                                  {error, 1, gaussian ? 2 : 1, nullptr}});
    }
  }
}

}  // namespace
}  // namespace wellspring::ops::test
