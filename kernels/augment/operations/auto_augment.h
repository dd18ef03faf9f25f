// auto_augment: one of 25 pairs of operations. E. Cubuk, B. Zoph, D. Mane, V. Vasudevan, Q. Le,
// "AutoAugment: learning augmentation strategies from data", CVPR 2019, with ImageNet's policy as in
// torchvision.transforms.v2.AutoAugment. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operations/rand_augment.h"

#include <cstdint>

namespace wellspring::augment {

/// An operation of a policy.
struct PolicyStep {
  RandOp op;
  std::uint8_t tenths;     ///< probability, in tenths
  std::uint8_t magnitude;  ///< 0 to 9; unused by operations without one
};
inline constexpr std::uint32_t kPolicies = 25;

/// Operation 0 or 1 of a pair: torchvision's AutoAugmentPolicy.IMAGENET.
WS_HD inline PolicyStep policy_step(std::uint32_t pair, int which) {
  using enum RandOp;
  constexpr PolicyStep kTable[kPolicies][2] = {
      {{posterise, 4, 8}, {rotate, 6, 9}},  {{solarise, 6, 5}, {autocontrast, 6, 0}},
      {{equalise, 8, 0}, {equalise, 6, 0}}, {{posterise, 6, 7}, {posterise, 6, 6}},
      {{equalise, 4, 0}, {solarise, 2, 4}}, {{equalise, 4, 0}, {rotate, 8, 8}},
      {{solarise, 6, 3}, {equalise, 6, 0}}, {{posterise, 8, 5}, {equalise, 10, 0}},
      {{rotate, 2, 3}, {solarise, 6, 8}},   {{equalise, 6, 0}, {posterise, 4, 6}},
      {{rotate, 8, 8}, {colour, 4, 0}},     {{rotate, 4, 9}, {equalise, 6, 0}},
      {{equalise, 0, 0}, {equalise, 8, 0}}, {{invert, 6, 0}, {equalise, 10, 0}},
      {{colour, 6, 4}, {contrast, 10, 8}},  {{rotate, 8, 8}, {colour, 10, 2}},
      {{colour, 8, 8}, {solarise, 8, 7}},   {{sharpness, 4, 7}, {invert, 6, 0}},
      {{shear_x, 6, 5}, {equalise, 10, 0}}, {{colour, 4, 0}, {equalise, 6, 0}},
      {{equalise, 4, 0}, {solarise, 2, 4}}, {{solarise, 6, 5}, {autocontrast, 6, 0}},
      {{invert, 6, 0}, {equalise, 10, 0}},  {{colour, 6, 4}, {contrast, 10, 8}},
      {{equalise, 8, 0}, {equalise, 6, 0}},
  };
  return kTable[pair][which];
}

struct AutoAugment {
  static constexpr auto kInfo =
      OperationInfo(50, AugmentStage::whole, "auto_augment", "probability",
                    "one of the 25 pairs of operations of ImageNet's policy per sample",
                    "torchvision.transforms.v2.AutoAugment; Cubuk et al., CVPR 2019");

  template <class Reals>
  struct Params {
    double probability = 1;
  };

  /// Calls visit(RandStep) for each operation applied to a sample. One random word selects the
  /// pair; each operation uses one for whether it is applied and one for its sign.
  template <class Visit>
  WS_INLINE static void for_steps(AugmentRng& words, const Visit& visit) {
    const std::uint32_t pair = below(words.next(), kPolicies);
    for (int which = 0; which < 2; ++which) {
      const PolicyStep step = policy_step(pair, which);
      const bool happens = 10 * words.uniform() < static_cast<float>(step.tenths);
      const float sign = words.uniform() < 0.5f ? -1.f : 1.f;
      if (happens) visit(RandStep{step.op, static_cast<float>(step.magnitude) / 9, sign});
    }
  }
  WS_HD static void compose(const AugmentStep&, AugmentRng& words, GeometryDraw& draw) {
    for_steps(words, [&](const RandStep& drawn) {
      draw.map = draw.map * rand_inverse_map(drawn, draw.frame);
    });
  }
  WS_HD static void draw(const AugmentStep&, AugmentRng& words, ColourList& list) {
    for_steps(words, [&](const RandStep& drawn) { add_rand_colour(drawn, list); });
  }
};

}  // namespace wellspring::augment
