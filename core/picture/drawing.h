// Text on pictures, in the bitmap font of core/picture/font.h. Used by previews; host only.
#pragma once

#include "core/picture/png.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace wellspring {

/// Red, green, blue.
using RgbColour = std::array<std::uint8_t, 3>;

/// Pixels from the left end of a text to where the next one may begin; `scale` pixels a dot.
int text_width(std::string_view text, int scale = 1);
/// Writes with the top left corner at (x, y); dots outside of the image are left out.
void draw_text(RgbImage& image, int x, int y, std::string_view text, RgbColour colour,
               int scale = 1);

}  // namespace wellspring
