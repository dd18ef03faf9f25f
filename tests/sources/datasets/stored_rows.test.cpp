// Compares shrunken views of stored images with the exact mean over each pixel's footprint.
#include "sources/datasets/stored_rows.h"

#include "tests/support/image_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace wellspring {
namespace {

constexpr int kWidth = 23, kHeight = 17;

/// Channel `c` of a pixel as a double, continued beyond the border.
double pixel(const std::vector<std::uint8_t>& rgb, Padding padding, int x, int y, std::size_t c) {
  const int cx = std::clamp(x, 0, kWidth - 1), cy = std::clamp(y, 0, kHeight - 1);
  if (padding == Padding::zero && (cx != x || cy != y)) return 0;
  return rgb[static_cast<std::size_t>(cy * kWidth + cx) * 3 + c] / 255.;
}

/// Exact mean over the square of side `side` centred at (x, y).
double area_mean(const std::vector<std::uint8_t>& rgb, Padding padding, double x, double y,
                 double side, std::size_t c) {
  const double left = x - side / 2, right = x + side / 2, top = y - side / 2, low = y + side / 2;
  double sum = 0;
  for (int iy = static_cast<int>(std::floor(top)); iy < low; ++iy) {
    for (int ix = static_cast<int>(std::floor(left)); ix < right; ++ix) {
      const double width = std::min<double>(ix + 1, right) - std::max<double>(ix, left);
      const double height = std::min<double>(iy + 1, low) - std::max<double>(iy, top);
      sum += width * height * pixel(rgb, padding, ix, iy, c);
    }
  }
  return sum / (side * side);
}

ColourRun<8> read(const std::vector<std::uint8_t>& rgb, const PixelRun<8>& run, Padding padding) {
  StoredImages images;
  images.shape = {kHeight, kWidth, 3};
  ColourRun<8> colour;
  images.shade({rgb.data(), kWidth, kHeight, padding, false}, run, colour);
  return colour;
}

// Coordinates are below 32, so each of the four edges is off by at most 2 * 2^-20. This changes the
// mean by at most that error divided by `side`. The sum has at most (side + 2)^2 terms.
double tolerance(double side) {
  return 4 * 2 * 0x1p-20 / side + ((side + 2) * (side + 2) + 8) * 0x1p-24;
}

TEST(StoredImages, AreAveragedOverTheFootprint) {
  const std::vector<std::uint8_t> rgb = test::noise_rgb(kWidth, kHeight, 3);
  for (const Padding padding : {Padding::zero, Padding::edge}) {
    for (const float side : {1.0625f, 1.7f, 2.f, 3.3f, 6.f}) {
      for (int line = -2; line < 9; ++line) {
        PixelRun<8> run{};
        run.footprint = side;
        for (int i = 0; i < 8; ++i) {
          run.x[i] = (static_cast<float>(i) - 0.7f) * side + 0.3f;
          run.y[i] = 2.1f * static_cast<float>(line) + 0.13f * static_cast<float>(i);
        }
        const ColourRun<8> colour = read(rgb, run, padding);
        for (int i = 0; i < 8; ++i) {
          const double x = run.x[i], y = run.y[i];
          if (std::abs(x) + side > 32 || std::abs(y) + side > 32) continue;
          EXPECT_NEAR(colour.r[i], area_mean(rgb, padding, x, y, side, 0), tolerance(side));
          EXPECT_NEAR(colour.g[i], area_mean(rgb, padding, x, y, side, 1), tolerance(side));
          EXPECT_NEAR(colour.b[i], area_mean(rgb, padding, x, y, side, 2), tolerance(side));
        }
      }
    }
  }
}

// A footprint of 1 gives the bilinear value. A slightly larger one moves each edge by half of the
// excess and changes the mean by at most four times that.
TEST(StoredImages, FilterApproachesInterpolationAtFullSize) {
  const std::vector<std::uint8_t> rgb = test::noise_rgb(kWidth, kHeight, 4);
  PixelRun<8> run{};
  for (int i = 0; i < 8; ++i) {
    run.x[i] = 1.3f + 2.17f * static_cast<float>(i);
    run.y[i] = 2.7f + 1.41f * static_cast<float>(i);
  }
  run.footprint = 1;
  const ColourRun<8> sharp = read(rgb, run, Padding::edge);
  run.footprint = 1 + 0x1p-10f;
  const ColourRun<8> filtered = read(rgb, run, Padding::edge);
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(sharp.r[i], filtered.r[i], 4 * 0x1p-11 + tolerance(1));
}

}  // namespace
}  // namespace wellspring
