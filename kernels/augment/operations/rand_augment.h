// RandAugment: operations and signs drawn per sample. E. Cubuk, B. Zoph, J. Shlens, Q. Le,
// "RandAugment: practical automated data augmentation with a reduced search space", NeurIPS 2020,
// with the operations and magnitudes of torchvision.transforms.v2.RandAugment or of timm's
// `rand-...-inc1` (timm/data/auto_augment.py). Listed in operations.h; host and device.
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

/// The operations, in the order of torchvision's table; the last two are only in timm's.
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
  invert,
  solarise_add,
};
inline constexpr int kRandOps = 14;

/// A published table of operations and their magnitudes.
enum class RandTable : std::uint8_t {
  torchvision,  ///< RandAugment
  timm,         ///< RandAugment with `inc1`: every operation gets stronger with its magnitude, and
                ///< is skipped with probability 1/2
  wide,         ///< torchvision's TrivialAugmentWide
};

/// The largest magnitude: of torchvision's 31 bins, or timm's _LEVEL_DENOM.
WS_INLINE constexpr float most_magnitude(RandTable table) {
  return table == RandTable::timm ? 10.f : 30.f;
}

/// A uniform operation of the table.
WS_INLINE RandOp rand_op(RandTable table, std::uint32_t word) {
  if (table != RandTable::timm) return static_cast<RandOp>(below(word, kRandOps));
  // timm's table is torchvision's without the identity, and with two more.
  return static_cast<RandOp>(1 + below(word, kRandOps + 1));
}

/// A drawn operation.
struct RandStep {
  RandOp op;
  float strength;  ///< in [0, 1]: magnitude / most_magnitude
  float sign;      ///< 1 or -1, for signed operations
  RandTable table = RandTable::torchvision;

  /// A signed value up to `most`, or `wide` in the wide table.
  WS_INLINE float up_to(float most, float wide) const {
    return sign * (strength * (table == RandTable::wide ? wide : most));
  }
};

/// Calls visit(RandStep) for each operation drawn for a sample, in order. Each operation uses one
/// random word for its kind, one for its sign, two for the normal number of its magnitude and, in
/// timm's table, one for whether it is applied.
template <class Visit>
WS_INLINE void for_rand_steps(const AugmentStep& step, AugmentRng& words, const Visit& visit) {
  const auto count = static_cast<int>(step.value[0]);
  const auto table = static_cast<RandTable>(static_cast<int>(step.value[3]));
  const float most = most_magnitude(table);
  for (int i = 0; i < count; ++i) {
    const RandOp op = rand_op(table, words.next());
    const float sign = words.uniform() < 0.5f ? -1.f : 1.f;
    const std::uint32_t first = words.next(), second = words.next();
    if (table == RandTable::timm && words.uniform() < 0.5f) continue;
    float magnitude = step.value[1];
    if (step.value[2] > 0)
      magnitude = math::fma(step.value[2], math::box_muller(first, second).first, magnitude);
    visit(RandStep{op, math::clamp(magnitude, 0.f, most) / most, sign, table});
  }
}

/// Shears up to 0.3 (wide: 0.99) about the upper left corner; shifts up to 150/331 of a side (timm:
/// 0.45; wide: 32 pixels), in whole pixels except in timm's table; rotations up to 30 (wide: 135)
/// degrees.
WS_HD inline Homography rand_inverse_map(const RandStep& step, FrameSize frame) {
  const auto width = static_cast<float>(frame.width), height = static_cast<float>(frame.height);
  const auto shift = [&](float side) {
    if (step.table == RandTable::timm) return step.sign * (step.strength * side * 0.45f);
    // Truncates like torchvision's int(), except that a product that misses an integer only by
    // rounding becomes that integer.
    const float most = step.table == RandTable::wide ? 32.f : side * (150.f / 331);
    return step.sign * math::floor(math::fma(step.strength, most, 0x1p-10f));
  };
  switch (step.op) {
    case RandOp::shear_x: {
      const float slope = step.up_to(0.3f, 0.99f);
      return {{1, slope, 0.5f * slope * height, 0, 1, 0, 0, 0, 1}};
    }
    case RandOp::shear_y: {
      const float slope = step.up_to(0.3f, 0.99f);
      return {{1, 0, 0, slope, 1, 0.5f * slope * width, 0, 0, 1}};
    }
    case RandOp::translate_x:
      return Homography::translation(-shift(width), 0);
    case RandOp::translate_y:
      return Homography::translation(0, -shift(height));
    case RandOp::rotate: {
      const math::SinCos turn = math::sincos_turns(step.up_to(30.f / 360, 135.f / 360));
      return Homography::linear(turn.cosine, -turn.sine, turn.sine, turn.cosine);
    }
    default:
      return {};
  }
}

/// Bits that posterise keeps: 8 to 4 (wide: 8 to 2; timm: 4 to 0).
WS_INLINE float rand_bits(const RandStep& step) {
  if (step.table == RandTable::timm) return 4 - math::floor(4 * step.strength);
  return 8 - math::round((step.table == RandTable::wide ? 6.f : 4.f) * step.strength);
}
/// The smallest value that solarise inverts, from 1 down to 0; timm's is a whole number of 1/255.
WS_INLINE float rand_threshold(const RandStep& step) {
  if (step.table == RandTable::timm) return (256 - math::floor(256 * step.strength)) / 255;
  return 1 - step.strength;
}

/// Factors are between 0.1 and 1.9 (wide: 0.01 and 1.99).
WS_HD inline void add_rand_colour(const RandStep& step, ColourList& list) {
  const float factor = 1 + step.up_to(0.9f, 0.99f);
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
      return Posterise::add(rand_bits(step), list);
    case RandOp::solarise:
      return list.add<Solarise>(rand_threshold(step));
    case RandOp::autocontrast:
      return list.add<Autocontrast>(0);
    case RandOp::equalise:
      return list.add<Equalise>(0);
    case RandOp::invert:
      return list.add<Solarise>(0);
    case RandOp::solarise_add:
      return list.add<SolariseAdd>(math::floor(110 * step.strength) / 255);
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
    RandTable table = RandTable::torchvision;

    static void describe(ParamTable<Params>& table) {
      table
          .integer("operations", &Params::operations, {0, kMostRandOperations}, "",
                   "number of operations, drawn with replacement (torchvision's num_ops)")
          .real("magnitude", &Params::magnitude, {0, 30}, "of 30",
                "magnitude: 0 weakest, 30 strongest; with table: timm, 10 strongest")
          .real("deviation", &Params::deviation, {0, 30}, "of 30",
                "standard deviation of each operation's magnitude; torchvision: 0, DeiT: 0.5")
          .choice(
              "table", &Params::table,
              {{"torchvision", RandTable::torchvision}, {"timm", RandTable::timm}},
              "operations and their magnitudes; timm: its increasing table, whose 15 operations "
              "are each applied with probability one half",
              "rand-m9-mstd0.5-inc1 is table: timm, magnitude: 9, deviation: 0.5");
    }
    template <class Check>
    void check(const Check& check) const {
      if (table == RandTable::timm && magnitude > 10)
        check.refuse(".magnitude is {}", "magnitudes of timm are at most 10",
                     "use 10 or less, or table: torchvision", magnitude);
    }
    StepValues plan(FrameSize) const {
      return {operations, magnitude, deviation, static_cast<int>(table)};
    }
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
