#include "kernels/ops/elementwise.h"

#include "kernels/ops/ops.h"
#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <vector>

namespace wellspring::ops::test {
namespace {

/// Sizes: one element, part of a chunk, one chunk, and two chunks plus one element.
constexpr std::size_t kSizes[] = {1, 77, kChunk, 2 * kChunk + 1};

class ElementwiseTest : public test::OperationTest {
 protected:
  template <class T>
  void check(std::size_t n) {
    const DType dtype = DTypeOf<T>::value;
    auto x = random_values<T>(n, 1);
    const auto y = random_values<T>(n, 2);
    x[0] = T(0.0f);  // ReLU's gradient at zero must be zero
    const Buffer<T> device_x = buffer(x), device_y = buffer(y), sum = buffer<T>(n),
                    masked = buffer<T>(n);
    const auto count = static_cast<std::int64_t>(n);
    add(stream(), dtype, count, device_x, device_y, sum);
    relu_backward(stream(), dtype, count, device_x, device_y, masked);
    const auto xd = in_double(x), yd = in_double(y);
    std::vector<double> expected_sum(n), expected_masked(n);
    for (std::size_t i = 0; i < n; ++i) {
      expected_sum[i] = xd[i] + yd[i];
      expected_masked[i] = xd[i] > 0 ? yd[i] : 0;
    }
    // Sums up to 2 are rounded once to f32 and once to T.
    expect_within(sum.values(), expected_sum,
                  2 * (test::rounding(DType::f32) + test::rounding(dtype)), "sum");
    expect_within(masked.values(), expected_masked, 0, "masked");

    add(stream(), dtype, count, device_x, device_y, device_x);  // in place
    EXPECT_EQ(in_double(device_x.values()), in_double(sum.values()));
  }
};

TEST_P(ElementwiseTest, AddsAndDifferentiatesRelu) {
  for (const std::size_t n : kSizes) {
    check<float>(n);
    check<bf16>(n);
  }
}

TEST_P(ElementwiseTest, DifferentiatesReluInPlace) {
  const Buffer<float> y = buffer(std::vector<float>{1, 0, -1, 2});
  const Buffer<float> dy = buffer(std::vector<float>{5, 6, 7, -8});
  relu_backward(stream(), DType::f32, 4, y, dy, dy);
  EXPECT_EQ(dy.values(), (std::vector<float>{5, 0, 0, -8}));
}

TEST_P(ElementwiseTest, ConvertsByRoundingToNearest) {
  for (const std::size_t n : kSizes) {
    const auto x = random_values<float>(n, 3);
    const Buffer<float> from = buffer(x), back = buffer<float>(n);
    const Buffer<bf16> narrow = buffer<bf16>(n);
    const auto count = static_cast<std::int64_t>(n);
    convert(stream(), count, DType::f32, from, DType::bf16, narrow);
    convert(stream(), count, DType::bf16, narrow, DType::f32, back);
    const auto values = back.values();
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(values[i], static_cast<float>(bf16(x[i])));
  }
}

WS_ON_EVERY_BACKEND(ElementwiseTest);

TEST(ElementwiseTeams, GiveEqualBitsForAnySize) {
  constexpr std::int64_t kSize = kChunk + 5;
  const auto x = random_values<float>(kSize, 1), y = random_values<float>(kSize, 2);
  std::vector<float> z(kSize);
  using wellspring::test::bytes_of;
  wellspring::test::expect_equal_for_all_team_sizes(Add<float>{x.data(), y.data(), z.data(), kSize},
                                                    chunks(kSize), {kChunkTeam}, {bytes_of(z)});
  wellspring::test::expect_equal_for_all_team_sizes(
      ReluBackward<float>{x.data(), y.data(), z.data(), kSize}, chunks(kSize), {kChunkTeam},
      {bytes_of(z)});
}

}  // namespace
}  // namespace wellspring::ops::test
