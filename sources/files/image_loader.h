// Turns an image of a set into a row of pixels: reads, checks, decodes, resizes. Used by image
// folders and archives; host only.
#pragma once

#include "core/config/image_size.h"
#include "kernels/batch/batch.h"
#include "sources/datasets/dataset.h"
#include "sources/files/image_codec.h"
#include "sources/files/image_set.h"
#include "sources/files/resize.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

/// Rules for every image of a set.
struct ImageRules {
  std::int64_t max_pixels = std::int64_t{1} << 26;  ///< checked in the header
  bool convert = false;                             ///< accept images that are not 8-bit RGB
  ExifRotation rotation = ExifRotation::apply;
  ImageSize resize;                ///< not given: off
  int canvas = 0;                  ///< side of the square that holds a row's image; 0: off; then
                                   ///< all images have one size unless `resize` is given
  SampleShape shape;               ///< shape of every row; see measure()
  std::int64_t measured_from = 0;  ///< image that gave `shape`
  bool labelled = true;            ///< false: settings are on the command line; for messages

  /// Advice to change a setting: "set resize: 8", or "write resize=8 after the path".
  std::string advice(const std::string& key, const std::string& value) const {
    return labelled ? "set " + key + ": " + value
                    : "write " + key + "=" + value + " after the path";
  }
};

class ImageLoader final : public RowReader {
 public:
  ImageLoader(const ImageSet& set, const ImageRules& rules)
      : set_(set), rules_(rules), decoder_(rules.rotation) {}

  /// Shape of image `image` under the rules, for `rules.shape`. Errors: the same as for read().
  SampleShape measure(std::int64_t image);
  /// Decodes into `row` [shape]; with a canvas, a StoredFrame follows. Errors (data): unreadable,
  /// damaged, too large, not RGB, wrong size.
  void read(std::int64_t image, std::uint8_t* row) override;
  void read_encoded(std::int64_t image, std::vector<std::uint8_t>& bytes) override;
  void decode(std::int64_t image, std::span<const std::uint8_t> encoded,
              std::uint8_t* row) override;
  void check_encoded(std::int64_t image, std::span<const std::uint8_t> encoded) override {
    checked_header(image, encoded);
  }
  /// Reads only the header. Errors: the same as for read(), except damage after the header.
  void check(std::int64_t image) override;
  /// Decodes an image of any size and discards it. Errors: the same as for read().
  void verify(std::int64_t image);

 private:
  /// Reads `image` into encoded_ and returns its checked header.
  ImageHeader open(std::int64_t image);
  ImageHeader checked_header(std::int64_t image, std::span<const std::uint8_t> encoded);
  /// Size of the image in its row.
  FrameSize stored_size(const ImageHeader& header) const;
  std::uint8_t* make_room(const ImageHeader& header);
  void decode_pixels(std::int64_t image, std::span<const std::uint8_t> encoded,
                     const ImageHeader& header, std::uint8_t* rgb);
  [[noreturn]] void refuse(std::int64_t image, const std::string& problem, const std::string& why,
                           const std::string& advice) const;
  void check_size(std::int64_t image, const ImageHeader& header) const;

  const ImageSet& set_;
  const ImageRules& rules_;
  ImageDecoder decoder_;
  ImageResizer resizer_;
  std::vector<std::uint8_t> encoded_, decoded_, resized_;  ///< as large as the largest image so far
};

}  // namespace wellspring
