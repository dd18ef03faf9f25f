// brightness: multiplies colours by a factor. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Brightness : detail::FactorOperation<Brightness> {
  static constexpr auto kInfo =
      OperationInfo(16, AugmentStage::colour, "brightness", "strength",
                    "multiply colours by a factor", "torchvision.transforms.ColorJitter");

  template <int N>
  WS_INLINE static void apply(float factor, float (&r)[N], float (&g)[N], float (&b)[N]) {
    detail::change_values(r, g, b,
                          [&](float v) WS_INLINED { return math::clamp(factor * v, 0.f, 1.f); });
  }
};

}  // namespace wellspring::augment
