// Many small images side by side in one. Called by `preview`; host only.
#pragma once

#include "core/png.h"

#include <cstdint>
#include <span>

namespace wellspring::cli {

class ContactSheet {
 public:
  /// A grid as square as `count` images of `width` x `height` allow, on a light ground.
  ContactSheet(std::int64_t count, int width, int height);
  /// Pixels [height, width, channels] in [0, 1], channels 1 or 3.
  void put(std::int64_t index, std::span<const float> pixels, int channels);
  const RgbImage& image() const { return image_; }

 private:
  int columns_, width_, height_;
  RgbImage image_;
};

}  // namespace wellspring::cli
