// grey: replaces colours with their luma. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Grey {
  static constexpr auto kInfo =
      OperationInfo(20, AugmentStage::colour, "grey", "probability",
                    "replace colours with their luma", "torchvision.transforms.RandomGrayscale");

  template <class Reals>
  struct Params {
    double probability = 0.1;
  };

  template <int N>
  WS_INLINE static void apply(float, float (&r)[N], float (&g)[N], float (&b)[N]) {
    WS_LANES
    for (int i = 0; i < N; ++i) r[i] = g[i] = b[i] = detail::luma(r[i], g[i], b[i]);
  }
};

}  // namespace wellspring::augment
