#include "core/picture/drawing.h"

#include "core/picture/font.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

constexpr RgbColour kRed = {200, 10, 20};

RgbImage blank(int width, int height) {
  return {width, height,
          std::vector<std::uint8_t>(3 * static_cast<std::size_t>(width) *
                                    static_cast<std::size_t>(height))};
}

bool is_red(const RgbImage& image, int x, int y) {
  const std::size_t i = 3 * static_cast<std::size_t>(y * image.width + x);
  return image.pixels[i] == kRed[0] && image.pixels[i + 1] == kRed[1] &&
         image.pixels[i + 2] == kRed[2];
}

TEST(DrawText, WritesTheDotsOfEachGlyph) {
  RgbImage image = blank(40, 24);
  draw_text(image, 3, 2, "aZ", kRed, 2);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const int column = (x - 3) / 2, row = (y - 2) / 2, character = column / (font::kWidth + 1);
      const int dot = column % (font::kWidth + 1);
      bool expected = false;
      if (x >= 3 && y >= 2 && row < font::kHeight && character < 2 && dot < font::kWidth) {
        const font::Glyph& glyph = font::glyph("aZ"[character]);
        expected = ((glyph.rows[row] >> (font::kWidth - 1 - dot)) & 1) != 0;
      }
      ASSERT_EQ(is_red(image, x, y), expected) << x << ", " << y;
    }
  }
  EXPECT_EQ(text_width("aZ", 2), 24);
}

TEST(DrawText, ClipsAtTheImage) {
  RgbImage image = blank(4, 4);
  draw_text(image, -7, -5, "||||", kRed, 3);
  draw_text(image, 2, 2, "####", kRed);
  EXPECT_EQ(image.pixels.size(), 48u);
}

}  // namespace
}  // namespace wellspring
