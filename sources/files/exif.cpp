#include "sources/files/exif.h"

#include "sources/files/jpeg_segments.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace wellspring {
namespace {

using JpegBytes = std::span<const std::uint8_t>;

constexpr Orientation kUpright = 1, kLastOrientation = 8;

/// A TIFF block (Adobe, TIFF 6.0), the content of an Exif segment: numbers in the byte order of its
/// header, offsets from its first byte. Returns nothing for reads past the end.
class Tiff {
 public:
  explicit Tiff(JpegBytes bytes) : bytes_(bytes), little_(!bytes.empty() && bytes.front() == 'I') {}

  std::optional<std::uint32_t> number(std::size_t at, std::size_t bytes) const {
    if (at > bytes_.size() || bytes > bytes_.size() - at) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value = value << 8 | bytes_[at + (little_ ? bytes - 1 - i : i)];
    return value;
  }
  std::optional<std::uint32_t> u16(std::size_t at) const { return number(at, 2); }
  std::optional<std::uint32_t> u32(std::size_t at) const { return number(at, 4); }

 private:
  JpegBytes bytes_;
  bool little_;
};

Orientation orientation_of(JpegBytes tiff_bytes) {
  constexpr std::size_t kEntryBytes = 12;  // tag, type, count, value
  constexpr std::uint32_t kOrientationTag = 0x0112, kShort = 3;
  const Tiff tiff(tiff_bytes);
  const auto order = tiff.u16(0);
  if ((order != 0x4949u && order != 0x4d4du) || tiff.u16(2) != 42u) return kUpright;
  const auto directory = tiff.u32(4);
  if (!directory) return kUpright;
  const auto entries = tiff.u16(*directory);
  if (!entries) return kUpright;
  for (std::size_t i = 0; i < *entries; ++i) {
    const std::size_t at = std::size_t{*directory} + 2 + i * kEntryBytes;
    const auto tag = tiff.u16(at);
    if (!tag) return kUpright;  // the block ends within the directory
    if (tag != kOrientationTag) continue;
    const auto value = tiff.u16(at + 8);
    const bool sound = tiff.u16(at + 2) == kShort && tiff.u32(at + 4) == 1u && value &&
                       *value >= kUpright && *value <= kLastOrientation;
    return sound ? static_cast<Orientation>(*value) : kUpright;
  }
  return kUpright;
}

}  // namespace

Orientation jpeg_orientation(JpegBytes jpeg) {
  using namespace std::string_view_literals;
  constexpr std::uint8_t kApp1 = 0xe1;
  const auto tiff = jpeg_segment(jpeg, kApp1, "Exif\0\0"sv);
  return tiff ? orientation_of(*tiff) : kUpright;
}

void turn_upright(Orientation orientation, int width, int height, const std::uint8_t* stored,
                  std::uint8_t* upright) {
  // Offset of the upright image's first pixel in the stored image, and the steps from one upright
  // pixel to its right and lower neighbours.
  const bool exchanged = exchanges_sides(orientation);
  const std::ptrdiff_t columns = exchanged ? height : width, rows = exchanged ? width : height;
  const bool last_column =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool last_row =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const std::ptrdiff_t along_row = last_column ? -1 : 1,
                       along_column = last_row ? -columns : columns;
  const std::ptrdiff_t right = exchanged ? along_column : along_row;
  const std::ptrdiff_t down = exchanged ? along_row : along_column;
  const std::ptrdiff_t first =
      (last_row ? (rows - 1) * columns : 0) + (last_column ? columns - 1 : 0);
  for (std::ptrdiff_t y = 0; y < height; ++y) {
    std::ptrdiff_t from = first + y * down;
    for (int x = 0; x < width; ++x, from += right, upright += 3)
      std::copy_n(stored + 3 * from, 3, upright);
  }
}

}  // namespace wellspring
