// JPEG and PNG to 8-bit RGB; host only.
#pragma once

#include "sources/files/exif.h"

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace wellspring {

/// What is wrong with one image; whoever knows the file's name makes an Error of it.
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

/// Read from the first bytes, before any memory is taken for pixels.
struct ImageHeader {
  ImageFormat format = ImageFormat::jpeg;
  ImageColour colour = ImageColour::rgb;
  int width = 0, height = 0;    ///< of the upright picture, as decode() gives it
  int bits = 8;                 ///< of a channel
  Orientation orientation = 1;  ///< of what is stored
  bool is_rgb8() const { return colour == ImageColour::rgb && bits == 8; }
  /// Throws ImageError for what has no RGB values without further knowledge: CMYK.
  void require_rgb() const;
};

/// One a thread: keeps the library's state between images. JPEG pictures are turned upright where
/// their Exif data say how they lie; colour profiles are not applied.
class ImageDecoder {
 public:
  ImageDecoder();
  ~ImageDecoder();
  ImageDecoder(const ImageDecoder&) = delete;
  ImageDecoder& operator=(const ImageDecoder&) = delete;

  /// Throws ImageError: neither JPEG nor PNG, or no readable header.
  ImageHeader header(std::span<const std::uint8_t> encoded);
  /// Whether these, perhaps the first bytes of more, are enough for header().
  bool has_header(std::span<const std::uint8_t> encoded);
  /// Writes height x width x 3 bytes to `rgb`. Greyscale is repeated over the channels, alpha is
  /// dropped, 16 bits are scaled to 8. Throws ImageError on any damage, also where the library
  /// would go on with a warning, and for CMYK.
  void decode(std::span<const std::uint8_t> encoded, const ImageHeader& header, std::uint8_t* rgb);

 private:
  void* jpeg_;                        ///< tjhandle
  std::vector<std::uint8_t> stored_;  ///< a picture that is to be turned
};

}  // namespace wellspring
