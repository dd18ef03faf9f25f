// Metadata segments of a JPEG file, read without decoding. Used by the image decoder; host only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace wellspring {

/// Finds the first segment of this kind (0xe1: APP1) that starts with `begins` and precedes the
/// first scan, and returns the rest of its content. Never reads outside `jpeg`, for any content.
std::optional<std::span<const std::uint8_t>> jpeg_segment(std::span<const std::uint8_t> jpeg,
                                                          std::uint8_t kind,
                                                          std::string_view begins);

}  // namespace wellspring
