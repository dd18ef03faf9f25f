// Stored images as image functors: uint8 images in device memory. Each pixel is read at the
// position that the augmentation maps it to, with a filter if the augmentation shrinks the image.
// Used by data sets; host and device.
#pragma once

#include "kernels/emission/pixels.h"
#include "kernels/emission/resample.h"

#include <cstdint>

namespace wellspring {

/// Index of the image of a slot.
enum class ImageIndex : std::uint8_t {
  sample,  ///< slot.sample, in a resident data set
  row,     ///< slot.row, in a staging buffer
};

/// HxWxC uint8 images, C = 1 or 3, tightly packed, all of one shape. Pixels are bytes / 255. Flips
/// and whole-pixel shifts copy them exactly; other geometry interpolates (resample.h).
struct ByteImages {
  static constexpr int kLatents = 0;
  static constexpr forms::Pixels kForm = {.draw = forms::Draw::seen};

  const std::uint8_t* pixels = nullptr;
  const std::int32_t* labels = nullptr;  ///< one per image
  SampleShape shape;
  ImageIndex index = ImageIndex::sample;

  struct Scene {
    const std::uint8_t* pixels;
    std::int32_t width, height;
    Padding padding;
    bool on_grid;
  };

  WS_INLINE Scene draw(const SampleKey& key, const Augmentation& view, Truth<0>& truth) const {
    const std::uint64_t i = index == ImageIndex::sample ? key.slot.sample : key.slot.row;
    truth.label = labels[i];
    return {pixels + i * static_cast<std::uint64_t>(shape.elements()), shape.width, shape.height,
            view.padding, view.on_grid};
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    for (int i = 0; i < N; ++i) {
      const auto pixel = [&](int x, int y) WS_INLINED { return texel(scene, x, y); };
      if (scene.on_grid) {
        colour.set(i, pixel(detail::floor_int(run.x[i]), detail::floor_int(run.y[i])));
      } else {
        colour.set(i, resample(run, i, pixel));
      }
    }
    colour.grey = shape.channels == 1;
  }

 private:
  WS_INLINE Rgb texel(const Scene& scene, int x, int y) const {
    const int cx = x < 0 ? 0 : (x >= scene.width ? scene.width - 1 : x);
    const int cy = y < 0 ? 0 : (y >= scene.height ? scene.height - 1 : y);
    if (scene.padding == Padding::zero && (cx != x || cy != y)) return {};
    const std::uint8_t* const p =
        scene.pixels + static_cast<std::int64_t>(cy * scene.width + cx) * shape.channels;
    const float r = unit_from_byte(p[0]);
    if (shape.channels == 1) return {r, r, r};
    return {r, unit_from_byte(p[1]), unit_from_byte(p[2])};
  }
};

}  // namespace wellspring
