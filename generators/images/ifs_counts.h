// Images of point counts: every point adds the same patch, the ratio of a pixel's count to the
// largest count determines its hue, and uncovered pixels show the background. Used by mode `svd` of
// generator `ifs` and by generator `ifs_multi`; host and device.
//
// After C. Anderson, R. Farrell, "Improving fractal pre-training", WACV 2022, and its program.
#pragma once

#include "generators/images/diamond_square.h"
#include "generators/images/hues.h"
#include "generators/images/ifs_categories.h"
#include "generators/images/ifs_system.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <bit>
#include <cstdint>

namespace wellspring::ifs {

/// The patch of a single pixel: bit 3 y + x of nine, where y and x count from the upper left
/// corner.
inline constexpr std::uint32_t kPointMask = 1u << 4;

/// Patch and colours of a fractal; hues are in steps of 2 degrees.
struct CountStyle {
  std::uint32_t mask;  ///< at least one of nine bits
  float hue, saturation, value;
};
/// Draws one word per member, in this order. The mask is one of the 511 that are not empty.
WS_INLINE CountStyle draw_counts(RngStream& draw) {
  CountStyle style;
  style.mask = draw.integer(511) + 1;
  style.hue = draw.uniform(0.0f, 255.0f);
  style.saturation = draw.uniform(0.3f, 1.0f);
  style.value = draw.uniform(0.5f, 1.0f);
  return style;
}

/// Plasma background; a colour is scale times height plus shift.
struct GroundStyle {
  float decay;
  float hue_scale, hue_shift, saturation_scale, saturation_shift, value_scale, value_shift;
};
/// Draws one word per member, in this order.
WS_INLINE GroundStyle draw_ground(RngStream& draw) {
  GroundStyle style;
  style.decay = draw.uniform(0.4f, 0.8f);
  style.hue_scale = draw.uniform(0.25f * 255, 255.0f);
  style.hue_shift = draw.uniform(0.0f, 255.0f);
  style.saturation_scale = draw.uniform(0.1f, 0.3f);
  style.saturation_shift = draw.uniform(0.4f, 0.6f);
  style.value_scale = draw.uniform(0.3f, 0.6f);
  style.value_shift = draw.uniform(0.4f, 0.6f);
  return style;
}

/// Multiplies the jitter's map, then mirrors all maps about the diagonal if `transposed`.
WS_INLINE void jitter_maps(System& system, const Jitter& jitter, bool transposed) {
  WS_UNROLL(7)
  for (int i = 0; i < kMaxMaps; ++i) {
    const Map& map = system.map[i];
    const float by = i == jitter.map ? jitter.factor : 1.0f;
    const Map of = {map.a * by, map.b * by, map.c * by, map.d * by, map.e * by, map.f * by};
    system.map[i] = transposed ? Map{of.d, of.c, of.b, of.a, of.f, of.e} : of;
  }
}
WS_INLINE Window transposed(const Window& of) {
  return {of.y0, of.y1, of.x0, of.x1, of.point_y, of.point_x};
}

/// HSV colour whose hue wraps like a byte: floor(hue) mod 256, in units of 2 degrees (180 per
/// turn). Requires |hue| < 2^20.
WS_INLINE Rgb wrapped_hue(float hue, float saturation, float value) {
  const int byte = static_cast<int>(math::floor(hue)) & 255;
  const Rgb pure = hue_primaries(static_cast<float>(byte < 180 ? byte : byte - 180) / 30);
  return {value * math::fma(saturation, pure.r - 1, 1.0f),
          value * math::fma(saturation, pure.g - 1, 1.0f),
          value * math::fma(saturation, pure.b - 1, 1.0f)};
}

/// Colour of a pixel whose count is this fraction of the largest count.
WS_INLINE Rgb count_colour(const CountStyle& style, float share) {
  return wrapped_hue(math::fma(255.0f, share, style.hue), style.saturation, style.value);
}
WS_INLINE Rgb background(const GroundStyle& style, float height) {
  return wrapped_hue(
      math::fma(height, style.hue_scale, style.hue_shift),
      math::clamp(math::fma(height, style.saturation_scale, style.saturation_shift), 0.0f, 1.0f),
      math::clamp(math::fma(height, style.value_scale, style.value_shift), 0.0f, 1.0f));
}

/// Number of patches that cover the pixel of a cell; they belong to points in this cell and its
/// neighbours.
WS_INLINE std::uint32_t covering(const std::uint32_t* centre, int stride, std::uint32_t mask) {
  std::uint32_t count = 0;
  WS_UNROLL(9)
  for (int i = 0; i < 9; ++i) {
    // The upper left neighbour covers the pixel with the lower right bit of its patch, and so on.
    count += centre[(i / 3 - 1) * stride + i % 3 - 1] & (0u - (mask >> (8 - i) & 1u));
  }
  return count;
}

/// Called by all members: writes the largest count of `width` x `height` pixels to `largest`, which
/// must be 0 before. `cells` has a border of one cell.
template <class Team>
WS_INLINE void find_largest(Team& team, const std::uint32_t* cells, int width, int height,
                            std::uint32_t mask, std::uint32_t* largest) {
#if WS_DEVICE_CODE
  constexpr int N = 1;
#else
  constexpr int N = 16;
#endif
  const int stride = width + 2;
  std::uint32_t most[N] = {};
  for (OwnRuns<N> own(team, width, height); own.inside(); own.go_on()) {
    const int row = own.row(), first = own.column();
    const std::uint32_t* const line = cells + (row + 1) * stride + 1;
#if !WS_DEVICE_CODE && !defined(__CUDACC__)
#pragma omp simd
#endif
    for (int l = 0; l < N; ++l) {
      const int column = first + l < width ? first + l : width - 1;
      const std::uint32_t count = covering(line + column, stride, mask);
      most[l] = count > most[l] ? count : most[l];
    }
  }
  std::uint32_t found = 0;
  for (int l = 0; l < N; ++l) found = most[l] > found ? most[l] : found;
  if (found > 0) team.atomic_max(largest, found);
}

}  // namespace wellspring::ifs
