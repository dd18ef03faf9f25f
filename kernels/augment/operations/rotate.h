// rotate: rotation about the centre. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Rotate {
  static constexpr auto kInfo =
      OperationInfo(6, AugmentStage::geometry, "rotate", "angle", "rotation about the centre",
                    "torchvision.transforms.RandomRotation");

  template <class Reals>
  struct Params {
    double probability = 1;
    double angle = 0;

    static void describe(ParamTable<Params>& table) {
      table
          .real("angle", &Params::angle, {0, 180}, "degree",
                "largest rotation in either direction; uniform")
          .required();
    }
    StepValues plan(FrameSize) const { return {angle / 360}; }
  };

  WS_HD static void compose(const AugmentStep& step, AugmentRng& words, GeometryDraw& draw) {
    const math::SinCos turn = math::sincos_turns((2 * words.uniform() - 1) * step.value[0]);
    draw.map = draw.map * Homography::linear(turn.cosine, -turn.sine, turn.sine, turn.cosine);
  }
};

}  // namespace wellspring::augment
