#include "kernels/ops/depthwise_conv.h"

#include "core/error.h"
#include "tests/ops/operation_test.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace wellspring::ops::test {
namespace {

/// Calls use(index of x, index of w, index of y) for all products of the convolution.
template <class Use>
void for_products(const DepthwiseConvSpec& s, Use use) {
  const int half = s.kernel / 2;
  for (int n = 0; n < static_cast<int>(s.batch); ++n)
    for (int p = 0; p < s.height; ++p)
      for (int q = 0; q < s.width; ++q)
        for (int r = 0; r < s.kernel; ++r)
          for (int t = 0; t < s.kernel; ++t) {
            const int h = p + r - half, v = q + t - half;
            if (h < 0 || h >= s.height || v < 0 || v >= s.width) continue;
            for (int c = 0; c < s.channels; ++c) {
              use(static_cast<std::size_t>(((n * s.height + h) * s.width + v) * s.channels + c),
                  static_cast<std::size_t>((c * s.kernel + r) * s.kernel + t),
                  static_cast<std::size_t>(((n * s.height + p) * s.width + q) * s.channels + c));
            }
          }
}

/// A sum of products in double precision, and the sum of their magnitudes.
struct Sums {
  explicit Sums(std::size_t n) : value(n), magnitude(n) {}
  void add(std::size_t i, double term) {
    value[i] += term;
    magnitude[i] += std::abs(term);
  }
  /// Every term is rounded at most `roundings` times, and the result once to T.
  Doubles bound(double roundings, DType stored) const {
    Doubles result;
    for (std::size_t i = 0; i < value.size(); ++i) {
      result.push_back(roundings * kU * magnitude[i] + test::rounding(stored) * std::abs(value[i]));
    }
    return result;
  }
  Doubles value, magnitude;
};

DepthwiseConvSpec spec_of(int batch, int height, int width, int channels, int kernel,
                          DType compute = DType::f32) {
  return {batch, height, width, channels, kernel, compute};
}

class DepthwiseConvTest : public test::OperationTest {
 protected:
  template <class T>
  void check(DepthwiseConvSpec s) {
    s.compute = DTypeOf<T>::value;
    SCOPED_TRACE(std::to_string(s.batch) + " x " + std::to_string(s.height) + " x " +
                 std::to_string(s.width) + " x " + std::to_string(s.channels) + ", kernel " +
                 std::to_string(s.kernel));
    const auto c = static_cast<std::size_t>(s.channels),
               pixels = static_cast<std::size_t>(s.batch * s.height * s.width), n = pixels * c,
               taps = static_cast<std::size_t>(s.kernel * s.kernel);
    const auto x = random_values<T>(n, 1), w = random_values<T>(c * taps, 2),
               dy = random_values<T>(n, 3);
    const auto bias = random_values<float>(c, 4);
    const Buffer<T> device_x = buffer(x), device_w = buffer(w), device_dy = buffer(dy),
                    y = buffer<T>(n), dx = buffer<T>(n), dw = buffer<T>(c * taps);
    const Buffer<float> dbias = buffer<float>(c),
                        partials = buffer<float>(depthwise_conv_partials(s));
    depthwise_conv_forward(stream(), s, device_x, device_w, buffer(bias), y);
    depthwise_conv_backward_data(stream(), s, device_dy, device_w, dx);
    depthwise_conv_backward_weights(stream(), s, device_x, device_dy, dw, dbias, partials);

    Sums expected_y(n), expected_dx(n), expected_dw(c * taps), expected_bias(c);
    const Doubles xs = in_double(x), ws = in_double(w), dys = in_double(dy), bs = in_double(bias);
    for (std::size_t i = 0; i < n; ++i) {
      expected_y.add(i, bs[i % c]);
      expected_bias.add(i % c, dys[i]);
    }
    for_products(s, [&](std::size_t from, std::size_t weight, std::size_t to) {
      expected_y.add(to, xs[from] * ws[weight]);
      expected_dx.add(from, dys[to] * ws[weight]);
      expected_dw.add(weight, dys[to] * xs[from]);
    });
    const double taps_and_bias = static_cast<double>(taps + 1), terms = static_cast<double>(pixels);
    expect_within(y.values(), expected_y.value, expected_y.bound(taps_and_bias, s.compute), "y");
    expect_within(dx.values(), expected_dx.value, expected_dx.bound(taps_and_bias, s.compute),
                  "dx");
    expect_within(dw.values(), expected_dw.value, expected_dw.bound(terms + 1, s.compute), "dw");
    expect_within(dbias.values(), expected_bias.value, expected_bias.bound(terms, DType::f32),
                  "dbias");

    // Without bias.
    const Buffer<T> other = buffer<T>(n), other_dw = buffer<T>(c * taps);
    depthwise_conv_forward(stream(), s, device_x, device_w, nullptr, other);
    depthwise_conv_backward_weights(stream(), s, device_x, device_dy, other_dw, nullptr, partials);
    EXPECT_EQ(in_double(other_dw.values()), in_double(dw.values()));
    Doubles without = expected_y.value;
    for (std::size_t i = 0; i < n; ++i) without[i] -= bs[i % c];
    Doubles bound = expected_y.bound(taps_and_bias, s.compute);
    for (double& of : bound) of += test::rounding(s.compute);  // bias is at most 1
    expect_within(other.values(), without, bound, "y without bias");
  }
};

TEST_P(DepthwiseConvTest, AgreesWithDoublePrecision) {
  for (const int kernel : {3, 5, 7}) {
    for (const int channels : {1, 3, 7, 8, 65, 96}) {
      check<float>(spec_of(2, 7, 9, channels, kernel));
    }
    for (const int channels : {7, 72}) check<bf16>(spec_of(2, 6, 5, channels, kernel));
    check<float>(spec_of(1, 1, 1, 8, kernel));    // only the centre of the kernel
    check<float>(spec_of(1, 2, 13, 5, kernel));   // lower than the kernel
    check<float>(spec_of(3, 40, 33, 8, kernel));  // several strips of rows
  }
  check<bf16>(spec_of(2, 7, 7, 768, 7));
  check<float>(spec_of(40, 30, 2, 8, 3));  // chunks of several rows
}

TEST_P(DepthwiseConvTest, AgreesWithFiniteDifferences) {
  const DepthwiseConvSpec s = spec_of(1, 4, 3, 2, 3);
  const auto x = random_values<float>(24, 1), w = random_values<float>(18, 2),
             dy = random_values<float>(24, 3);
  const Buffer<float> dx = buffer<float>(24), dw = buffer<float>(18),
                      partials = buffer<float>(depthwise_conv_partials(s));
  depthwise_conv_backward_data(stream(), s, buffer(dy), buffer(w), dx);
  depthwise_conv_backward_weights(stream(), s, buffer(x), buffer(dy), dw, nullptr, partials);
  const Doubles xs = in_double(x), ws = in_double(w), dys = in_double(dy);
  const auto along = [&](const Doubles& values, const Doubles& weights) {
    double sum = 0;
    for_products(s, [&](std::size_t from, std::size_t weight, std::size_t to) {
      sum += values[from] * weights[weight] * dys[to];
    });
    return sum;
  };
  // Sums of at most 12 products below 1, each rounded at most 12 times.
  const double bound = 12 * 12 * kU + 1e-8;
  expect_within(dx.values(), test::gradient([&](const Doubles& v) { return along(v, ws); }, xs),
                bound, "dx");
  expect_within(dw.values(), test::gradient([&](const Doubles& v) { return along(xs, v); }, ws),
                bound, "dw");
}

TEST_P(DepthwiseConvTest, RefusesOtherKernels) {
  const auto run = [&] {
    depthwise_conv_forward(stream(), spec_of(1, 4, 4, 8, 4), nullptr, nullptr, nullptr, nullptr);
  };
  wellspring::test::expect_parts(wellspring::test::message_of(ErrorKind::config, run),
                                 {"kernel 4", "3, 5 or 7"});
}

WS_ON_EVERY_BACKEND(DepthwiseConvTest);

template <class T, int kernel>
void expect_equal_bits(int channels) {
  SCOPED_TRACE(std::to_string(channels) + " channels");
  using wellspring::test::bytes_of;
  using wellspring::test::expect_equal_for_all_team_sizes;
  const DepthwiseShape shape{2, 5, 6, channels};
  const auto c = static_cast<std::size_t>(channels), n = 60 * c;
  const auto x = random_values<T>(n, 1), w = random_values<T>(c * kernel * kernel, 2),
             dy = random_values<T>(n, 3);
  const auto bias = random_values<float>(c, 4);
  std::vector<T> y(n);
  std::vector<float> parts(2 * c * kernel * kernel);
  using Apply = DepthwiseConvApply<T, kernel>;
  expect_equal_for_all_team_sizes(Apply{x.data(), w.data(), bias.data(), y.data(), shape, 3, false},
                                  2 * 2 * shape.blocks(),
                                  {kChunkTeam, Apply::kScratch * sizeof(float)}, {bytes_of(y)});
  using Weights = DepthwiseConvWeights<T, kernel>;
  expect_equal_for_all_team_sizes(
      Weights{x.data(), dy.data(), parts.data(), shape, 7}, 2 * shape.blocks(),
      {kChunkTeam, Weights::kScratch * sizeof(float)}, {bytes_of(parts)});
}

TEST(DepthwiseConvTeams, GiveEqualBitsForAnySize) {
  expect_equal_bits<float, 3>(3);
  expect_equal_bits<float, 7>(72);
  expect_equal_bits<bf16, 5>(65);
  expect_equal_bits<bf16, 7>(8);
}

}  // namespace
}  // namespace wellspring::ops::test
