// flip_x: a horizontal flip. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct FlipX {
  static constexpr auto kInfo =
      OperationInfo(2, AugmentStage::geometry, "flip_x", "probability", "horizontal flip", "");

  template <class Reals>
  struct Params {
    double probability = 0.5;
  };

  WS_HD static void compose(const AugmentStep&, AugmentRng&, GeometryDraw& draw) {
    draw.map = draw.map * Homography::scaling(-1, 1);
  }
};

}  // namespace wellspring::augment
