// saturation: multiplies differences from the pixel's grey value by a factor. Listed in
// operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Saturation {
  static constexpr auto kInfo =
      OperationInfo(18, AugmentStage::colour, "saturation", "strength",
                    "multiply differences from the pixel's grey value by a factor",
                    "torchvision.transforms.ColorJitter");

  template <class Reals>
  struct Params {
    double probability = 1;
    double strength = 0;

    static void describe(ParamTable<Params>& table) { detail::describe_strength(table); }
    StepValues plan(FrameSize) const { return detail::factor_range(strength); }
  };

  WS_INLINE static void draw(const AugmentStep& step, AugmentRng& words, ColourList& list) {
    list.add<Saturation>(words.uniform(step.value[0], step.value[1]));
  }
  WS_INLINE static bool idle(float factor) { return factor == 1; }
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
