// brightness: multiplies colours by a factor. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Brightness {
  static constexpr auto kInfo =
      OperationInfo(16, AugmentStage::colour, "brightness", "strength",
                    "multiply colours by a factor", "torchvision.transforms.ColorJitter");

  template <class Reals>
  struct Params {
    double probability = 1;
    double strength = 0;

    static void describe(ParamTable<Params>& table) { detail::describe_strength(table); }
    StepValues plan(FrameSize) const { return detail::factor_range(strength); }
  };

  WS_INLINE static void draw(const AugmentStep& step, AugmentRng& words, ColourList& list) {
    list.add<Brightness>(words.uniform(step.value[0], step.value[1]));
  }
  WS_INLINE static bool idle(float factor) { return factor == 1; }
  template <int N>
  WS_INLINE static void apply(float factor, float (&r)[N], float (&g)[N], float (&b)[N]) {
    detail::change_values(r, g, b,
                          [&](float v) WS_INLINED { return math::clamp(factor * v, 0.f, 1.f); });
  }
};

}  // namespace wellspring::augment
