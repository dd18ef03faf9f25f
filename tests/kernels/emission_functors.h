// The image functor for the emission tests; instantiated for CUDA in emission_functors.cu. Host and
// device.
#pragma once

#include "kernels/emission/pixels.h"

namespace wellspring::test {

/// An image whose value is the location at which it is read.
struct Coordinates {
  static constexpr int kLatents = 1;
  static constexpr forms::Pixels kForm = {};
  struct Scene {
    float scale;
  };
  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    truth.label = static_cast<std::int32_t>(key.slot.sample);
    truth.latents[0] = 0.5f;
    return {1};
  }
  WS_INLINE Rgb at(const Scene& scene, PixelCoordinate p) const {
    return {scale_of(scene) * p.x, p.y, p.footprint};
  }
  WS_INLINE float scale_of(const Scene& scene) const { return scene.scale; }
};

}  // namespace wellspring::test
