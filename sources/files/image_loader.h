// From an image of a set to a row of pixels: reads, checks, decodes, resizes. What rows of image
// folders and archives are read with; host only.
#pragma once

#include "kernels/batch/batch.h"
#include "sources/datasets/dataset.h"
#include "sources/files/image_codec.h"
#include "sources/files/image_set.h"
#include "sources/files/resize.h"

#include <cstdint>
#include <vector>

namespace wellspring {

/// What every image of a set is turned into.
struct ImageRules {
  std::int64_t max_pixels = std::int64_t{1} << 26;  ///< refused from the header, before any memory
  bool convert = false;                             ///< take images that are not 8-bit RGB
  int resize = 0;                                   ///< 0: as they are, all of one size
  SampleShape shape;                                ///< of every row; see measure()
  std::int64_t measured_from = 0;                   ///< the image whose size that is
};

class ImageLoader final : public RowReader {
 public:
  ImageLoader(const ImageSet& set, const ImageRules& rules) : set_(set), rules_(rules) {}

  /// The shape that image `image` asks for: what `rules.shape` becomes. Errors as read().
  SampleShape measure(std::int64_t image);
  /// Decodes into `row` [shape]. Errors (data), with the file's name: unreadable, damaged, too
  /// large, not RGB, of another size.
  void read(std::int64_t image, std::uint8_t* row) override;
  /// Reads the header alone: errors as read(), but for damage behind it.
  void check(std::int64_t image) override;
  /// Decodes and forgets, whatever the size: errors as read().
  void verify(std::int64_t image);

 private:
  /// The checked header of `image`, whose bytes are then in encoded_.
  ImageHeader open(std::int64_t image);
  ImageHeader checked_header(std::int64_t image);
  std::uint8_t* make_room(const ImageHeader& header);
  void decode(std::int64_t image, const ImageHeader& header, std::uint8_t* rgb);
  [[noreturn]] void refuse(std::int64_t image, const std::string& problem, const std::string& why,
                           const std::string& advice) const;
  void check_size(std::int64_t image, const ImageHeader& header) const;

  const ImageSet& set_;
  const ImageRules& rules_;
  ImageDecoder decoder_;
  CentreResizer resizer_;
  std::vector<std::uint8_t> encoded_, decoded_;  ///< grow to the largest image, then stay
};

}  // namespace wellspring
