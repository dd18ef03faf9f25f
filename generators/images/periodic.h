// Access to the cells of a periodic grid at a point of the plane. Called by generators
// that show such a grid; host and device.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::periodic {

/// A coordinate in cells, clamped to 2^22. Towards the horizon, coordinates exceed this value, and
/// floats no longer resolve cells.
WS_INLINE float near(float at) {
  return math::clamp(at, -0x1p+22f, 0x1p+22f);
}

/// The largest integer up to a coordinate, which is clamped to 2^30: towards the horizon, it would
/// not fit, and devices convert such values differently.
WS_INLINE std::int32_t floor_int(float at) {
  return static_cast<std::int32_t>(math::floor(math::clamp(at, -0x1p+30f, 0x1p+30f)));
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

/// Bilinear interpolation between the centres of the four nearest cells. `value(column, row)` is
/// the value of a cell of the grid; x and y count from the upper left corner of cell (column, row).
template <class Value>
WS_INLINE float bilinear(float x, float y, std::int32_t column, std::int32_t row, std::int32_t side,
                         const Value& value) {
  const float fx = near(x) - 0.5f, fy = near(y) - 0.5f;
  const float floor_x = math::floor(fx), floor_y = math::floor(fy);
  const std::int32_t left = wrap(static_cast<std::int32_t>(floor_x) + column, side);
  const std::int32_t upper = wrap(static_cast<std::int32_t>(floor_y) + row, side);
  const std::int32_t right = left + 1 == side ? 0 : left + 1;
  const std::int32_t lower = upper + 1 == side ? 0 : upper + 1;
  const float u = fx - floor_x, v = fy - floor_y;
  return math::lerp(math::lerp(value(left, upper), value(right, upper), u),
                    math::lerp(value(left, lower), value(right, lower), u), v);
}

}  // namespace wellspring::periodic
