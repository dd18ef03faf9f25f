// zoom: zoom about the centre. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Zoom {
  static constexpr auto kInfo =
      OperationInfo(5, AugmentStage::geometry, "zoom", "scale", "zoom about the centre", "");

  template <class Reals>
  struct Params {
    double probability = 1;
    Reals scale = {1, 1};

    static void describe(ParamTable<Params>& table) {
      table
          .real_list("scale", &Params::scale, {0.05, 20}, "",
                     "magnification, log-uniform in the range; 2 shows half the width and height")
          .required();
    }
    template <class Check>
    void check(const Check& check) const {
      check.range("scale", scale);
    }
    StepValues plan(FrameSize) const { return {scale[0], Planning::log(scale[1] / scale[0])}; }
  };

  WS_HD static void compose(const AugmentStep& step, AugmentRng& words, GeometryDraw& draw) {
    const float scale = step.value[0] * math::exp(words.uniform() * step.value[1]);
    draw.map = draw.map * Homography::scaling(1 / scale, 1 / scale);
    draw.footprint = draw.footprint / scale;
  }
};

}  // namespace wellspring::augment
