#include "generators/images/fill_levels.h"

#include "generators/generator.h"
#include "kernels/random/philox.h"
#include "tests/generators/collect.h"
#include "tests/generators/images/mirrored_fill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

constexpr int kChannels = FillLevels::kChannels;

/// Fills and their levels, and the memory for both.
struct Leveled {
  Leveled(std::int32_t count, std::int32_t side, const std::vector<float>& fills)
      : levels(count, side), pixels(fills) {
    pixels.resize(static_cast<std::size_t>(levels.elements()), -1e9f);
    for (int level = 0; level < levels.last(); ++level) {
      const HalveFills halve = {of(level), of(level + 1), side >> level};
      for (std::int64_t i = 0; i < levels.elements(level + 1) / kChannels; ++i) halve(i);
    }
    levels.bind(pixels.data());
  }
  float* of(int level) { return pixels.data() + levels.start(level); }

  FillLevels levels;
  std::vector<float> pixels;
};

/// Independent values with mean 1/2 and standard deviation 1/4.
Leveled noise(int count, int side) {
  const auto maker = make_generator("noise", side, {{"law", "uniform", {}}});
  return {count, side, test::collect(*maker, {5, 0, static_cast<std::uint64_t>(count)}).x};
}

TEST(FillLevels, HalveDownToOnePixel) {
  for (const auto& [side, last] : {std::pair{2, 1}, {3, 1}, {9, 3}, {64, 6}, {1023, 9}}) {
    const FillLevels levels(5, side);
    EXPECT_EQ(levels.last(), last);
    EXPECT_EQ(levels.elements(0), 5 * side * side * kChannels);
    EXPECT_EQ(levels.elements(last), 5 * kChannels) << "the last level must be one pixel";
    EXPECT_EQ(levels.start(1), levels.elements(0));
    EXPECT_LE(3 * levels.elements(), 4 * levels.elements(0)) << "levels may add at most a third";
  }
}

TEST(FillLevels, PreserveAConstantColour) {
  for (const int side : {2, 7, 24, 51}) {
    Leveled fills(1, side, std::vector<float>(static_cast<std::size_t>(3 * side * side), 1));
    EXPECT_TRUE(std::ranges::all_of(fills.pixels, [](float v) { return v == 1; })) << side;
  }
}

TEST(FillLevels, ReadTheFillAtFullResolution) {
  const Leveled fills = noise(2, 9);
  for (const float log_width : {0.f, -0.5f, -math::kInfinity, NAN}) {
    const auto cut = fills.levels.cut(1, log_width);
    EXPECT_EQ(cut.fine, fills.pixels.data() + 9 * 9 * kChannels) << log_width;
    EXPECT_EQ(cut.fine_ratio, 1) << log_width;
    EXPECT_EQ(cut.share, 0) << log_width;
  }
}

TEST(FillLevels, SelectTwoNeighbouringLevels) {
  const Leveled fills = noise(2, 9);
  const auto level_of = [&](float log_width) {
    const auto cut = fills.levels.cut(1, log_width);
    EXPECT_EQ(cut.fine_ratio, static_cast<float>(cut.side) / 9);
    EXPECT_EQ(cut.coarse_ratio, static_cast<float>(cut.side / 2) / 9);
    return std::pair{cut.side, cut.share};
  };
  EXPECT_EQ(level_of(0.75f), std::pair(9, 0.75f));
  EXPECT_EQ(level_of(1), std::pair(4, 0.f));
  EXPECT_EQ(level_of(1.25f), std::pair(4, 0.25f));
  EXPECT_EQ(level_of(2), std::pair(2, 0.f));
  for (const float log_width : {3.f, 3.2f, 1e9f, math::kInfinity}) {
    EXPECT_EQ(level_of(log_width), std::pair(1, 0.f)) << "there is no level below one pixel";
  }
}

}  // namespace
}  // namespace wellspring
