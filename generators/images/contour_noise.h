// Table of the distribution of one-dimensional Perlin noise at a random position. Each vertex of a
// contour uses the noise at its own position. Used by `visual_atom` and `rcdb`; the table is
// computed on the host, and the lookup runs on host and device.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::contour {

/// Knots of the inverse distribution function, at probabilities k / (kKnots - 1).
inline constexpr int kKnots = 1025;

/// Number `half` of 65536 equally likely values, interpolated linearly between the knots.
WS_INLINE float noise_value(const float* knots, std::uint32_t half) {
  const std::uint32_t knot = half >> 6;
  const float between = static_cast<float>(static_cast<std::int32_t>(half & 63u)) + 0.5f;
  return math::fma(between * 0x1p-6f, knots[knot + 1] - knots[knot], knots[knot]);
}

/// Computes the knots; called once. The noise is evaluated at kPlaces positions in each of the 256
/// cells of Perlin's permutation, and all values are sorted. A knot is the mean of the two values
/// around its probability (at the ends, the smallest or largest value), rounded to a multiple of
/// 2^-16. Follows pnoise1 in C. Duncan's `noise` 1.2, which the published programs call. The
/// gradient is h mod 8 + 1 if bit 3 of the hash h is clear, otherwise -1. Fade function and
/// permutation follow K. Perlin, "Improving noise", SIGGRAPH 2002.
inline constexpr int kPlaces = 1024;
const float* noise_knots();

}  // namespace wellspring::contour
