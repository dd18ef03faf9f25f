// Decoded images in device memory as an image functor: the whole set, or the rows of a ring that
// decoding threads keep filled. Called by the file source through emit_images; host and device.
#pragma once

#include "kernels/canvas.h"

#include <cstdint>

namespace wellspring {

struct StoredImages {
  static constexpr int kLatents = 0;
  using Scene = CanvasImages::Scene;

  const std::uint8_t* pixels = nullptr;  ///< [images or ring_rows, shape]
  const std::int32_t* labels = nullptr;  ///< [images], by sample id in either case
  SampleShape shape;
  std::uint64_t ring_rows = 0;  ///< 0: pixels holds every image, by sample id

  WS_INLINE Scene draw(const SampleKey& key, const Augmentation& seen, Truth<0>& truth) const {
    // The n-th sample that the source gives always lies in row n % ring_rows, so a recorded step
    // needs no word from the host about where its data is.
    const std::uint64_t row = ring_rows == 0 ? key.slot.sample : key.slot.ordinal % ring_rows;
    truth.label = labels[key.slot.sample];
    return {pixels + row * static_cast<std::uint64_t>(shape.elements()), seen.padding,
            seen.on_grid};
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    CanvasImages canvas;
    canvas.shape = shape;
    canvas.shade(scene, run, colour);
  }
};

}  // namespace wellspring
