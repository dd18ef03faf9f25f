#include "kernels/ops/upsample.h"

#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace wellspring::ops::test {
namespace {

const std::vector<PoolSpec>& upsample_table() {
  static const std::vector<PoolSpec> specs = {
      {.batch = 1, .height = 1, .width = 1, .channels = 1},
      {.batch = 3, .height = 7, .width = 5, .channels = 3},
      {.batch = 2, .height = 8, .width = 8, .channels = 32},
      {.batch = 2, .height = 3, .width = 4, .channels = 17},
      {.batch = 2, .height = 5, .width = 1, .channels = 8},
  };
  return specs;
}

std::size_t small_size(const PoolSpec& s) {
  return static_cast<std::size_t>(s.batch * s.height * s.width * s.channels);
}

/// The pixel of x that element i of y copies.
std::size_t source_of(const PoolSpec& s, std::size_t i) {
  const auto channels = static_cast<std::size_t>(s.channels),
             width = static_cast<std::size_t>(s.width), height = static_cast<std::size_t>(s.height);
  const std::size_t channel = i % channels, column = i / channels % (2 * width),
                    row = i / channels / (2 * width) % (2 * height),
                    sample = i / channels / (2 * width) / (2 * height);
  return ((sample * height + row / 2) * width + column / 2) * channels + channel;
}

class UpsampleTest : public test::OperationTest {
 protected:
  template <class T>
  void check(PoolSpec s) {
    s.compute = DTypeOf<T>::value;
    SCOPED_TRACE(std::to_string(s.height) + "x" + std::to_string(s.width) + "x" +
                 std::to_string(s.channels));
    const std::size_t large = 4 * small_size(s);
    const auto x = random_values<T>(small_size(s), 1), dy = random_values<T>(large, 2);
    const Buffer<T> device_x = buffer(x), device_dy = buffer(dy), y = buffer<T>(large),
                    dx = buffer<T>(small_size(s));
    upsample_forward(stream(), s, device_x, y);
    upsample_backward(stream(), s, device_dy, dx);

    const Doubles xd = in_double(x), dyd = in_double(dy);
    Doubles expected_y(large), expected_dx(small_size(s));
    for (std::size_t i = 0; i < large; ++i) {
      expected_y[i] = xd[source_of(s, i)];
      expected_dx[source_of(s, i)] += dyd[i];
    }
    expect_within(y.values(), expected_y, 0, "y");
    // Three rounding errors of sums below 4 in f32, then one to T.
    expect_within(dx.values(), expected_dx,
                  4 * (3 * test::rounding(DType::f32) +
                       (s.compute == DType::bf16 ? test::rounding(DType::bf16) : 0)),
                  "dx");
  }
};

TEST_P(UpsampleTest, MatchesDoublePrecision) {
  for (const PoolSpec& spec : upsample_table()) {
    check<float>(spec);
    check<bf16>(spec);
  }
}

// In bf16, 256 + 1 + 1 + 1 is 256 if every sum is rounded; their sum in f32 rounds to 260.
TEST_P(UpsampleTest, AddsGradientsInF32) {
  const PoolSpec s = {.height = 1, .width = 1, .channels = 1, .compute = DType::bf16};
  const Buffer<bf16> dy =
      buffer(std::vector<bf16>{bf16(256.0f), bf16(1.0f), bf16(1.0f), bf16(1.0f)});
  const Buffer<bf16> dx = buffer<bf16>(1);
  upsample_backward(stream(), s, dy, dx);
  EXPECT_EQ(static_cast<float>(dx.values()[0]), 260);
}

TEST_P(UpsampleTest, GradientMatchesFiniteDifferences) {
  const PoolSpec s = {.batch = 2, .height = 3, .width = 2, .channels = 3};
  const auto x = random_values<float>(small_size(s), 3), dy = random_values<float>(4 * 36, 4);
  const Buffer<float> device_dy = buffer(dy), dx = buffer<float>(small_size(s));
  upsample_backward(stream(), s, device_dy, dx);
  const auto objective = [&](const Doubles& v) {
    double sum = 0;
    for (std::size_t i = 0; i < dy.size(); ++i)
      sum += static_cast<double>(dy[i]) * v[source_of(s, i)];
    return sum;
  };
  // Three rounding errors of sums below 4, and the error of the finite differences.
  expect_within(dx.values(), test::gradient(objective, in_double(x)),
                4 * 3 * test::rounding(DType::f32) + 1e-8, "dx");
}

WS_ON_EVERY_BACKEND(UpsampleTest);

TEST(UpsampleTeams, GiveEqualBitsForAnySize) {
  using wellspring::test::bytes_of;
  using wellspring::test::expect_equal_for_all_team_sizes;
  for (const PoolSpec& s : upsample_table()) {
    SCOPED_TRACE(std::to_string(s.channels) + " channels");
    const auto x = random_values<float>(small_size(s), 1);
    std::vector<float> y(4 * x.size()), dx(x.size());
    const ImageRows in = ImageRows::of(s.batch, s.height, s.width, s.channels);
    expect_equal_for_all_team_sizes(UpsampleForward<float>{x.data(), y.data(), in}, in.teams(),
                                    {kChunkTeam}, {bytes_of(y)});
    expect_equal_for_all_team_sizes(UpsampleBackward<float>{y.data(), dx.data(), in}, in.teams(),
                                    {kChunkTeam}, {bytes_of(dx)});
  }
}

}  // namespace
}  // namespace wellspring::ops::test
