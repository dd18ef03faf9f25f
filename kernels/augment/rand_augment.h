// RandAugment: operations and signs drawn per sample. E. Cubuk, B. Zoph, J. Shlens, Q. Le,
// "RandAugment: practical automated data augmentation with a reduced search space", NeurIPS 2020,
// with the operations and magnitudes of torchvision.transforms.v2.RandAugment. Called by the draw
// of an augmentation; host and device.
//
// The drawn operations become part of the sample's coordinate map and of its list of colour steps:
// first the geometry in its order, then the colours in theirs.
#pragma once

#include "kernels/augment/augment_rng.h"
#include "kernels/augment/augmentation.h"
#include "kernels/augment/homography.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::detail {

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

/// Calls visit(RandStep) for each operation drawn for a sample, in order. Random words per
/// operation: its kind, its sign, two for the normal number of its magnitude.
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
  // int() of torchvision; a product that misses an integer only by rounding counts as that integer.
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

/// Magnitudes as in torchvision.transforms.v2.RandAugment: factors up to 1.9 or down to 0.1, 8 to 4
/// bits, thresholds from 1 down to 0.
WS_HD inline void add_rand_colour(const RandStep& step, ColourList& list) {
  const float factor = 1 + step.up_to(0.9f);
  switch (step.op) {
    case RandOp::brightness:
      return list.add(AugmentOp::brightness, factor);
    case RandOp::colour:
      return list.add(AugmentOp::saturation, factor);
    case RandOp::contrast:
      return list.add(AugmentOp::contrast_about_mean, factor);
    case RandOp::sharpness:
      return list.add(AugmentOp::sharpen, factor);
    case RandOp::posterise:
      return list.add(AugmentOp::posterise, levels_of(8 - math::round(4 * step.strength)));
    case RandOp::solarise:
      return list.add(AugmentOp::solarise, 1 - step.strength);
    case RandOp::autocontrast:
      return list.add(AugmentOp::autocontrast, 0);
    case RandOp::equalise:
      return list.add(AugmentOp::equalise, 0);
    default:
      return;
  }
}

}  // namespace wellspring::detail
