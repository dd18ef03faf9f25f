// noise: adds normal noise. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/pixel_noise.h"
#include "kernels/augment/whole_image_operation.h"

namespace wellspring::augment {

struct Noise {
  static constexpr auto kInfo = OperationInfo(26, AugmentStage::whole, "noise", "deviation",
                                              "add normal noise, independent per pixel and channel",
                                              "torchvision.transforms.v2.GaussianNoise");

  template <class Reals>
  struct Params {
    double probability = 1;
    double deviation = 0.1;

    static void describe(ParamTable<Params>& table) {
      table.real("deviation", &Params::deviation, {0, 10}, "",
                 "standard deviation; values are in [0, 1]");
    }
    StepValues plan(FrameSize) const { return {deviation}; }
  };

  WS_INLINE static void draw(const AugmentStep& step, AugmentRng& words, ColourList& list) {
    list.add_key(words);
    list.add<Noise>(step.value[0]);
  }
  WS_INLINE static bool idle(float deviation) { return deviation == 0; }
  using Statistics = NoStatistics;
  /// Clamped as in torchvision's GaussianNoise.
  template <int N>
  WS_INLINE static void change(const WholeRun& run, float deviation, Statistics,
                               ColourRun<N>& colour) {
    const auto add = [&](int i, const float(&normal)[3]) {
      colour.r[i] = math::clamp(math::fma(deviation, normal[0], colour.r[i]), 0.f, 1.f);
      colour.g[i] = math::clamp(math::fma(deviation, normal[1], colour.g[i]), 0.f, 1.f);
      colour.b[i] = math::clamp(math::fma(deviation, normal[2], colour.b[i]), 0.f, 1.f);
    };
    detail::for_noise(run.view.noise_key, run.x, run.y, 0, N, add);
  }
};

}  // namespace wellspring::augment
