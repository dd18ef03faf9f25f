// Decodes JPEG and PNG to 8-bit RGB; host only.
#pragma once

#include "sources/files/exif.h"

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace wellspring {

/// A problem with one image; callers that know the file's name turn it into an Error.
class ImageError : public std::runtime_error {
 public:
  ImageError(std::string problem, std::string why, std::string advice)
      : std::runtime_error(std::move(problem)), why_(std::move(why)), advice_(std::move(advice)) {}
  const std::string& why() const { return why_; }
  const std::string& advice() const { return advice_; }

 private:
  std::string why_, advice_;
};

enum class ImageFormat : std::uint8_t { jpeg, png };
enum class ImageColour : std::uint8_t { rgb, rgba, grey, cmyk };

/// Read from the first bytes, before allocating memory for pixels.
struct ImageHeader {
  ImageFormat format = ImageFormat::jpeg;
  ImageColour colour = ImageColour::rgb;
  int width = 0, height = 0;    ///< upright image, as decode() returns it
  int bits = 8;                 ///< bits per channel
  Orientation orientation = 1;  ///< orientation of the stored image
  bool is_rgb8() const { return colour == ImageColour::rgb && bits == 8; }
  /// Throws ImageError for CMYK, which has no RGB values without a colour profile.
  void require_rgb() const;
};

/// One per thread: keeps library state between images. JPEG images are rotated upright by their
/// Exif orientation; colour profiles are not applied.
class ImageDecoder {
 public:
  ImageDecoder();
  ~ImageDecoder();
  ImageDecoder(const ImageDecoder&) = delete;
  ImageDecoder& operator=(const ImageDecoder&) = delete;

  /// Throws ImageError: neither JPEG nor PNG, or no readable header.
  ImageHeader header(std::span<const std::uint8_t> encoded);
  /// True if these bytes, possibly a prefix of the file, suffice for header().
  bool has_header(std::span<const std::uint8_t> encoded);
  /// Writes height x width x 3 bytes to `rgb`. Greyscale is repeated over the channels, alpha is
  /// dropped, 16 bits are scaled to 8. Throws ImageError for CMYK and any damage, even a warning.
  void decode(std::span<const std::uint8_t> encoded, const ImageHeader& header, std::uint8_t* rgb);

 private:
  void* jpeg_;                        ///< tjhandle
  std::vector<std::uint8_t> stored_;  ///< image before rotation
};

}  // namespace wellspring
