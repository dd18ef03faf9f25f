// The law of one-dimensional Perlin noise at a random place, as a table: numbers for contours whose
// vertices each take the noise at a place of their own. Used by generators `visual_atom` and
// `rcdb`; the lookup runs on host and device, the table is made on the host.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::contour {

/// Knots of the inverse distribution function, at probabilities k / (kKnots - 1).
inline constexpr int kKnots = 1025;

/// Value number `half` of 65536 equally likely ones: linear between the knots.
WS_INLINE float noise_value(const float* knots, std::uint32_t half) {
  const std::uint32_t knot = half >> 6;
  const float between = static_cast<float>(static_cast<std::int32_t>(half & 63u)) + 0.5f;
  return math::fma(between * 0x1p-6f, knots[knot + 1] - knots[knot], knots[knot]);
}

/// The knots, made once: noise in each of the 256 cells of Perlin's permutation at kPlaces places,
/// all values sorted; a knot is the mean of the two values about its probability, the smallest, or
/// the largest, in whole multiples of 2^-16. After pnoise1 of C. Duncan's `noise` 1.2, which the
/// published programs call: gradient h mod 8 + 1 where bit 3 of the hash h is clear and -1 where it
/// is set; K. Perlin, "Improving noise", SIGGRAPH 2002, for fade and permutation.
inline constexpr int kPlaces = 1024;
const float* noise_knots();

}  // namespace wellspring::contour
