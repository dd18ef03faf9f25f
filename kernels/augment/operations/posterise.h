// posterise: rounds values down to a number of levels. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Posterise {
  static constexpr auto kInfo =
      OperationInfo(22, AugmentStage::colour, "posterise", "bits",
                    "round values down to 2^bits levels", "torchvision.transforms.RandomPosterize");

  template <class Reals>
  struct Params {
    double probability = 0.5;
    int bits = 8;

    static void describe(ParamTable<Params>& table) {
      table.integer("bits", &Params::bits, {1, 8}, "", "bits per value; 8 has no effect")
          .required();
    }
    StepValues plan(FrameSize) const { return {bits}; }
  };

  WS_INLINE static void draw(const AugmentStep& step, AugmentRng&, ColourList& list) {
    add(step.value[0], list);
  }
  WS_INLINE static void add(float bits, ColourList& list) {
    list.add<Posterise>(static_cast<float>(1 << static_cast<int>(bits)));
  }
  WS_INLINE static bool idle(float levels) { return levels >= 256; }
  /// floor(v levels) / levels: torchvision's posterize for floats.
  template <int N>
  WS_INLINE static void apply(float levels, float (&r)[N], float (&g)[N], float (&b)[N]) {
    detail::change_values(r, g, b, [&](float v) WS_INLINED {
      return math::clamp(math::floor(v * levels), 0.f, levels - 1) / levels;
    });
  }
};

}  // namespace wellspring::augment
