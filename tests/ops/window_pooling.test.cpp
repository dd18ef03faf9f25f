#include "kernels/ops/window_pooling.h"

#include "core/error.h"
#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace wellspring::ops::test {
namespace {

PoolSpec windows(int window, int stride, int padding) {
  PoolSpec spec = {.height = 3, .width = 3, .window = window, .stride = stride, .padding = padding};
  return spec;
}

class WindowPoolingTest : public test::OperationTest {};

// Computed by hand: windows of 3x3 with stride 2 and padding 1 over a 3x3 image cover its four
// corners of 2x2 pixels, and all contain the centre. Among equal values, the first wins.
TEST_P(WindowPoolingTest, SumsTheGradientsOfAWinnersWindows) {
  const PoolSpec spec = windows(3, 2, 1);
  const Buffer<float> x = buffer(std::vector<float>{1, 2, 2, 4, 3, 2, -1, -2, -3}),
                      y = buffer<float>(4), dx = buffer<float>(9),
                      dy = buffer(std::vector<float>{1, 10, 100, 1000});
  const Buffer<std::uint8_t> winner = buffer<std::uint8_t>(4);
  max_pool_forward(stream(), spec, x, y, winner);
  EXPECT_EQ(y.values(), (std::vector<float>{4, 3, 4, 3}));
  EXPECT_EQ(winner.values(), (std::vector<std::uint8_t>{7, 6, 1, 0}));
  max_pool_backward(stream(), spec, dy, winner, dx);
  EXPECT_EQ(dx.values(), (std::vector<float>{0, 0, 0, 101, 1010, 0, 0, 0, 0}));
}

TEST_P(WindowPoolingTest, SelectsNaNsAsWinners) {
  const float nan = std::nanf("");
  const Buffer<float> x = buffer(std::vector<float>{1, 2, 3, 4, 5, 6, 7, nan, 9}),
                      y = buffer<float>(4);
  const Buffer<std::uint8_t> winner = buffer<std::uint8_t>(4);
  max_pool_forward(stream(), windows(3, 2, 1), x, y, winner);
  EXPECT_EQ(y.values()[0], 5);
  EXPECT_TRUE(std::isnan(y.values()[2]) && std::isnan(y.values()[3]));
}

TEST_P(WindowPoolingTest, RefusesImpossibleWindows) {
  for (const PoolSpec& spec :
       {windows(4, 1, 0), windows(3, 0, 1), windows(3, 2, 2), windows(16, 1, 8)})
    EXPECT_THROW(max_pool_forward(stream(), spec, nullptr, nullptr, nullptr), Error);
}

WS_ON_EVERY_BACKEND(WindowPoolingTest);

TEST(WindowPoolingTeams, GiveEqualBitsForAnySize) {
  using wellspring::test::bytes_of;
  using wellspring::test::expect_equal_for_all_team_sizes;
  for (const int c : {3, 8, 24}) {
    SCOPED_TRACE(std::to_string(c) + " channels");
    const WindowGeometry in{7, 5, c, 4, 3, 3, 2, 1};
    const auto channels = static_cast<std::size_t>(c);
    const auto x = random_values<float>(2 * 7 * 5 * channels, 1),
               dy = random_values<float>(2 * 4 * 3 * channels, 2);
    std::vector<float> y(dy.size()), dx(x.size());
    std::vector<std::uint8_t> winner(dy.size());
    const ImageRows out = ImageRows::of(2, 4, 3, c), rows = ImageRows::of(2, 7, 5, c);
    expect_equal_for_all_team_sizes(
        MaxWindowForward<float>{x.data(), y.data(), winner.data(), out, in, Activation::relu},
        out.teams(), {kChunkTeam}, {bytes_of(y), bytes_of(winner)});
    expect_equal_for_all_team_sizes(
        MaxWindowBackward<float>{dy.data(), winner.data(), dx.data(), rows, in}, rows.teams(),
        {kChunkTeam}, {bytes_of(dx)});
  }
}

}  // namespace
}  // namespace wellspring::ops::test
