// solarise: inverts values at and above a threshold. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Solarise {
  static constexpr auto kInfo = OperationInfo(21, AugmentStage::colour, "solarise", "threshold",
                                              "invert values from the threshold up: 1 - value",
                                              "torchvision.transforms.RandomSolarize");

  template <class Reals>
  struct Params {
    double probability = 0.5;
    double threshold = 0.5;

    static void describe(ParamTable<Params>& table) {
      table.real("threshold", &Params::threshold, {0, 1}, "", "smallest value to invert");
    }
    StepValues plan(FrameSize) const { return {threshold}; }
  };

  template <int N>
  WS_INLINE static void apply(float threshold, float (&r)[N], float (&g)[N], float (&b)[N]) {
    detail::change_values(r, g, b, [&](float v) WS_INLINED { return v < threshold ? v : 1 - v; });
  }
};

/// Adds a value to all values below one half, clamped: a drawn operation of timm's RandAugment.
struct SolariseAdd {
  static constexpr auto kInfo = OperationInfo(28, AugmentStage::colour, "solarise_add", "", "", "");

  WS_INLINE static bool idle(float more) { return more == 0; }
  template <int N>
  WS_INLINE static void apply(float more, float (&r)[N], float (&g)[N], float (&b)[N]) {
    detail::change_values(r, g, b, [&](float v) WS_INLINED {
      return v < 128.f / 255 ? math::min(v + more, 1.f) : v;
    });
  }
};

}  // namespace wellspring::augment
