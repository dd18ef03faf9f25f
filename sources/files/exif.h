// Orientation of JPEG photographs: cameras store it as Exif metadata instead of rotating the
// pixels. Used by the image decoder; host only.
#pragma once

#include <cstdint>
#include <span>

namespace wellspring {

/// How to make the stored image upright, 1 to 8 (JEITA CP-3451, Exif 2.3, tag 0x0112): 1 none; 2
/// mirror left-right; 3 rotate 180 degrees; 4 mirror top-bottom; 5 transpose; 6 rotate 90 degrees
/// clockwise; 7 transpose along the other diagonal; 8 rotate 90 degrees anticlockwise.
using Orientation = std::uint8_t;

/// True if the upright image has its width and height exchanged.
constexpr bool exchanges_sides(Orientation orientation) {
  return orientation >= 5 && orientation <= 8;
}

/// Orientation in the first Exif block before the first scan of a JPEG file, in either byte order.
/// 1 if it is missing or invalid: wrong metadata does not make an image useless. Never reads
/// outside `jpeg`, for any content.
Orientation jpeg_orientation(std::span<const std::uint8_t> jpeg);

/// Writes the upright image, `width` x `height` RGB, from the `stored` one, whose sides are
/// exchanged if exchanges_sides(). Rows are contiguous; the images do not overlap.
void turn_upright(Orientation orientation, int width, int height, const std::uint8_t* stored,
                  std::uint8_t* upright);

}  // namespace wellspring
