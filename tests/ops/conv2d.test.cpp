#include "core/error.h"
#include "kernels/ops/cpu/winograd.h"
#include "kernels/ops/ops.h"
#include "tests/ops/operation_test.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wellspring::ops {
namespace {

using test::Buffer;
using test::dot;
using test::expect_within;
using test::in_double;
using test::random_values;

std::size_t x_size(const Conv2dSpec& s) {
  return static_cast<std::size_t>(s.batch * s.in_height * s.in_width * s.in_channels);
}
std::size_t y_size(const Conv2dSpec& s) {
  return static_cast<std::size_t>(s.batch * s.out_height() * s.out_width() * s.out_channels);
}
std::size_t w_size(const Conv2dSpec& s) {
  return static_cast<std::size_t>(s.out_channels * s.kernel * s.kernel * s.in_channels);
}

/// Calls visit(x index, w index, y index) for every product of the convolution.
template <class Visit>
void each_product(const Conv2dSpec& s, Visit visit) {
  for (int n = 0; n < s.batch; ++n)
    for (int p = 0; p < s.out_height(); ++p)
      for (int q = 0; q < s.out_width(); ++q)
        for (int r = 0; r < s.kernel; ++r)
          for (int t = 0; t < s.kernel; ++t) {
            const int h = p * s.stride + r - s.padding, w = q * s.stride + t - s.padding;
            if (h < 0 || h >= s.in_height || w < 0 || w >= s.in_width) continue;
            for (int k = 0; k < s.out_channels; ++k)
              for (int c = 0; c < s.in_channels; ++c)
                visit(((n * s.in_height + h) * s.in_width + w) * s.in_channels + c,
                      ((k * s.kernel + r) * s.kernel + t) * s.in_channels + c,
                      ((n * s.out_height() + p) * s.out_width() + q) * s.out_channels + k);
          }
}

using Doubles = std::vector<double>;

/// The convolution and its adjoints in double precision. Called with magnitudes, they give the
/// scale of the rounding errors.
Doubles forward(const Conv2dSpec& s, const Doubles& x, const Doubles& w, const Doubles& bias) {
  Doubles y(y_size(s));
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = s.bias ? bias[i % static_cast<std::size_t>(s.out_channels)] : 0;
  }
  each_product(s, [&](int i, int j, int o) {
    y[static_cast<std::size_t>(o)] +=
        x[static_cast<std::size_t>(i)] * w[static_cast<std::size_t>(j)];
  });
  return y;
}
Doubles backward_data(const Conv2dSpec& s, const Doubles& dy, const Doubles& w) {
  Doubles dx(x_size(s));
  each_product(s, [&](int i, int j, int o) {
    dx[static_cast<std::size_t>(i)] +=
        dy[static_cast<std::size_t>(o)] * w[static_cast<std::size_t>(j)];
  });
  return dx;
}
Doubles backward_weights(const Conv2dSpec& s, const Doubles& x, const Doubles& dy) {
  Doubles dw(w_size(s));
  each_product(s, [&](int i, int j, int o) {
    dw[static_cast<std::size_t>(j)] +=
        x[static_cast<std::size_t>(i)] * dy[static_cast<std::size_t>(o)];
  });
  return dw;
}
Doubles column_sums(const Conv2dSpec& s, const Doubles& dy) {
  Doubles sums(static_cast<std::size_t>(s.out_channels));
  for (std::size_t i = 0; i < dy.size(); ++i) sums[i % sums.size()] += dy[i];
  return sums;
}
Doubles magnitudes(Doubles values) {
  for (double& value : values) value = std::abs(value);
  return values;
}
Doubles rectified(const Conv2dSpec& s, Doubles y) {
  if (s.activation == Activation::relu) {
    for (double& value : y) value = std::max(value, 0.0);
  }
  return y;
}

/// The bound of a sum of `terms` products in any order, terms * u * sum |a b| (N. Higham, Accuracy
/// and Stability of Numerical Algorithms, 2002, section 3.1), and one rounding of the result.
Doubles bounds(const Doubles& magnitude, double terms, DType result) {
  Doubles bound(magnitude.size());
  for (std::size_t i = 0; i < bound.size(); ++i) {
    bound[i] = magnitude[i] * ((terms + 1) * test::rounding(DType::f32) + test::rounding(result));
  }
  return bound;
}

const std::vector<Conv2dSpec>& conv_table() {
  const Activation relu = Activation::relu, none = Activation::none;
  static const std::vector<Conv2dSpec> specs = {
      {.batch = 2, .in_height = 8, .in_width = 8, .in_channels = 3, .out_channels = 32},
      {.batch = 3,
       .in_height = 7,
       .in_width = 5,
       .in_channels = 3,
       .out_channels = 5,
       .activation = relu},
      {.batch = 1, .in_height = 1, .in_width = 1, .in_channels = 16, .out_channels = 16},
      {.batch = 1,
       .in_height = 1,
       .in_width = 1,
       .in_channels = 1,
       .out_channels = 1,
       .kernel = 1,
       .padding = 0,
       .bias = false},
      {.batch = 2,
       .in_height = 8,
       .in_width = 8,
       .in_channels = 32,
       .out_channels = 64,
       .activation = relu},
      {.batch = 2,
       .in_height = 4,
       .in_width = 4,
       .in_channels = 64,
       .out_channels = 128,
       .bias = false},
      // Enough tiles for Winograd's algorithm: images that fill their tiles and images that do not,
      // a small last group of tiles, two parts of several groups each, and channels in two blocks
      // with one group and with several.
      {.batch = 4,
       .in_height = 8,
       .in_width = 8,
       .in_channels = 32,
       .out_channels = 64,
       .activation = relu},
      {.batch = 5, .in_height = 7, .in_width = 6, .in_channels = 64, .out_channels = 32},
      {.batch = 17,
       .in_height = 4,
       .in_width = 11,
       .in_channels = 96,
       .out_channels = 32,
       .bias = false},
      {.batch = 2, .in_height = 43, .in_width = 38, .in_channels = 32, .out_channels = 96},
      {.batch = 16, .in_height = 4, .in_width = 4, .in_channels = 160, .out_channels = 32},
      {.batch = 9,
       .in_height = 8,
       .in_width = 7,
       .in_channels = 32,
       .out_channels = 160,
       .activation = relu},
      // The same with a stride of 2.
      {.batch = 4,
       .in_height = 16,
       .in_width = 16,
       .in_channels = 32,
       .out_channels = 64,
       .stride = 2,
       .activation = relu},
      {.batch = 5,
       .in_height = 14,
       .in_width = 14,
       .in_channels = 64,
       .out_channels = 32,
       .stride = 2},
      {.batch = 2,
       .in_height = 86,
       .in_width = 46,
       .in_channels = 32,
       .out_channels = 96,
       .stride = 2,
       .bias = false},
      {.batch = 9,
       .in_height = 16,
       .in_width = 14,
       .in_channels = 160,
       .out_channels = 32,
       .stride = 2},
      {.batch = 16,
       .in_height = 8,
       .in_width = 8,
       .in_channels = 32,
       .out_channels = 160,
       .stride = 2,
       .bias = false},
      {.batch = 4,
       .in_height = 15,
       .in_width = 16,
       .in_channels = 32,
       .out_channels = 32,
       .stride = 2},
      {.batch = 2,
       .in_height = 9,
       .in_width = 8,
       .in_channels = 16,
       .out_channels = 32,
       .stride = 2},
      {.batch = 2,
       .in_height = 8,
       .in_width = 8,
       .in_channels = 16,
       .out_channels = 32,
       .kernel = 1,
       .stride = 2,
       .padding = 0,
       .bias = false,
       .activation = none},
      {.batch = 1,
       .in_height = 9,
       .in_width = 9,
       .in_channels = 4,
       .out_channels = 8,
       .kernel = 5,
       .padding = 2},
      {.batch = 2,
       .in_height = 6,
       .in_width = 6,
       .in_channels = 3,
       .out_channels = 16,
       .input_gradient = false},
      {.batch = 1,
       .in_height = 6,
       .in_width = 5,
       .in_channels = 7,
       .out_channels = 9,
       .kernel = 2,
       .stride = 2,
       .padding = 0},
  };
  return specs;
}

class Conv2dTest : public test::OperationTest {
 protected:
  template <class T>
  void check(Conv2dSpec s) {
    s.compute = DTypeOf<T>::value;
    SCOPED_TRACE(s.to_string());
    const auto x = random_values<T>(x_size(s), 1);
    const auto w = random_values<T>(w_size(s), 2);
    const auto bias = random_values<float>(static_cast<std::size_t>(s.out_channels), 3);
    const auto dy = random_values<T>(y_size(s), 4);
    const auto convolution = Conv2d::plan(s, stream());
    const Buffer<std::byte> scratch = buffer<std::byte>(convolution->workspace_bytes());
    const Workspace workspace{scratch.data(), scratch.size()};
    const Buffer<T> device_x = buffer(x), device_w = buffer(w), device_dy = buffer(dy);
    const Buffer<float> device_bias = buffer(bias);
    const Buffer<T> y = buffer<T>(y_size(s)), dx = buffer<T>(x_size(s)), dw = buffer<T>(w_size(s));
    const Buffer<float> dbias = buffer<float>(bias.size());

    const Doubles xd = in_double(x), wd = in_double(w), bd = in_double(bias), dyd = in_double(dy);
    const double taps = s.kernel * s.kernel;
    convolution->forward(stream(), device_x, device_w, s.bias ? device_bias.data() : nullptr, y,
                         workspace);
    expect_within(y.values(), rectified(s, forward(s, xd, wd, bd)),
                  bounds(forward(s, magnitudes(xd), magnitudes(wd), magnitudes(bd)),
                         taps * s.in_channels + 1, s.compute),
                  "y");
    if (s.input_gradient) {
      convolution->backward_data(stream(), device_dy, device_w, dx, workspace);
      expect_within(dx.values(), backward_data(s, dyd, wd),
                    bounds(backward_data(s, magnitudes(dyd), magnitudes(wd)), taps * s.out_channels,
                           s.compute),
                    "dx");
    }
    const double outputs = static_cast<double>(s.batch * s.out_height() * s.out_width());
    convolution->backward_weights(stream(), device_x, device_dy, dw,
                                  s.bias ? dbias.data() : nullptr, workspace);
    expect_within(dw.values(), backward_weights(s, xd, dyd),
                  bounds(backward_weights(s, magnitudes(xd), magnitudes(dyd)), outputs, s.compute),
                  "dw");
    if (s.bias) {
      expect_within(dbias.values(), column_sums(s, dyd),
                    bounds(column_sums(s, magnitudes(dyd)), outputs, DType::f32), "dbias");
    }
  }
};

TEST_P(Conv2dTest, AgreesWithDoublePrecisionF32) {
  for (const Conv2dSpec& spec : conv_table()) check<float>(spec);
}

TEST_P(Conv2dTest, AgreesWithDoublePrecisionBf16) {
  if (!on_gpu()) GTEST_SKIP() << "the CPU back end computes in f32 only";
  for (const Conv2dSpec& spec : conv_table()) check<bf16>(spec);
}

// Compares the oracle's adjoints above with its finite differences.
TEST(Conv2dOracle, HasAdjointsThatAreTheGradients) {
  const Conv2dSpec s{
      .batch = 2, .in_height = 4, .in_width = 3, .in_channels = 2, .out_channels = 3};
  const Doubles x = in_double(random_values<float>(x_size(s), 1));
  const Doubles w = in_double(random_values<float>(w_size(s), 2));
  const Doubles bias = in_double(random_values<float>(3, 3));
  const Doubles dy = in_double(random_values<float>(y_size(s), 4));
  const auto along = [&](const Doubles& a, const Doubles& b, const Doubles& c) {
    return dot(forward(s, a, b, c), dy);
  };
  expect_within(backward_data(s, dy, w),
                test::gradient([&](const Doubles& v) { return along(v, w, bias); }, x), 1e-8, "dx");
  expect_within(backward_weights(s, x, dy),
                test::gradient([&](const Doubles& v) { return along(x, v, bias); }, w), 1e-8, "dw");
  expect_within(column_sums(s, dy),
                test::gradient([&](const Doubles& v) { return along(x, w, v); }, bias), 1e-8,
                "dbias");
}

TEST_P(Conv2dTest, SkipsTheBiasGradientOnRequest) {
  const Conv2dSpec s{
      .batch = 2, .in_height = 4, .in_width = 4, .in_channels = 16, .out_channels = 16};
  const auto convolution = Conv2d::plan(s, stream());
  const Buffer<std::byte> scratch = buffer<std::byte>(convolution->workspace_bytes());
  const Buffer<float> x = buffer(random_values<float>(x_size(s), 1));
  const Buffer<float> dy = buffer(random_values<float>(y_size(s), 2));
  const Buffer<float> with = buffer<float>(w_size(s)), without = buffer<float>(w_size(s));
  const Buffer<float> dbias = buffer<float>(16);
  const Workspace workspace{scratch.data(), scratch.size()};
  convolution->backward_weights(stream(), x, dy, with, dbias, workspace);
  convolution->backward_weights(stream(), x, dy, without, nullptr, workspace);
  EXPECT_EQ(with.values(), without.values());
}

// A repeated step gives equal bits, also after steps with other pointers.
TEST_P(Conv2dTest, RepeatsEveryBit) {
  const Conv2dSpec s{
      .batch = 4, .in_height = 8, .in_width = 8, .in_channels = 32, .out_channels = 64};
  const auto convolution = Conv2d::plan(s, stream());
  const Buffer<std::byte> scratch = buffer<std::byte>(convolution->workspace_bytes());
  const Workspace workspace{scratch.data(), scratch.size()};
  const Buffer<float> x = buffer(random_values<float>(x_size(s), 1));
  const Buffer<float> other = buffer(random_values<float>(x_size(s), 7));
  const Buffer<float> w = buffer(random_values<float>(w_size(s), 2));
  const Buffer<float> bias = buffer(random_values<float>(64, 3));
  const Buffer<float> y = buffer<float>(y_size(s)), dw = buffer<float>(w_size(s));
  const Buffer<float> elsewhere = buffer<float>(y_size(s));
  convolution->forward(stream(), x, w, bias, y, workspace);
  convolution->backward_weights(stream(), x, y, dw, nullptr, workspace);
  const auto first_y = y.values(), first_dw = dw.values();
  convolution->forward(stream(), other, w, bias, elsewhere, workspace);
  convolution->forward(stream(), x, w, bias, y, workspace);
  convolution->backward_weights(stream(), x, y, dw, nullptr, workspace);
  EXPECT_EQ(y.values(), first_y);
  EXPECT_EQ(dw.values(), first_dw);
}

WS_ON_EVERY_BACKEND(Conv2dTest);

// Without AVX-512 threads never share a convolution: oneDNN splits its sums by thread count.
TEST(Conv2dPlan, GivesEqualWinogradBitsForAnyThreadCount) {
  if (!cpu::winograd_available()) GTEST_SKIP() << "needs AVX-512";
  for (const int stride : {1, 2}) {
    const Conv2dSpec s{.batch = 3,
                       .in_height = 22 * stride,
                       .in_width = 21 * stride,
                       .in_channels = 96,
                       .out_channels = 64,
                       .stride = stride};
    const auto x = random_values<float>(x_size(s), 1), w = random_values<float>(w_size(s), 2),
               bias = random_values<float>(64, 3), dy = random_values<float>(y_size(s), 4);
    std::vector<std::vector<float>> seen;
    for (const int threads : {1, 3}) {
      Stream stream(Device::cpu(), threads);
      const auto convolution = Conv2d::plan(s, stream);
      const Buffer<std::byte> scratch(stream, convolution->workspace_bytes());
      const Workspace workspace{scratch.data(), scratch.size()};
      const Buffer<float> in(stream, x), weights(stream, w), from(stream, bias),
          arriving(stream, dy);
      const Buffer<float> y(stream, y_size(s)), dx(stream, x_size(s)), dw(stream, w_size(s)),
          dbias(stream, 64);
      convolution->forward(stream, in, weights, from, y, workspace);
      convolution->backward_data(stream, arriving, weights, dx, workspace);
      convolution->backward_weights(stream, in, arriving, dw, dbias, workspace);
      for (const Buffer<float>* result : {&y, &dx, &dw, &dbias}) seen.push_back(result->values());
    }
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(seen[i], seen[i + 4]) << i;
  }
}

TEST(Conv2dPlan, SharesConvolutionsWithMoreWeightsThanPixels) {
  Conv2dSpec s{.batch = 32, .in_height = 4, .in_width = 4, .in_channels = 512, .out_channels = 512};
  const bool can = cpu::winograd_available();
  EXPECT_EQ(Conv2d::better_shared(s, 2), can);
  EXPECT_EQ(Conv2d::better_shared(s, 16), can);
  EXPECT_FALSE(Conv2d::better_shared(s, 17)) << "fewer panels than shards";
  s.in_height = s.in_width = 32;
  EXPECT_FALSE(Conv2d::better_shared(s, 2)) << "more pixels than weights";
  s.in_height = s.in_width = 8;
  s.stride = 2;
  EXPECT_EQ(Conv2d::better_shared(s, 2), can);
  s.in_width = 7;
  EXPECT_FALSE(Conv2d::better_shared(s, 2)) << "Winograd's algorithm does not apply";
  s.stride = 0;
  EXPECT_THROW(Conv2d::better_shared(s, 2), Error);
}

std::string refusal(const Conv2dSpec& spec, ErrorKind kind) {
  const Stream stream(Device::cpu(), 1);
  try {
    Conv2d::plan(spec, stream);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "accepted";
}

TEST(Conv2dPlan, RefusesImpossibleShapes) {
  EXPECT_NE(refusal({.batch = 0}, ErrorKind::config).find("batch must be at least 1"),
            std::string::npos);
  EXPECT_NE(refusal({.kernel = 5}, ErrorKind::config).find("larger than the padded input"),
            std::string::npos);
  EXPECT_NE(refusal({.padding = 3}, ErrorKind::config).find("padding must be in [0, kernel)"),
            std::string::npos);
  EXPECT_NE(refusal({.in_channels = 0}, ErrorKind::config).find("at least one channel"),
            std::string::npos);
}

TEST(Conv2dPlan, RefusesBf16OnTheCpu) {
  const std::string message = refusal({.compute = DType::bf16}, ErrorKind::device);
  EXPECT_NE(message.find("f32 only"), std::string::npos) << message;
}

}  // namespace
}  // namespace wellspring::ops
