// saturation: multiplies differences from the pixel's grey value by a factor. Listed in
// operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Saturation : detail::FactorOperation<Saturation> {
  static constexpr auto kInfo =
      OperationInfo(18, AugmentStage::colour, "saturation", "strength",
                    "multiply differences from the pixel's grey value by a factor",
                    "torchvision.transforms.ColorJitter");

  template <int N>
  WS_INLINE static void apply(float factor, float (&r)[N], float (&g)[N], float (&b)[N]) {
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const float grey = detail::luma(r[i], g[i], b[i]);
      r[i] = detail::blend(grey, r[i], factor);
      g[i] = detail::blend(grey, g[i], factor);
      b[i] = detail::blend(grey, b[i], factor);
    }
  }
};

}  // namespace wellspring::augment
