// PNG images out: previews and reports. Called by the command line and reports; host only.
#pragma once

#include "core/io/bytes.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace wellspring {

/// An image of 8-bit RGB pixels, rows from the top, without padding: pixels [height, width, 3].
struct RgbImage {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
};

/// The bytes of a PNG file; they depend on the image and the version of zlib alone.
std::vector<std::byte> encode_png(const RgbImage& image);
/// The same as a file, written whole or not at all.
void write_png(const std::filesystem::path& path, const RgbImage& image);

}  // namespace wellspring
