// Cells of a periodic grid under a place of the plane. Called by generators that show a lattice.
// Host and device.
#pragma once

#include "kernels/macros.h"
#include "kernels/math.h"

#include <cstdint>

namespace wellspring::periodic {

/// A coordinate in cells, kept where all of them differ: beyond 2^22 the horizon has none of its
/// own.
WS_INLINE float near(float at) {
  return math::clamp(at, -0x1p+22f, 0x1p+22f);
}

/// i modulo `side`.
WS_INLINE std::int32_t wrap(std::int32_t i, std::int32_t side) {
  const std::int32_t rest = i % side;
  return rest < 0 ? rest + side : rest;
}

/// The cell of a coordinate, modulo `side`.
WS_INLINE std::int32_t cell(float at, std::int32_t side) {
  const auto whole = static_cast<std::int32_t>(math::floor(near(at)));
  return whole >= 0 && whole < side ? whole : wrap(whole, side);
}

}  // namespace wellspring::periodic
