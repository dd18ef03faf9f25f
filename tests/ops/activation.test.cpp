#include "kernels/ops/activation.h"

#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace wellspring::ops::test {
namespace {

constexpr Smooth kKinds[] = {Smooth::gelu, Smooth::silu};

double cumulative(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}
double density(double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}
double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double value_of(Smooth kind, double x) {
  return x * (kind == Smooth::gelu ? cumulative(x) : sigmoid(x));
}

/// Bound on the derivative's error. GELU: the relative errors of both terms are at most 7 u, or 8 u with the product;
/// their sum rounds once. SiLU: exp rounds by 2 u, so the sigmoid s has a relative error of 4 u, and 1 - s an error of
/// 4 u s + u (1 - s). All other operations round once.
double slope_bound(Smooth kind, double x) {
  if (kind == Smooth::gelu) return kU * 9 * (cumulative(x) + std::abs(x) * density(x));
  const double s = sigmoid(x);
  return kU * s * (4 * s * std::abs(x) + 8 * (1 + std::abs(x) * (1 - s)));
}

TEST(Normal, IsWithinSevenRoundingsOfDoublePrecision) {
  double worst_cumulative = 0, worst_density = 0;
  for (float x = -12.9f; x < 13; x += 0x1.1p-12f) {
    const Normal got = normal_at(x);
    const double exact = static_cast<double>(x);
    const auto relative = [](float value, double truth) {
      return std::abs(static_cast<double>(value) / truth - 1) / kU;
    };
    worst_cumulative = std::max(worst_cumulative, relative(got.cumulative, cumulative(exact)));
    worst_density = std::max(worst_density, relative(got.density, density(exact)));
  }
  EXPECT_LT(worst_cumulative, 7);
  EXPECT_LT(worst_density, 7);
  RecordProperty("cumulative", std::to_string(worst_cumulative));
  RecordProperty("density", std::to_string(worst_density));
}

class ActivationTest : public test::OperationTest {
 protected:
  template <class T>
  std::vector<T> values_at(Smooth kind, const std::vector<T>& x) {
    const Buffer<T> from = buffer(x), to = buffer<T>(x.size());
    smooth_activation(stream(), kind, DTypeOf<T>::value, static_cast<std::int64_t>(x.size()), from,
                      to);
    return to.values();
  }

  template <class T>
  void check(Smooth kind, std::size_t n) {
    const DType dtype = DTypeOf<T>::value;
    const auto x = random_values<T>(n, 1, -8, 8), dy = random_values<T>(n, 2);
    const Buffer<T> device_x = buffer(x), device_dy = buffer(dy), dx = buffer<T>(n);
    const auto count = static_cast<std::int64_t>(n);
    smooth_activation_backward(stream(), kind, dtype, count, device_x, device_dy, dx);
    Doubles y, y_bound, gradient, gradient_bound;
    const double stored = dtype == DType::bf16 ? test::rounding(dtype) : 0;
    const Doubles xs = in_double(x), dys = in_double(dy);
    for (std::size_t i = 0; i < n; ++i) {
      const double at = xs[i], through = dys[i];
      // The rounding of a product, and a relative error: 7 u (GELU), or 3 u and a division (SiLU).
      y.push_back(value_of(kind, at));
      y_bound.push_back((8 * kU + stored) * std::abs(y.back()));
      const auto f = [kind](const Doubles& v) { return value_of(kind, v[0]); };
      gradient.push_back(through * test::derivative(f, {at}, 0));
      gradient_bound.push_back(std::abs(through) * slope_bound(kind, at) +
                               (kU + stored) * std::abs(gradient.back()) + 1e-9);
    }
    expect_within(values_at(kind, x), y, y_bound, "y");
    expect_within(dx.values(), gradient, gradient_bound, "dx");

    smooth_activation_backward(stream(), kind, dtype, count, device_x, device_dy, device_dy);
    EXPECT_EQ(in_double(device_dy.values()), in_double(dx.values()));
    smooth_activation(stream(), kind, dtype, count, device_x, device_x);
    EXPECT_EQ(in_double(device_x.values()), in_double(values_at(kind, x)));
  }
};

TEST_P(ActivationTest, AgreesWithDoublePrecisionAndFiniteDifferences) {
  for (const Smooth kind : kKinds) {
    SCOPED_TRACE(kind == Smooth::gelu ? "gelu" : "silu");
    for (const std::size_t n : {1, 77, 2048, 4097}) {
      check<float>(kind, n);
      check<bf16>(kind, n);
    }
  }
}

TEST_P(ActivationTest, ReachesItsLimitsAndPassesNaN) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const Smooth kind : kKinds) {
    const auto y =
        values_at(kind, std::vector<float>{0, 1e30f, kInf, -1e30f, -200, std::nanf(""), -kInf});
    EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 5),
              (std::vector<float>{0, 1e30f, kInf, 0, 0}));
    EXPECT_TRUE(std::isnan(y[5]) && std::isnan(y[6]));
    const std::vector<float> x = {0, 1e30f, -1e30f, std::nanf("")};
    const Buffer<float> from = buffer(x), dy = buffer(std::vector<float>{1, 1, 1, 1}),
                        dx = buffer<float>(4);
    smooth_activation_backward(stream(), kind, DType::f32, 4, from, dy, dx);
    const auto slopes = dx.values();
    EXPECT_EQ(std::vector<float>(slopes.begin(), slopes.begin() + 3),
              (std::vector<float>{0.5f, 1, 0}));
    EXPECT_TRUE(std::isnan(slopes[3]));
  }
}

WS_ON_EVERY_BACKEND(ActivationTest);

TEST(ActivationTeams, GiveEqualBitsForAnySize) {
  constexpr std::int64_t kSize = kChunk + 5;
  const auto x = random_values<float>(kSize, 1, -4, 4), dy = random_values<float>(kSize, 2);
  std::vector<float> y(kSize);
  using wellspring::test::bytes_of;
  using wellspring::test::expect_equal_for_all_team_sizes;
  expect_equal_for_all_team_sizes(SmoothActivation<float, Smooth::gelu>{x.data(), y.data(), kSize},
                                  chunks(kSize), {kChunkTeam}, {bytes_of(y)});
  expect_equal_for_all_team_sizes(
      SmoothActivationBackward<float, Smooth::gelu>{x.data(), dy.data(), y.data(), kSize},
      chunks(kSize), {kChunkTeam}, {bytes_of(y)});
}

}  // namespace
}  // namespace wellspring::ops::test
