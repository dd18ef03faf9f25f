#include "sources/files/resize.h"

#include "tests/support/image_fixtures.h"

#include <gtest/gtest.h>

#include <cmath>

namespace wellspring {
namespace {

using test::Bytes;
using test::noise_rgb;

Bytes resize(const Bytes& rgb, int width, int height, int side) {
  CentreResizer resizer;
  Bytes out(static_cast<std::size_t>(side) * static_cast<std::size_t>(side) * 3);
  resizer.resize(rgb.data(), width, height, side, out.data());
  return out;
}

TEST(CentreResizer, KeepsEqualSizes) {
  const Bytes rgb = noise_rgb(17, 17, 1);
  EXPECT_EQ(resize(rgb, 17, 17, 17), rgb);
}

TEST(CentreResizer, CropsTheCentre) {
  const int width = 24, height = 16;
  const Bytes rgb = noise_rgb(width, height, 2);
  const Bytes out = resize(rgb, width, height, 16);  // the height fits: columns 4 to 19 remain
  for (std::size_t y = 0; y < 16; ++y) {
    for (std::size_t x = 0; x < 16 * 3; ++x) {
      ASSERT_EQ(out[y * 48 + x], rgb[y * 72 + 12 + x]);
    }
  }
  const Bytes tall = resize(noise_rgb(16, 24, 2), 16, 24, 16);
  const Bytes source = noise_rgb(16, 24, 2);
  EXPECT_TRUE(std::equal(tall.begin(), tall.end(), source.begin() + 4 * 48));
}

TEST(CentreResizer, KeepsConstantsAtAnyScale) {
  for (const int side : {1, 5, 16, 31, 64}) {
    for (const std::uint8_t value : {0, 1, 127, 255}) {
      const Bytes out = resize(Bytes(40 * 30 * 3, value), 40, 30, side);
      EXPECT_EQ(out, Bytes(out.size(), value));
    }
  }
}

// The definition in double, on noise: triangle weights of radius max(1, scale), so shrinking
// antialiases.
TEST(CentreResizer, MatchesTheDefinition) {
  struct Case {
    int width, height, side;
  };
  for (const Case c : {Case{50, 37, 16}, Case{20, 33, 48}, Case{64, 64, 32}, Case{100, 9, 7}}) {
    const Bytes rgb = noise_rgb(c.width, c.height, 3), out = resize(rgb, c.width, c.height, c.side);
    const double factor = static_cast<double>(c.side) / std::min(c.width, c.height);
    const int scaled_w = std::max<int>(c.side, static_cast<int>(std::lround(c.width * factor)));
    const int scaled_h = std::max<int>(c.side, static_cast<int>(std::lround(c.height * factor)));
    const double sx = static_cast<double>(c.width) / scaled_w;
    const double sy = static_cast<double>(c.height) / scaled_h;
    const double rx = std::max(1.0, sx), ry = std::max(1.0, sy);
    for (int y = 0; y < c.side; ++y) {
      for (int x = 0; x < c.side; ++x) {
        const double cx = ((scaled_w - c.side) / 2 + x + 0.5) * sx;
        const double cy = ((scaled_h - c.side) / 2 + y + 0.5) * sy;
        double sum = 0, weights = 0;
        for (int j = 0; j < c.height; ++j) {
          for (int i = 0; i < c.width; ++i) {
            const double weight = std::max(0.0, 1 - std::abs(i + 0.5 - cx) / rx) *
                                  std::max(0.0, 1 - std::abs(j + 0.5 - cy) / ry);
            weights += weight;
            sum += weight * rgb[static_cast<std::size_t>((j * c.width + i) * 3)];
          }
        }
        // Rounding to the nearest byte is half a unit; float sums add about 1e-4.
        ASSERT_NEAR(out[static_cast<std::size_t>((y * c.side + x) * 3)], sum / weights, 0.501)
            << c.width << "x" << c.height << " to " << c.side;
      }
    }
  }
}

}  // namespace
}  // namespace wellspring
