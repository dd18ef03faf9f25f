// trivial_augment: one operation with one magnitude, both uniform. S. Müller, F. Hutter,
// "TrivialAugment: tuning-free yet state-of-the-art data augmentation", ICCV 2021, with the table of
// torchvision.transforms.v2.TrivialAugmentWide. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operations/rand_augment.h"

namespace wellspring::augment {

struct TrivialAugment {
  static constexpr auto kInfo =
      OperationInfo(49, AugmentStage::whole, "trivial_augment", "probability",
                    "one random operation per sample, out of 14, with a random magnitude",
                    "torchvision.transforms.v2.TrivialAugmentWide; Müller and Hutter, ICCV 2021");

  template <class Reals>
  struct Params {
    double probability = 1;
  };

  /// Uses one random word each for the kind, the sign and the magnitude, one of 31.
  WS_INLINE static RandStep drawn(AugmentRng& words) {
    const RandOp op = rand_op(RandTable::wide, words.next());
    const float sign = words.uniform() < 0.5f ? -1.f : 1.f;
    return {op, words.whole(30) / 30, sign, RandTable::wide};
  }
  WS_HD static void compose(const AugmentStep&, AugmentRng& words, GeometryDraw& draw) {
    draw.map = draw.map * rand_inverse_map(drawn(words), draw.frame);
  }
  WS_HD static void draw(const AugmentStep&, AugmentRng& words, ColourList& list) {
    add_rand_colour(drawn(words), list);
  }
};

}  // namespace wellspring::augment
