#include "sources/files/jpeg_segments.h"

#include <cstring>

namespace wellspring {

std::optional<std::span<const std::uint8_t>> jpeg_segment(std::span<const std::uint8_t> jpeg,
                                                          std::uint8_t kind,
                                                          std::string_view begins) {
  constexpr std::uint8_t kScan = 0xda, kEnd = 0xd9, kFill = 0xff;
  // Segments follow: 0xff, kind, and a length that includes itself (ITU-T T.81, B.1.1.4).
  for (std::size_t at = 2; at + 4 <= jpeg.size();) {
    if (jpeg[at] != 0xff) return std::nullopt;
    const std::uint8_t found = jpeg[at + 1];
    if (found == kFill) {
      ++at;
      continue;
    }
    if (found == kScan || found == kEnd) return std::nullopt;
    const std::size_t length = std::size_t{jpeg[at + 2]} << 8 | jpeg[at + 3];
    if (length < 2 || length > jpeg.size() - at - 2) return std::nullopt;
    const auto content = jpeg.subspan(at + 4, length - 2);
    if (found == kind && content.size() >= begins.size() &&
        std::memcmp(content.data(), begins.data(), begins.size()) == 0)
      return content.subspan(begins.size());
    at += 2 + length;
  }
  return std::nullopt;
}

}  // namespace wellspring
