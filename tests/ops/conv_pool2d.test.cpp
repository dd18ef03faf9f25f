#include "kernels/ops/ops.h"
#include "tests/ops/operation_test.h"

#include <gtest/gtest.h>

#include <vector>

namespace wellspring::ops::test {
namespace {

constexpr Activation relu = Activation::relu;

/// Compares the pooled convolution with a convolution followed by pooling, which are tested
/// separately. Both sum the same products, but in different orders.
class ConvPool2dTest : public test::OperationTest {
 protected:
  template <class T>
  void check(Conv2dSpec s) {
    s.compute = DTypeOf<T>::value;
    SCOPED_TRACE(s.to_string());
    const auto n = static_cast<std::size_t>(s.batch), k = static_cast<std::size_t>(s.out_channels),
               c = static_cast<std::size_t>(s.in_channels);
    const std::size_t in = n * static_cast<std::size_t>(s.in_height * s.in_width) * c;
    const std::size_t image = n * static_cast<std::size_t>(s.out_height() * s.out_width()) * k;
    const std::size_t out = n * static_cast<std::size_t>(s.out_height() / 2) *
                            static_cast<std::size_t>(s.out_width() / 2) * k;
    const std::size_t weights = k * static_cast<std::size_t>(s.kernel * s.kernel) * c;
    const Buffer<T> x = buffer(random_values<T>(in, 1)), w = buffer(random_values<T>(weights, 2)),
                    dy = buffer(random_values<T>(out, 4));
    const Buffer<float> bias = buffer(random_values<float>(k, 3));
    const float* bias_or_none = s.bias ? bias.data() : nullptr;

    const auto together = ConvPool2d::plan(s, stream());
    const Buffer<std::byte> scratch = buffer<std::byte>(together->workspace_bytes());
    const Workspace workspace{scratch.data(), scratch.size()};
    const Buffer<T> y = buffer<T>(out), dx = buffer<T>(in), dw = buffer<T>(weights);
    const Buffer<float> dbias = buffer<float>(k);
    const Buffer<std::uint8_t> winner = buffer<std::uint8_t>(out);
    together->forward(stream(), x, w, bias_or_none, y, winner, workspace);

    Conv2dSpec plain = s;
    plain.activation = Activation::none;
    const auto convolution = Conv2d::plan(plain, stream());
    const Buffer<std::byte> other = buffer<std::byte>(convolution->workspace_bytes());
    const Workspace space{other.data(), other.size()};
    PoolSpec pool;
    pool.batch = s.batch;
    pool.height = s.out_height();
    pool.width = s.out_width();
    pool.channels = s.out_channels;
    pool.activation = s.activation;
    pool.compute = s.compute;
    const Buffer<T> full = buffer<T>(image), y2 = buffer<T>(out), dx2 = buffer<T>(in),
                    dw2 = buffer<T>(weights);
    const Buffer<float> dbias2 = buffer<float>(k);
    const Buffer<std::uint8_t> winner2 = buffer<std::uint8_t>(out);
    convolution->forward(stream(), x, w, bias_or_none, full, space);
    max_pool_forward(stream(), pool, full, y2, winner2);
    // The products have magnitudes up to 1 and random signs. Their sum is far below their number,
    // so one rounding of 1 per product is a generous bound.
    const double u = test::rounding(DType::f32);
    const double taps = static_cast<double>(s.kernel * s.kernel);
    const auto bound = [&](double terms) { return terms * u + 4 * test::rounding(s.compute); };
    expect_within(y.values(), in_double(y2.values()), bound(taps * s.in_channels + 1), "y");

    // Both backward passes use the same winners, so a tie within rounding is not an error.
    together->backward(stream(), x, w, dy, winner, s.input_gradient ? dx.data() : nullptr, dw,
                       s.bias ? dbias.data() : nullptr, workspace);
    max_pool_backward(stream(), pool, dy, winner, full);
    convolution->backward_weights(stream(), x, full, dw2, s.bias ? dbias2.data() : nullptr, space);
    const double windows = static_cast<double>(out) / static_cast<double>(k);
    expect_within(dw.values(), in_double(dw2.values()), bound(windows), "dw");
    if (s.bias) expect_within(dbias.values(), in_double(dbias2.values()), bound(windows), "dbias");
    if (!s.input_gradient) return;
    convolution->backward_data(stream(), full, w, dx2, space);
    expect_within(dx.values(), in_double(dx2.values()), bound(taps * s.out_channels), "dx");
  }

  const std::vector<Conv2dSpec> table_ = {
      images(3, 8, 8, 3, 32, {.activation = relu, .input_gradient = false}),
      images(3, 8, 6, 32, 64, {.activation = relu}),
      images(5, 4, 4, 64, 128, {.activation = relu}),
      images(2, 7, 9, 16, 16),
      images(2, 6, 6, 48, 32, {.bias = false}),
      images(1, 2, 2, 16, 16),
      images(2, 5, 4, 1, 16, {.activation = relu, .input_gradient = false}),
      images(2, 6, 7, 5, 7, {.activation = relu}),
      images(2, 9, 9, 16, 16, {.kernel = 5, .stride = 2, .padding = 2}),
  };
};

TEST_P(ConvPool2dTest, EqualsConvolutionThenPoolingF32) {
  for (const Conv2dSpec& spec : table_) check<float>(spec);
}

TEST_P(ConvPool2dTest, EqualsConvolutionThenPoolingBf16) {
  for (const Conv2dSpec& spec : table_) check<bf16>(spec);
}

WS_ON_EVERY_BACKEND(ConvPool2dTest);

}  // namespace
}  // namespace wellspring::ops::test
