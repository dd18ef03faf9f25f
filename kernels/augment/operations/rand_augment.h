// RandAugment: operations and signs drawn per sample. E. Cubuk, B. Zoph, J. Shlens, Q. Le,
// "RandAugment: practical automated data augmentation with a reduced search space", NeurIPS 2020,
// with the operations and magnitudes of torchvision.transforms.v2.RandAugment. Listed in
// operations.h; host and device.
//
// Drawn geometric operations become part of the sample's coordinate map; colour operations become
// part of its list of colour steps. Each group keeps its order; geometry comes first.
#pragma once

#include "kernels/augment/operation.h"
#include "kernels/augment/operations/autocontrast.h"
#include "kernels/augment/operations/brightness.h"
#include "kernels/augment/operations/contrast.h"
#include "kernels/augment/operations/equalise.h"
#include "kernels/augment/operations/posterise.h"
#include "kernels/augment/operations/saturation.h"
#include "kernels/augment/operations/sharpen.h"
#include "kernels/augment/operations/solarise.h"
#include "kernels/random/philox.h"

#include <cstdint>

namespace wellspring::augment {

/// The operations of RandAugment, in the order of torchvision's table.
enum class RandOp : std::uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  colour,
  contrast,
  sharpness,
  posterise,
  solarise,
  autocontrast,
  equalise,
};
inline constexpr int kRandOps = 14;
inline constexpr float kMostMagnitude = 30;  ///< torchvision's 31 bins

/// A drawn operation of RandAugment.
struct RandStep {
  RandOp op;
  float strength;  ///< in [0, 1]: magnitude / 30
  float sign;      ///< 1 or -1, for signed operations

  WS_INLINE float up_to(float most) const { return sign * (strength * most); }
};

/// Calls visit(RandStep) for each operation drawn for a sample, in order. Each operation uses one
/// random word for its kind, one for its sign, and two for the normal number of its magnitude.
template <class Visit>
WS_INLINE void for_rand_steps(const AugmentStep& step, AugmentRng& words, const Visit& visit) {
  const auto count = static_cast<int>(step.value[0]);
  for (int i = 0; i < count; ++i) {
    const auto op = static_cast<RandOp>(below(words.next(), kRandOps));
    const float sign = words.uniform() < 0.5f ? -1.f : 1.f;
    const std::uint32_t first = words.next(), second = words.next();
    float magnitude = step.value[1];
    if (step.value[2] > 0)
      magnitude = math::fma(step.value[2], math::box_muller(first, second).first, magnitude);
    visit(RandStep{op, math::clamp(magnitude, 0.f, kMostMagnitude) / kMostMagnitude, sign});
  }
}

/// Magnitudes as in torchvision.transforms.v2.RandAugment: shears up to 0.3 about the upper left
/// corner, shifts up to 150/331 of a side in whole pixels, rotations up to 30 degrees.
WS_HD inline Homography rand_inverse_map(const RandStep& step, FrameSize frame) {
  const auto width = static_cast<float>(frame.width), height = static_cast<float>(frame.height);
  // Truncates like torchvision's int(), except that a product that misses an integer only by
  // rounding becomes that integer.
  const auto whole = [&](float side) {
    return step.sign * math::floor(math::fma(step.strength, side * (150.f / 331), 0x1p-10f));
  };
  switch (step.op) {
    case RandOp::shear_x: {
      const float slope = step.up_to(0.3f);
      return {{1, slope, 0.5f * slope * height, 0, 1, 0, 0, 0, 1}};
    }
    case RandOp::shear_y: {
      const float slope = step.up_to(0.3f);
      return {{1, 0, 0, slope, 1, 0.5f * slope * width, 0, 0, 1}};
    }
    case RandOp::translate_x:
      return Homography::translation(-whole(width), 0);
    case RandOp::translate_y:
      return Homography::translation(0, -whole(height));
    case RandOp::rotate: {
      const math::SinCos turn = math::sincos_turns(step.up_to(30.f / 360));
      return Homography::linear(turn.cosine, -turn.sine, turn.sine, turn.cosine);
    }
    default:
      return {};
  }
}

/// Magnitudes as in torchvision.transforms.v2.RandAugment: factors between 0.1 and 1.9, 8 to 4
/// bits, thresholds from 1 down to 0.
WS_HD inline void add_rand_colour(const RandStep& step, ColourList& list) {
  const float factor = 1 + step.up_to(0.9f);
  switch (step.op) {
    case RandOp::brightness:
      return list.add<Brightness>(factor);
    case RandOp::colour:
      return list.add<Saturation>(factor);
    case RandOp::contrast:
      return list.add<ContrastAboutMean>(factor);
    case RandOp::sharpness:
      return list.add<Sharpen>(factor);
    case RandOp::posterise:
      return Posterise::add(8 - math::round(4 * step.strength), list);
    case RandOp::solarise:
      return list.add<Solarise>(1 - step.strength);
    case RandOp::autocontrast:
      return list.add<Autocontrast>(0);
    case RandOp::equalise:
      return list.add<Equalise>(0);
    default:
      return;
  }
}

struct RandAugment {
  static constexpr auto kInfo =
      OperationInfo(48, AugmentStage::whole, "rand_augment", "magnitude",
                    "random operations per sample, out of 14: first geometry, then colours",
                    "torchvision.transforms.v2.RandAugment; Cubuk et al., NeurIPS 2020");

  template <class Reals>
  struct Params {
    double probability = 1;
    int operations = 2;
    double magnitude = 9;
    double deviation = 0;

    static void describe(ParamTable<Params>& table) {
      table
          .integer("operations", &Params::operations, {0, kMostRandOperations}, "",
                   "number of operations, drawn with replacement (torchvision's num_ops)")
          .real("magnitude", &Params::magnitude, {0, 30}, "of 30",
                "magnitude: 0 weakest, 30 strongest")
          .real("deviation", &Params::deviation, {0, 30}, "of 30",
                "standard deviation of each operation's magnitude; torchvision: 0, DeiT: 0.5");
    }
    StepValues plan(FrameSize) const { return {operations, magnitude, deviation}; }
  };

  WS_HD static void compose(const AugmentStep& step, AugmentRng& words, GeometryDraw& draw) {
    for_rand_steps(step, words, [&](const RandStep& drawn) {
      draw.map = draw.map * rand_inverse_map(drawn, draw.frame);
    });
  }
  WS_HD static void draw(const AugmentStep& step, AugmentRng& words, ColourList& list) {
    for_rand_steps(step, words, [&](const RandStep& drawn) { add_rand_colour(drawn, list); });
  }
};

}  // namespace wellspring::augment
