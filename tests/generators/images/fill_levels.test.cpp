#include "generators/images/fill_levels.h"

#include "generators/generator.h"
#include "kernels/random/philox.h"
#include "tests/generators/collect.h"
#include "tests/generators/images/mirrored_fill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

constexpr int kChannels = FillLevels::kChannels;

/// Fills and their levels, including their memory.
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

// A level takes at most 9 fused operations and a division, each of which rounds a number below 1.5
// to a relative 2^-24. The mean over a level is computed in double precision.
TEST(FillLevels, AverageTheCoveredPixels) {
  for (const int side : {2, 3, 5, 12, 21, 23, 32}) {
    Leveled fills = noise(3, side);
    const auto size = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
    for (std::size_t fill = 0; fill < 3; ++fill) {
      for (std::size_t c = 0; c < kChannels; ++c) {
        const test::MirroredFill by_definition(fills.of(0) + fill * size * kChannels,
                                               static_cast<std::size_t>(side), c);
        double whole = 0;
        for (const double v : by_definition.levels()[0].pixels)
          whole += v / static_cast<double>(size);
        ASSERT_EQ(by_definition.levels().size(), static_cast<std::size_t>(fills.levels.last() + 1));
        for (int level = 1; level <= fills.levels.last(); ++level) {
          const double slack = level * 10 * 1.5 * 0x1p-24;
          const auto& wanted = by_definition.levels()[static_cast<std::size_t>(level)].pixels;
          const float* const made = fills.of(level) + fill * wanted.size() * kChannels + c;
          double mean = 0;
          for (std::size_t p = 0; p < wanted.size(); ++p) {
            ASSERT_NEAR(made[p * kChannels], wanted[p], slack) << side << ", level " << level;
            mean += made[p * kChannels] / static_cast<double>(wanted.size());
          }
          EXPECT_NEAR(mean, whole, slack) << side << ", level " << level;
        }
      }
    }
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

/// Weights of a row's pixels in a read at one point: for the two levels next to a depth, and for
/// the mean of four reads of the fill across an output pixel.
constexpr std::size_t kRow = 64;
using Weights = std::array<double, kRow>;

void add_read(Weights& weights, double place, int level, double share) {
  const int size = 1 << level;
  const double v = place / size - 0.5, first = std::floor(v);
  for (int i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(static_cast<int>(first) * size + i);
    weights[at] += share * (1 - (v - first)) / size;
    weights[at + static_cast<std::size_t>(size)] += share * (v - first) / size;
  }
}

/// Mean square error of reading white noise of variance 1, compared with 4 x 4 reads of the fill
/// over the same image pixel, for an unrotated leaf at any position. Both reads are weighted sums
/// whose weights are products of a row weight and a column weight, so the error is a sum of squared
/// means along one row.
double expected_error(double step, double depth) {
  const int level = static_cast<int>(depth);
  const double share = depth - level;
  const std::array<double, 3> factor = {1 - share, share, -1};
  double products[3][3] = {};
  constexpr int kPlaces = 256;
  for (int i = 0; i < kPlaces; ++i) {
    const double place = 28 + 4 * (i + 0.5) / kPlaces;  // positions within one pixel of level 2
    std::array<Weights, 3> weights = {};
    add_read(weights[0], place, level, 1);
    add_read(weights[1], place, level + 1, 1);
    for (int j = 0; j < 4; ++j) add_read(weights[2], place + step * (j - 1.5) / 4, 0, 0.25);
    for (std::size_t a = 0; a < 3; ++a) {
      for (std::size_t b = 0; b < 3; ++b) {
        for (std::size_t p = 0; p < kRow; ++p)
          products[a][b] += weights[a][p] * weights[b][p] / kPlaces;
      }
    }
  }
  double error = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 3; ++b)
      error += factor[a] * factor[b] * products[a][b] * products[a][b];
  }
  return error;
}

// The 49152 errors are nearly independent and have no heavier tails than normal numbers, so their
// mean square has a relative standard deviation of sqrt(2 / 49152) = 0.64 %. The tolerance of 4 %
// is six times that.
TEST(FillLevels, HaveTheExpectedErrorOnWhiteNoise) {
  constexpr int kFills = 1024;
  const Leveled fills = noise(kFills, kRow);
  for (const float depth : {0.f, 0.5f, 1.f, 1.5f}) {
    const float step = std::exp2(depth);
    RngStream places({71, 0}, Purpose::noise);
    double sum = 0;
    int count = 0;
    for (std::uint32_t fill = 0; fill < kFills; ++fill) {
      const auto cut = fills.levels.cut(fill, depth), whole = fills.levels.cut(fill, 0);
      for (int place = 0; place < 16; ++place) {
        const float x = static_cast<float>(8 + place % 4 * 12) + 4 * places.uniform();
        const float y = static_cast<float>(8 + place / 4 * 12) + 4 * places.uniform();
        const Rgb value = fills.levels.read(cut, x, y);
        double r = value.r, g = value.g, b = value.b;
        for (int i = 0; i < 16; ++i) {
          const float dx = static_cast<float>(i % 4) - 1.5f, dy = static_cast<float>(i / 4) - 1.5f;
          const Rgb part = fills.levels.read(whole, x + step * dx / 4, y + step * dy / 4);
          r -= part.r / 16.0, g -= part.g / 16.0, b -= part.b / 16.0;
        }
        sum += r * r + g * g + b * b;
        count += 3;
      }
    }
    const double expected = expected_error(step, depth) / 16;  // standard deviation 1/4
    EXPECT_NEAR(sum / count / expected, 1, 0.04) << depth;
  }
  // Relative to the noise, the root mean square errors are 0.226 and 0.409. Means over 2 x 2 pixels
  // would have an error of 0.391.
  EXPECT_LT(expected_error(2, 1), 0.31 * expected_error(2, 0)) << "levels must reduce the error";
}

}  // namespace
}  // namespace wellspring
