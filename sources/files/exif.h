// Which way up a photograph is: the orientation that cameras write into JPEG files instead of
// turning the pixels. Called by the image decoder; host only.
#pragma once

#include <cstdint>
#include <span>

namespace wellspring {

/// What must be done to the stored pixels to see them upright, 1 to 8 as in the standard (JEITA
/// CP-3451, Exif 2.3, tag 0x0112): 1 nothing; 2 mirrored left and right; 3 turned by 180 degrees; 4
/// mirrored top and bottom; 5 transposed; 6 turned by 90 degrees clockwise; 7 mirrored at the other
/// diagonal; 8 turned by 90 degrees anticlockwise.
using Orientation = std::uint8_t;

/// Whether width and height of the upright picture are those stored, exchanged.
constexpr bool exchanges_sides(Orientation orientation) {
  return orientation >= 5 && orientation <= 8;
}

/// The orientation in the first Exif block before the first scan of a JPEG file, in either byte
/// order. 1 where there is none, or one that makes no sense: wrong metadata do not make an image
/// useless. Reads nothing outside of `jpeg`, whatever it holds.
Orientation jpeg_orientation(std::span<const std::uint8_t> jpeg);

/// Writes the upright picture, `width` x `height` RGB, of the `stored` one, whose sides are
/// exchanged where exchanges_sides(). Both are whole rows without gaps, and do not overlap.
void turn_upright(Orientation orientation, int width, int height, const std::uint8_t* stored,
                  std::uint8_t* upright);

}  // namespace wellspring
