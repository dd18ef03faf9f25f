// Decodes JPEG, PNG, WebP, PPM and PGM to 8-bit RGB; host only.
#pragma once

#include "core/io/file_kind.h"
#include "sources/files/exif.h"

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace wellspring {

/// A problem with one image. Callers that know the file's name turn this exception into an Error.
class ImageError : public std::runtime_error {
 public:
  ImageError(std::string problem, std::string why, std::string advice)
      : std::runtime_error(std::move(problem)), why_(std::move(why)), advice_(std::move(advice)) {}
  const std::string& why() const { return why_; }
  const std::string& advice() const { return advice_; }

 private:
  std::string why_, advice_;
};

enum class ImageColour : std::uint8_t { rgb, rgba, grey, cmyk };

/// Read from the first bytes, before allocating memory for pixels.
struct ImageHeader {
  FileKind kind = FileKind::unknown;
  ImageColour colour = ImageColour::rgb;
  int width = 0, height = 0;    ///< upright image, as decode() returns it
  int bits = 8;                 ///< bits per channel
  Orientation orientation = 1;  ///< orientation of the stored image
  bool is_rgb8() const { return colour == ImageColour::rgb && bits == 8; }
};

/// Rotation of JPEG images by their Exif orientation.
enum class ExifRotation : std::uint8_t {
  apply,   ///< upright, as viewers show it
  ignore,  ///< as stored; torchvision does the same
};

/// Keeps buffers between images, so each thread needs its own. Results depend only on the encoded
/// bytes, never on earlier images. Colour profiles are not applied.
class ImageDecoder {
 public:
  explicit ImageDecoder(ExifRotation rotation = ExifRotation::apply) : rotation_(rotation) {}

  /// Throws ImageError: another kind of file, or no readable header.
  ImageHeader header(std::span<const std::uint8_t> encoded) const;
  /// True if these bytes, possibly a prefix of the file, suffice for header().
  bool has_header(std::span<const std::uint8_t> encoded) const;
  /// Writes height x width x 3 bytes to `rgb`. Greyscale is repeated over the channels, alpha is
  /// dropped, 16 bits are scaled to 8, and CMYK inks are multiplied: R = (255 - C)(255 - K) / 255.
  /// Throws ImageError for any damage, even a warning.
  void decode(std::span<const std::uint8_t> encoded, const ImageHeader& header, std::uint8_t* rgb);

 private:
  void decode_jpeg(std::span<const std::uint8_t> encoded, const ImageHeader& header,
                   std::uint8_t* rgb);

  ExifRotation rotation_;
  std::vector<std::uint8_t> stored_;  ///< image before rotation
  std::vector<std::uint8_t> inks_;    ///< CMYK image
};

}  // namespace wellspring
