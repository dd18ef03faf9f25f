// PNG encoder for previews and reports. Called by the command line and reports; host only.
#pragma once

#include "core/io/bytes.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace wellspring {

/// An 8-bit RGB image: pixels [height, width, 3], top row first, without padding.
struct RgbImage {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
};

/// The bytes of a PNG file; they depend only on the image and the version of zlib.
std::vector<std::byte> encode_png(const RgbImage& image);
/// The same as a file, written atomically.
void write_png(const std::filesystem::path& path, const RgbImage& image);

}  // namespace wellspring
