#include "core/picture/drawing.h"

#include "core/picture/font.h"

#include <algorithm>

namespace wellspring {
namespace {

/// Fills a square of `side` pixels, clipped to the image.
void fill_dot(RgbImage& image, int left, int top, int side, RgbColour colour) {
  for (int y = std::max(top, 0); y < std::min(top + side, image.height); ++y) {
    for (int x = std::max(left, 0); x < std::min(left + side, image.width); ++x) {
      const std::size_t pixel =
          static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) +
          static_cast<std::size_t>(x);
      std::copy(colour.begin(), colour.end(), &image.pixels[3 * pixel]);
    }
  }
}

}  // namespace

int text_width(std::string_view text, int scale) {
  return static_cast<int>(text.size()) * (font::kWidth + 1) * scale;
}

void draw_text(RgbImage& image, int x, int y, std::string_view text, RgbColour colour, int scale) {
  for (const char character : text) {
    const font::Glyph& glyph = font::glyph(character);
    for (int row = 0; row < font::kHeight; ++row) {
      for (int column = 0; column < font::kWidth; ++column) {
        if (((glyph.rows[row] >> (font::kWidth - 1 - column)) & 1) == 0) continue;
        fill_dot(image, x + column * scale, y + row * scale, scale, colour);
      }
    }
    x += (font::kWidth + 1) * scale;
  }
}

}  // namespace wellspring
