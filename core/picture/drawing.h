// Text on pictures, in the bitmap font of core/picture/font.h. Called by previews; host only.
#pragma once

#include "core/picture/png.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace wellspring {

/// Red, green, blue.
using RgbColour = std::array<std::uint8_t, 3>;

/// Advance width of a text in pixels; `scale` pixels per dot.
int text_width(std::string_view text, int scale = 1);
/// Draws text with its top left corner at (x, y), clipped to the image.
void draw_text(RgbImage& image, int x, int y, std::string_view text, RgbColour colour,
               int scale = 1);

}  // namespace wellspring
