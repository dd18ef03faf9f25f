#include "core/error.h"
#include "kernels/ops/conv_tuning.h"
#include "kernels/ops/cpu/vector_kernels.h"
#include "kernels/ops/direct_conv.h"
#include "kernels/ops/ops.h"
#include "tests/ops/operation_test.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wellspring::ops::test {
namespace {

std::size_t x_size(const Conv2dSpec& s) {
  return static_cast<std::size_t>(s.batch * s.in_height * s.in_width * s.in_channels);
}
std::size_t y_size(const Conv2dSpec& s) {
  return static_cast<std::size_t>(s.batch * s.out_height() * s.out_width() * s.out_channels);
}
std::size_t w_size(const Conv2dSpec& s) {
  return static_cast<std::size_t>(s.out_channels * s.kernel * s.kernel * s.in_channels);
}

/// Calls visit(x, w, y) for each tap of each output: there, the value y gets in_channels products of the values
/// starting at indices x and w.
template <class Visit>
void each_tap(const Conv2dSpec& s, Visit visit) {
  for (int n = 0; n < s.batch; ++n)
    for (int p = 0; p < s.out_height(); ++p)
      for (int q = 0; q < s.out_width(); ++q)
        for (int r = 0; r < s.kernel; ++r)
          for (int t = 0; t < s.kernel; ++t) {
            const int h = p * s.stride + r - s.padding, w = q * s.stride + t - s.padding;
            if (h < 0 || h >= s.in_height || w < 0 || w >= s.in_width) continue;
            for (int k = 0; k < s.out_channels; ++k)
              visit(((n * s.in_height + h) * s.in_width + w) * s.in_channels,
                    ((k * s.kernel + r) * s.kernel + t) * s.in_channels,
                    ((n * s.out_height() + p) * s.out_width() + q) * s.out_channels + k);
          }
}

/// The convolution and its adjoints in double precision. Given the inputs' magnitudes, they return
/// the scale of the rounding errors. Pointers keep these loops fast with sanitizers.
Doubles forward(const Conv2dSpec& s, const Doubles& x, const Doubles& w, const Doubles& bias) {
  Doubles y(y_size(s));
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = s.bias ? bias[i % static_cast<std::size_t>(s.out_channels)] : 0;
  }
  each_tap(s, [&, own_x = x.data(), own_w = w.data(), own_y = y.data()](int i, int j, int o) {
    for (int c = 0; c < s.in_channels; ++c) own_y[o] += own_x[i + c] * own_w[j + c];
  });
  return y;
}
Doubles backward_data(const Conv2dSpec& s, const Doubles& dy, const Doubles& w) {
  Doubles dx(x_size(s));
  each_tap(s, [&, own_dx = dx.data(), own_w = w.data(), own_dy = dy.data()](int i, int j, int o) {
    for (int c = 0; c < s.in_channels; ++c) own_dx[i + c] += own_dy[o] * own_w[j + c];
  });
  return dx;
}
Doubles backward_weights(const Conv2dSpec& s, const Doubles& x, const Doubles& dy) {
  Doubles dw(w_size(s));
  each_tap(s, [&, own_x = x.data(), own_dw = dw.data(), own_dy = dy.data()](int i, int j, int o) {
    for (int c = 0; c < s.in_channels; ++c) own_dw[j + c] += own_x[i + c] * own_dy[o];
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

/// The error bound for a sum of `terms` products in any order, terms * u * sum |a b| (N. Higham,
/// Accuracy and Stability of Numerical Algorithms, 2002, section 3.1), plus one rounding of the
/// result.
Doubles bounds(const Doubles& magnitude, double terms, DType result) {
  Doubles bound(magnitude.size());
  for (std::size_t i = 0; i < bound.size(); ++i) {
    bound[i] = magnitude[i] * ((terms + 1) * test::rounding(DType::f32) + test::rounding(result));
  }
  return bound;
}

const std::vector<Conv2dSpec>& conv_table() {
  constexpr Activation relu = Activation::relu;
  static const std::vector<Conv2dSpec> specs = {
      images(2, 8, 8, 3, 32),
      images(3, 7, 5, 3, 5, {.activation = relu}),
      images(1, 1, 1, 16, 16),
      images(1, 1, 1, 1, 1, {.kernel = 1, .padding = 0, .bias = false}),
      images(2, 8, 8, 32, 64, {.activation = relu}),
      images(2, 4, 4, 64, 128, {.bias = false}),
      // These cases have enough tiles for Winograd's algorithm. They cover images that do and do
      // not fill their tiles, a small last group of tiles, two parts with several groups each, and
      // two blocks of channels with one and with several groups.
      images(4, 8, 8, 32, 64, {.activation = relu}),
      images(5, 7, 6, 64, 32),
      images(17, 4, 11, 96, 32, {.bias = false}),
      images(2, 43, 38, 32, 96),
      images(16, 4, 4, 160, 32),
      images(9, 8, 7, 32, 160, {.activation = relu}),
      // The same cases with a stride of 2.
      images(4, 16, 16, 32, 64, {.stride = 2, .activation = relu}),
      images(5, 14, 14, 64, 32, {.stride = 2}),
      images(2, 86, 46, 32, 96, {.stride = 2, .bias = false}),
      images(9, 16, 14, 160, 32, {.stride = 2}),
      images(16, 8, 8, 32, 160, {.stride = 2, .bias = false}),
      images(4, 15, 16, 32, 32, {.stride = 2}),
      images(2, 9, 8, 16, 32, {.stride = 2}),
      images(2, 8, 8, 16, 32, {.kernel = 1, .stride = 2, .padding = 0, .bias = false}),
      images(1, 9, 9, 4, 8, {.kernel = 5, .padding = 2}),
      // First layers, which a GPU computes directly if possible (direct_conv_applies).
      images(2, 6, 6, 3, 16, {.input_gradient = false}),
      images(3, 7, 5, 3, 8, {.activation = relu, .input_gradient = false}),
      images(2, 9, 8, 1, 64, {.input_gradient = false}),
      images(2, 9, 8, 3, 16, {.stride = 2, .input_gradient = false}),
      images(2, 5, 9, 4, 24, {.padding = 0, .bias = false, .input_gradient = false}),
      images(1, 3, 70, 3, 32, {.padding = 2, .input_gradient = false}),
      images(1, 600, 3, 3, 8, {.input_gradient = false}),   // several tiles per team
      images(1, 2, 700, 3, 24, {.input_gradient = false}),  // a tile of one row
      images(5, 2, 1, 2, 8, {.input_gradient = false}),
      images(2, 6, 6, 3, 72, {.input_gradient = false}),
      images(2, 6, 6, 3, 12, {.input_gradient = false}),
      images(1, 6, 5, 7, 9, {.kernel = 2, .stride = 2, .padding = 0}),
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

  template <class T>
  void check_table() {
    for (const Conv2dSpec& s : conv_table()) {
#ifdef WELLSPRING_SANITIZED
      // Large cases are slow, and only Winograd's algorithm needs them.
      const bool winograd = !on_gpu() && cpu::vector_kernels() != nullptr;
      if (!winograd && y_size(s) * w_size(s) / static_cast<std::size_t>(s.out_channels) > 5'000'000)
        continue;
#endif
      check<T>(s);
    }
  }
};

TEST_P(Conv2dTest, AgreesWithDoublePrecisionF32) {
  check_table<float>();
}

TEST_P(Conv2dTest, AgreesWithDoublePrecisionBf16) {
  check_table<bf16>();
}

#if WELLSPRING_CUDA && !WELLSPRING_CUDA_STAND_IN
// Reduced precision or a plan that is wrong for a shape would show here.
TEST_P(Conv2dTest, FastestPlansAgreeWithDoublePrecision) {
  if (!on_gpu()) GTEST_SKIP() << "only cuDNN has several plans";
  std::string latest;
  stream().library<ConvTuning>()->choice = [&latest](const std::string&, const auto& time_plans) {
    return latest = time_plans();
  };
  // Timing plans takes seconds per shape.
  for (const Conv2dSpec& spec : {images(4, 8, 8, 32, 64, {.activation = Activation::relu}),
                                 images(2, 9, 8, 16, 32, {.stride = 2})}) {
    SCOPED_TRACE("latest plan: " + latest);
    check<float>(spec);
    check<bf16>(spec);
  }
}

// The answer may come from a machine with a different version of cuDNN.
TEST_P(Conv2dTest, TimesPlansAgainIfTheAnswerIsUnknown) {
  if (!on_gpu()) GTEST_SKIP() << "only cuDNN has several plans";
  int asked = 0, timed = 0;
  stream().library<ConvTuning>()->choice = [&](const std::string&, const auto& time_plans) {
    ++asked;
    if (time_plans().starts_with("eng")) ++timed;
    return std::string("engine of another version");
  };
  check<bf16>(images(2, 8, 8, 16, 16));
  EXPECT_EQ(timed, asked);
}
#endif

// Compares the reference's adjoints above with its finite differences.
TEST(Conv2dOracle, AdjointsAreTheGradients) {
  const Conv2dSpec s = images(2, 4, 3, 2, 3);
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
  const Conv2dSpec s = images(2, 4, 4, 16, 16);
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

// A repeated step must give the same bits, even after steps with different pointers.
TEST_P(Conv2dTest, RepeatsEveryBit) {
  const Conv2dSpec s = images(4, 8, 8, 32, 64);
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

// Without AVX2, oneDNN splits sums by thread count, so threads never share a convolution.
TEST(Conv2dPlan, GivesEqualWinogradBitsForAnyThreadCount) {
  if (cpu::vector_kernels() == nullptr) GTEST_SKIP() << "needs AVX2";
  for (const int stride : {1, 2}) {
    const Conv2dSpec s = images(3, 22 * stride, 21 * stride, 96, 64, {.stride = stride});
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
  Conv2dSpec s = images(32, 4, 4, 512, 512);
  const bool can = cpu::vector_kernels() != nullptr;
  EXPECT_EQ(Conv2d::better_shared(s, 2), can);
  EXPECT_EQ(Conv2d::better_shared(s, 16), can);
  EXPECT_FALSE(Conv2d::better_shared(s, 17)) << "there are fewer panels than shards";
  s.in_height = s.in_width = 32;
  EXPECT_FALSE(Conv2d::better_shared(s, 2)) << "there are more pixels than weights";
  s.in_height = s.in_width = 8;
  s.stride = 2;
  EXPECT_EQ(Conv2d::better_shared(s, 2), can);
  s.in_width = 7;
  EXPECT_FALSE(Conv2d::better_shared(s, 2)) << "Winograd's algorithm does not apply";
  s.stride = 0;
  EXPECT_THROW(Conv2d::better_shared(s, 2), Error);
}

TEST(DirectConvTeams, GiveEqualBitsForAnySize) {
  using wellspring::test::bytes_of;
  using wellspring::test::expect_equal_for_all_team_sizes;
  for (const int channels : {1, 3}) {
    // The gradient takes its three rows in tiles of two.
    const DirectConvShape shape = {.height = 5,
                                   .width = 9,
                                   .channels = channels,
                                   .out_height = 5,
                                   .out_width = 9,
                                   .outputs = 16,
                                   .padding = 1,
                                   .rows = 3,
                                   .tile_rows = 2};
    DirectConvShape whole = shape;
    whole.tile_rows = shape.rows;
    const auto n = static_cast<std::size_t>(channels);
    const auto x = random_values<float>(2 * 45 * n, 1), w = random_values<float>(16 * 9 * n, 2),
               dy = random_values<float>(2 * 45 * 16, 4);
    const std::vector<Pack> bias(2, Pack{{1, 2, 3, 4, 5, 6, 7, 8}});  // aligned
    std::vector<Pack> y(2 * 45 * 2);
    const std::int64_t tasks = 2 * shape.blocks();
    std::vector<Pack> partials(static_cast<std::size_t>(tasks * shape.taps() * shape.packs()));
    using Forward = DirectConvForward<float>;
    expect_equal_for_all_team_sizes(
        Forward{whole, x.data(), w.data(), bias[0].v, y[0].v, Activation::relu}, tasks,
        {128, Forward::scratch_packs(whole) * sizeof(Pack)}, {bytes_of(y)});
    using Rows = DirectConvWeightRows<float>;
    expect_equal_for_all_team_sizes(Rows{shape, x.data(), dy.data(), partials.data()}, tasks,
                                    {Rows::kMembers, Rows::scratch_packs(shape) * sizeof(Pack)},
                                    {bytes_of(partials)});
  }
}

TEST(Conv2dPlan, RefusesImpossibleConvolutions) {
  const struct {
    Conv2dSpec spec;
    const char* message;
  } cases[] = {{{.batch = 0}, "batch must be at least 1"},
               {{.kernel = 5}, "larger than the padded input"},
               {{.padding = 3}, "padding must be in [0, kernel)"},
               {{.in_channels = 0}, "at least one channel"}};
  const Stream stream(Device::cpu(), 1);
  for (const auto& [spec, message] : cases) {
    const auto plan = [&stream, &spec = spec] { Conv2d::plan(spec, stream); };
    wellspring::test::expect_parts(wellspring::test::message_of(ErrorKind::config, plan),
                                   {message});
  }
}

}  // namespace
}  // namespace wellspring::ops::test
