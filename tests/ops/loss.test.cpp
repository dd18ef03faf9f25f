#include "kernels/ops/loss.h"

#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace wellspring::ops {
namespace {

using test::Buffer;
using test::expect_within;
using test::in_double;
using test::random_values;
using Doubles = std::vector<double>;

std::vector<Slot> slots_of(const std::vector<std::uint32_t>& sources) {
  std::vector<Slot> slots(sources.size());
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i].source = sources[i];
  return slots;
}

/// The loss of one row, in double precision.
double cross_entropy(const HeadRange& head, const double* logits, int label, double smoothing) {
  const double* own = logits + head.begin;
  const double largest = *std::max_element(own, own + head.classes);
  double sum = 0, spread = 0;
  for (int k = 0; k < head.classes; ++k) sum += std::exp(own[k] - largest);
  const double log_sum = largest + std::log(sum);
  for (int k = 0; k < head.classes; ++k) spread += (log_sum - own[k]) / head.classes;
  return (1 - smoothing) * (log_sum - own[label]) + smoothing * spread;
}

class LossTest : public test::OperationTest {
 protected:
  struct Result {
    std::vector<float> loss;
    std::vector<std::uint8_t> correct;
    Doubles gradient;
  };
  Result run(LossSpec spec, const std::vector<float>& logits, const std::vector<Slot>& slots,
             const std::vector<std::int32_t>& labels, const std::vector<float>& weights) {
    const auto n = static_cast<std::size_t>(spec.batch);
    const Buffer<float> device_logits = buffer(logits), device_weights = buffer(weights),
                        loss = buffer<float>(n);
    const Buffer<Slot> device_slots = buffer(slots);
    const Buffer<std::int32_t> device_labels = buffer(labels);
    const Buffer<std::uint8_t> correct = buffer<std::uint8_t>(n);
    return visit_float(spec.gradient, [&]<class T>(T) {
      const Buffer<T> gradient = buffer<T>(logits.size());
      softmax_cross_entropy(stream(), spec, device_logits, device_slots, device_labels,
                            device_weights, loss, correct, gradient);
      return Result{loss.values(), correct.values(), in_double(gradient.values())};
    });
  }
  Result run_single(const std::vector<float>& logits, std::int32_t label, float smoothing = 0) {
    LossSpec spec;
    spec.width = static_cast<std::int32_t>(logits.size());
    spec.heads[0] = {0, spec.width, 1};
    spec.label_smoothing = smoothing;
    return run(spec, logits, slots_of({0}), {label}, {1});
  }
};

// Two heads side by side, a weight of zero, weighted heads: loss against double precision, gradient
// against finite differences of the mean loss.
TEST_P(LossTest, CrossEntropyAgreesWithDoublePrecisionAndFiniteDifferences) {
  for (const float smoothing : {0.0f, 0.1f}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      LossSpec spec;
      spec.batch = 6;
      spec.width = 9;
      spec.label_smoothing = smoothing;
      spec.gradient = dtype;
      spec.heads[0] = {0, 4, 1};
      spec.heads[1] = {4, 5, 0.25f};
      const auto logits = random_values<float>(54, 1, -4, 4);
      const std::vector<Slot> slots = slots_of({0, 1, 1, 0, 0, 1});
      const std::vector<std::int32_t> labels = {3, 4, 0, 0, 2, 1};
      const std::vector<float> weights = {1, 2, 1, 0, 0.5f, 1};
      const Result result = run(spec, logits, slots, labels, weights);

      const Doubles z = in_double(logits);
      const auto row_loss = [&](const Doubles& v, std::size_t row) {
        const HeadRange& head = spec.heads[slots[row].source];
        return static_cast<double>(weights[row]) * static_cast<double>(head.loss_weight) *
               cross_entropy(head, v.data() + row * 9, labels[row], static_cast<double>(smoothing));
      };
      Doubles expected(6);
      for (std::size_t row = 0; row < 6; ++row) expected[row] = row_loss(z, row);
      const double u = test::rounding(DType::f32);
      // Some ten roundings of numbers below 16, and the error of exp and log, 2 ULP each.
      expect_within(result.loss, expected, 16 * 16 * u, "loss");
      const auto mean = [&](const Doubles& v) {
        double sum = 0;
        for (std::size_t row = 0; row < 6; ++row) sum += row_loss(v, row) / 6;
        return sum;
      };
      expect_within(result.gradient, test::gradient(mean, z), 16 * u + test::rounding(dtype) + 1e-9,
                    "gradient");
      for (std::size_t i = 27; i < 36; ++i) EXPECT_EQ(result.gradient[i], 0) << "weight 0";
      for (std::size_t i = 4; i < 9; ++i) EXPECT_EQ(result.gradient[i], 0) << "the other head";
      for (std::size_t row = 0; row < 6; ++row) {
        const HeadRange& head = spec.heads[slots[row].source];
        const double* own = z.data() + row * 9 + head.begin;
        const auto best = std::max_element(own, own + head.classes) - own;
        EXPECT_EQ(result.correct[row], best == labels[row] ? 1 : 0) << row;
      }
    }
  }
}

TEST_P(LossTest, HugeLogitsStayFinite) {
  for (const float smoothing : {0.0f, 0.1f}) {
    const Result right = run_single({1e30f, -1e30f, 0}, 0, smoothing);
    EXPECT_TRUE(std::isfinite(right.loss[0]));
    EXPECT_EQ(right.correct[0], 1);
    const Result wrong = run_single({3e4f, -3e4f, 0}, 1, smoothing);
    EXPECT_NEAR(wrong.loss[0],
                6e4 * (1 - static_cast<double>(smoothing)) + 3e4 * static_cast<double>(smoothing),
                1e-2);
    EXPECT_EQ(wrong.correct[0], 0);
    for (const double g : wrong.gradient) EXPECT_TRUE(std::isfinite(g));
  }
}

TEST_P(LossTest, FirstOfEqualLogitsWins) {
  EXPECT_EQ(run_single({1, 2, 2, 0}, 1).correct[0], 1);
  EXPECT_EQ(run_single({1, 2, 2, 0}, 2).correct[0], 0);
  EXPECT_EQ(run_single({0, 0}, 0).correct[0], 1);
  EXPECT_NEAR(run_single({0, 0}, 0).loss[0], std::log(2.0), 1e-7);
}

TEST_P(LossTest, NotANumberIsNotHidden) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (std::int32_t label = 0; label < 3; ++label) {
    EXPECT_TRUE(std::isnan(run_single({0, nan, 1}, label).loss[0])) << label;
    EXPECT_EQ(run_single({nan, nan, nan}, label).correct[0], 0) << label;
    EXPECT_FALSE(std::isfinite(run_single({0, infinity, 1}, label).loss[0])) << label;
  }
}

TEST_P(LossTest, LabelOutsideOfTheHeadIsNotANumber) {
  for (const std::int32_t label : {-1, 3, 1 << 30}) {
    const Result result = run_single({1, 2, 3}, label);
    EXPECT_TRUE(std::isnan(result.loss[0])) << label;
    for (const double g : result.gradient) EXPECT_EQ(g, 0) << label;
  }
}

TEST_P(LossTest, SourceWithoutHeadHasNoLoss) {
  LossSpec spec;
  spec.width = 3;
  spec.heads[0] = {0, 3, 1};
  const Result result = run(spec, {1, 2, 3}, slots_of({5}), {0}, {1});
  EXPECT_EQ(result.loss[0], 0);
  EXPECT_EQ(result.correct[0], 0);
  for (const double g : result.gradient) EXPECT_EQ(g, 0);
}

TEST_P(LossTest, MeanSquaredErrorAgreesWithDoublePrecisionAndFiniteDifferences) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    MseSpec spec;
    spec.batch = 3;
    spec.targets = 2;
    spec.latent_stride = 4;
    spec.gradient = dtype;
    const auto prediction = random_values<float>(6, 1), latents = random_values<float>(12, 2, 0, 9);
    const std::vector<std::int32_t> index = {3, 1};
    const std::vector<float> shift = {4.5f, 4}, scale = {0.25f, 0.2f}, weights = {1, 0, 2};
    const Buffer<float> p = buffer(prediction), l = buffer(latents), s = buffer(shift),
                        c = buffer(scale), w = buffer(weights), loss = buffer<float>(3);
    const Buffer<std::int32_t> i = buffer(index);
    const Buffer<std::uint8_t> correct = buffer(std::vector<std::uint8_t>(3, 9));
    const auto row_loss = [&](const Doubles& v, std::size_t row) {
      double sum = 0;
      for (std::size_t k = 0; k < 2; ++k) {
        const double target =
            (static_cast<double>(latents[row * 4 + static_cast<std::size_t>(index[k])]) -
             static_cast<double>(shift[k])) *
            static_cast<double>(scale[k]);
        sum += std::pow(v[row * 2 + k] - target, 2) / 2;
      }
      return sum * static_cast<double>(weights[row]);
    };
    visit_float(dtype, [&]<class T>(T) {
      const Buffer<T> gradient = buffer<T>(6);
      mean_squared_error(stream(), spec, p, l, i, s, c, w, loss, correct, gradient);
      const Doubles v = in_double(prediction);
      expect_within(loss.values(), {row_loss(v, 0), row_loss(v, 1), row_loss(v, 2)}, 2e-6, "loss");
      const auto mean = [&](const Doubles& at) {
        return (row_loss(at, 0) + row_loss(at, 1) + row_loss(at, 2)) / 3;
      };
      // Predictions and targets below 2: factors below 2, some five roundings.
      expect_within(gradient.values(), test::gradient(mean, v),
                    16 * test::rounding(DType::f32) + 2 * test::rounding(dtype) + 1e-9, "gradient");
    });
    EXPECT_EQ(correct.values(), (std::vector<std::uint8_t>{0, 0, 0}));
  }
}

WS_ON_EVERY_BACKEND(LossTest);

TEST(LossTeams, SameBitsForAnyTeamSize) {
  LossSpec spec;
  spec.batch = 3;
  spec.width = 300;
  spec.heads[0] = {0, 290, 1};
  spec.heads[1] = {290, 10, 1};
  spec.label_smoothing = 0.1f;
  const auto logits = random_values<float>(900, 1, -5, 5);
  const std::vector<Slot> slots = slots_of({0, 1, 0});
  const std::vector<std::int32_t> labels = {289, 3, -1};
  const std::vector<float> weights = {1, 2, 1};
  std::vector<float> loss(3), gradient(900);
  std::vector<std::uint8_t> correct(3);
  using wellspring::test::bytes_of;
  wellspring::test::expect_equal_for_all_team_sizes(
      SoftmaxCrossEntropy<float>{spec, logits.data(), slots.data(), labels.data(), weights.data(),
                                 loss.data(), correct.data(), gradient.data()},
      3, {128, kReduceLanes * sizeof(float)},
      {bytes_of(loss), bytes_of(correct), bytes_of(gradient)});

  MseSpec regression;
  regression.batch = 3;
  regression.targets = 300;
  regression.latent_stride = 300;
  const auto latents = random_values<float>(900, 2);
  std::vector<std::int32_t> index(300);
  std::iota(index.rbegin(), index.rend(), 0);
  const std::vector<float> shift(300, 0.5f), scale(300, 2.0f);
  wellspring::test::expect_equal_for_all_team_sizes(
      MeanSquaredError<float>{regression, logits.data(), latents.data(), index.data(), shift.data(),
                              scale.data(), weights.data(), loss.data(), correct.data(),
                              gradient.data()},
      3, {128, kReduceLanes * sizeof(float)},
      {bytes_of(loss), bytes_of(correct), bytes_of(gradient)});
}

}  // namespace
}  // namespace wellspring::ops
