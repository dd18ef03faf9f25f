// Applies the colour operations drawn into an Augmentation to runs of pixels, then normalisation.
// Each operation is followed by a clamp to [0, 1]. Called by emission and the passes after it; host
// and device.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/augment/operations/operations.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

namespace wellspring {

/// Applies the drawn colour operations `from` to `to` - 1, in order, to colours in [0, 1].
/// Operations that need another pass are in whole_image.h.
template <int N>
WS_INLINE void apply_colour(const Augmentation& a, int from, int to, float (&r)[N], float (&g)[N],
                            float (&b)[N]) {
  for (int s = from; s < to; ++s) {
    const ColourStep step = a.colour[s];
    augment::DrawnOperations::visit(step.op, [&]<class Op>() WS_INLINED {
      if constexpr (Op::kInfo.stage == AugmentStage::colour) Op::apply(step.value, r, g, b);
    });
  }
}

template <int N>
WS_INLINE void normalise(const Augmentation& a, float (&r)[N], float (&g)[N], float (&b)[N]) {
  WS_LANES
  for (int i = 0; i < N; ++i) {
    r[i] = math::fma(a.gain[0], r[i], a.bias[0]);
    g[i] = math::fma(a.gain[1], g[i], a.bias[1]);
    b[i] = math::fma(a.gain[2], b[i], a.bias[2]);
  }
}

}  // namespace wellspring
