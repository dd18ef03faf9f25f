// The members of an augmentation operation, and their types. Included by the files in operations/,
// one per operation; host and device. Those files contain both parameters and device code, so this
// header includes no host library.
//
// An operation is a struct with these members, the optional ones in brackets:
//
//     kInfo                      number, stage, name and texts
//     Params<Reals>              parameters in user units, with defaults; host only. Reals is
//                                std::vector<double>, which device code cannot include
//       [describe(table)]        adds the rows of the parameters after `probability`
//       [check(check)]           rejects values that the rows cannot reject
//       [plan(frame)]            the values of the AugmentStep; frame: size of the image before
//                                the operation. Optionally plan(frame, check)
//       [needs_pass()]           true: these parameters need the whole-image pass
//       radius(out, check)       neighbours: reach in pixels
//
// geometry, and rand_augment:
//     compose(step, words, draw) draws a map and composes it with the others
//     [kResizes]                 the result has the size of the output
//     [kDependsOnPosition]       how a latent changes depends on the position
// colour and whole:
//     [draw(step, words, list)]  adds drawn steps; default: one, with the first value of the plan
//     [idle(value)]              true if a drawn step changes nothing
//     apply(value, r, g, b)      colour: changes a run of pixels
//     [filter(...)]              whole: reads one image and writes another
//     [Statistics, change(...)]  whole: changes a run of pixels, given statistics of the image
//     [measure(...)]             whole: computes the statistics
// neighbours and erase:
//     draw(step, out, words, a)  draws into the augmentation
#pragma once

#include "kernels/augment/augment_rng.h"
#include "kernels/augment/augmentation.h"
#include "kernels/augment/homography.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

namespace wellspring {

template <class Struct>
class ParamTable;  // core/config/params.h

/// The values of an AugmentStep, rounded to f32.
struct StepValues {
  float value[kStepValues] = {};

  template <class... Values>
  constexpr StepValues(Values... values) : value{static_cast<float>(values)...} {}
};

/// True if the operation composes a map.
template <class Op>
inline constexpr bool moves_pixels = requires {
  &Op::compose;
};
/// True if the operation adds drawn colour steps.
template <class Op>
inline constexpr bool changes_colours =
    Op::kInfo.stage == AugmentStage::colour || Op::kInfo.stage == AugmentStage::whole;

/// Conversions for plan(); host only, in augmentation_plan.cpp.
struct Planning {
  static double log(double x);
  /// `fraction * size` rounded down to whole pixels; a product that misses an integer only because
  /// the fraction is rounded (0.29 * 100) becomes that integer.
  static float whole_pixels(double fraction, int size);
};

/// The map from output to source, while operations are composed into it.
struct GeometryDraw {
  FrameSize out;    ///< size of the output
  FrameSize frame;  ///< size of the image before the next operation
  Homography map;
  float footprint = 1;  ///< side of an output pixel in source pixels
};

namespace detail {

/// Parameters and plan of an operation with a factor in [1 - strength, 1 + strength].
template <class P>
void describe_strength(ParamTable<P>& table) {
  table
      .real("strength", &P::strength, {0, 10}, "",
            "the factor is uniform in [1 - strength, 1 + strength], clamped at 0")
      .required();
}
constexpr StepValues factor_range(double strength) {
  return {strength < 1 ? 1 - strength : 0., 1 + strength};
}

/// Common members of an operation `Op` that draws such a factor.
template <class Op>
struct FactorOperation {
  template <class Reals>
  struct Params {
    double probability = 1;
    double strength = 0;

    static void describe(ParamTable<Params>& table) { describe_strength(table); }
    StepValues plan(FrameSize) const { return factor_range(strength); }
  };

  WS_INLINE static void draw(const AugmentStep& step, AugmentRng& words, ColourList& list) {
    list.add<Op>(words.uniform(step.value[0], step.value[1]));
  }
  WS_INLINE static bool idle(float factor) { return factor == 1; }
};

/// Luma, with the weights of ITU-R BT.601.
WS_INLINE float luma(float r, float g, float b) {
  return math::fma(0.299f, r, math::fma(0.587f, g, 0.114f * b));
}
/// base + factor (value - base), clamped; torchvision's blend of two images.
WS_INLINE float blend(float base, float value, float factor) {
  return math::clamp(math::fma(factor, value - base, base), 0.f, 1.f);
}

/// Replaces each value of a run with change(value).
template <int N, class Change>
WS_INLINE void change_values(float (&r)[N], float (&g)[N], float (&b)[N], const Change& change) {
  WS_LANES
  for (int i = 0; i < N; ++i) {
    r[i] = change(r[i]);
    g[i] = change(g[i]);
    b[i] = change(b[i]);
  }
}

}  // namespace detail

/// A list of operations, for dispatch without function pointers.
template <class... Ops>
struct OperationList {
  template <class... More>
  using With = OperationList<Ops..., More...>;
  template <template <class...> class To>
  using Into = To<Ops...>;

  /// Calls visit.operator()<Op>() for the operation with this number, if it is in the list.
  /// Compiles to a switch.
  template <class Visit>
  WS_INLINE static constexpr void visit(AugmentOp op, const Visit& visit) {
    static_cast<void>(
        ((op == op_of<Ops> ? (visit.template operator()<Ops>(), true) : false) || ...));
  }
  /// Calls visit.operator()<Op>() for each operation.
  template <class Visit>
  static constexpr void each(const Visit& visit) {
    (visit.template operator()<Ops>(), ...);
  }
};

}  // namespace wellspring
