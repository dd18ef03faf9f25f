// shift: a shift by whole pixels. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Shift {
  static constexpr auto kInfo =
      OperationInfo(4, AugmentStage::geometry, "shift", "fraction",
                    "shift by whole pixels, uniform along x and along y", "");

  template <class Reals>
  struct Params {
    double probability = 1;
    double fraction = 0.125;

    static void describe(ParamTable<Params>& table) {
      table.real("fraction", &Params::fraction, {0, 0.99}, "image side",
                 "largest shift along each axis");
    }
    StepValues plan(FrameSize frame) const {
      return {Planning::whole_pixels(fraction, frame.width),
              Planning::whole_pixels(fraction, frame.height)};
    }
  };

  WS_HD static void compose(const AugmentStep& step, AugmentRng& words, GeometryDraw& draw) {
    const float x = words.whole(2 * step.value[0]) - step.value[0];
    const float y = words.whole(2 * step.value[1]) - step.value[1];
    draw.map = draw.map * Homography::translation(x, y);
  }
};

}  // namespace wellspring::augment
