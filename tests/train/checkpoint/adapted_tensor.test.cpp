#include "train/checkpoint/adapted_tensor.h"

#include "tests/support/torch_formula.h"
#include "tests/train/checkpoint/adapted_tensor_reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>

namespace wellspring::test {
namespace {

std::vector<float> values_of(const char* name, std::size_t count) {
  const std::vector<double> values = formula(name, count);
  return {values.begin(), values.end()};
}

void expect_close(const std::vector<float>& values, std::span<const float> expected, double bound) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], bound) << i;
}

// PyTorch sums in single precision: at most 15 terms along each axis (7 to 2: a support of 4 * 3.5
// inputs). Absolute weights sum to less than 1.5, so: 2 axes * 17 roundings * 1.5^2 * 2^-24.
TEST(AdaptedTensor, ResizesPositionsAsTimmDoes) {
  constexpr double kBound = 2 * 17 * 1.5 * 1.5 * 0x1p-24;
  for (const AdaptedTensor& timm : resized_by_timm()) {
    const auto cells = static_cast<std::size_t>(timm.from * timm.from);
    const std::vector<float> stored = values_of("pos_embed", 2 * (1 + cells));
    expect_close(resized_positions(std::span(stored).subspan(2), {timm.from, timm.from},
                                   {timm.to, timm.to}, 2),
                 std::span(timm.values).subspan(2), kBound);
  }
}

TEST(AdaptedTensor, ResizesConstantPositionsToTheSame) {
  const std::vector<float> stored(3 * 3, 0.75f);
  expect_close(resized_positions(stored, {3, 3}, {5, 5}, 1), std::vector<float>(5 * 5, 0.75f),
               0x1p-23);
}

// Rows and columns are resized separately, so a grid that varies along only one axis still varies
// along only that axis.
TEST(AdaptedTensor, ResizesGridsThatAreNotSquare) {
  std::vector<float> across, down;
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 6; ++x) {
      across.push_back(values_of("pos_embed", 6)[static_cast<std::size_t>(x)]);
      down.push_back(values_of("pos_embed", 4)[static_cast<std::size_t>(y)]);
    }
  const auto wide = resized_positions(across, {4, 6}, {2, 9}, 1);
  ASSERT_EQ(wide.size(), 18u);
  for (std::size_t x = 0; x < 9; ++x) EXPECT_NEAR(wide[x], wide[9 + x], 0x1p-22);
  EXPECT_GT(std::abs(wide[0] - wide[4]), 0.01f);
  const auto tall = resized_positions(down, {4, 6}, {8, 3}, 1);
  ASSERT_EQ(tall.size(), 24u);
  for (std::size_t y = 0; y < 8; ++y) EXPECT_NEAR(tall[3 * y], tall[3 * y + 2], 0x1p-22);
}

// The sum of three values below 1 has two rounding errors; a product has one.
TEST(AdaptedTensor, ChangesInputChannelsAsTimmDoes) {
  for (const AdaptedTensor& timm : channels_by_timm())
    expect_close(with_input_channels(values_of("conv", 2 * 3 * 4), 2, timm.from, timm.to),
                 timm.values, 4 * 0x1p-24);
}

// A grey image, repeated in all channels, gives the same response.
TEST(AdaptedTensor, SpreadsOneChannelOverSeveral) {
  const std::vector<float> gray = {3, 6};
  EXPECT_EQ(with_input_channels(gray, 1, 1, 3), (std::vector<float>{1, 2, 1, 2, 1, 2}));
}

}  // namespace
}  // namespace wellspring::test
