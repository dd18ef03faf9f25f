// hue: shifts hues around the colour circle. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Hue {
  static constexpr auto kInfo =
      OperationInfo(19, AugmentStage::colour, "hue", "strength",
                    "shift hues around the colour circle", "torchvision.transforms.ColorJitter");

  template <class Reals>
  struct Params {
    double probability = 1;
    double strength = 0;

    static void describe(ParamTable<Params>& table) {
      table
          .real("strength", &Params::strength, {0, 0.5}, "turn",
                "largest shift in either direction; uniform")
          .required();
    }
    StepValues plan(FrameSize) const { return {strength}; }
  };

  WS_INLINE static void draw(const AugmentStep& step, AugmentRng& words, ColourList& list) {
    list.add<Hue>(words.uniform(-step.value[0], step.value[0]));
  }
  WS_INLINE static bool idle(float shift) { return shift == 0; }
  template <int N>
  WS_INLINE static void apply(float shift, float (&r)[N], float (&g)[N], float (&b)[N]) {
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const float high = math::max(r[i], math::max(g[i], b[i]));
      const float low = math::min(r[i], math::min(g[i], b[i]));
      const float range = high - low;
      const float inverse = 1 / (range > 0 ? range : 1.f);
      const float from_red = (g[i] - b[i]) * inverse, from_green = 2 + (b[i] - r[i]) * inverse;
      const float from_blue = 4 + (r[i] - g[i]) * inverse;
      const float sextants = high == r[i] ? from_red : (high == g[i] ? from_green : from_blue);
      const float turn = math::fma(sextants, 1.f / 6, shift);
      const float hue = 6 * (turn - math::floor(turn));
      // Each primary is a trapezium function of the distance from its own hue on the hue circle (A.
      // R. Smith, "Color gamut transform pairs", SIGGRAPH 1978).
      const float red = math::clamp(math::abs(hue - 3) - 1, 0.f, 1.f);
      const float green = math::clamp(2 - math::abs(hue - 2), 0.f, 1.f);
      const float blue = math::clamp(2 - math::abs(hue - 4), 0.f, 1.f);
      r[i] = math::min(math::fma(range, red, low), high);
      g[i] = math::min(math::fma(range, green, low), high);
      b[i] = math::min(math::fma(range, blue, low), high);
    }
  }
};

}  // namespace wellspring::augment
