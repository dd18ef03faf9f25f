// Pictures of how often a point falls: every point adds a patch that is the same for a whole image,
// the share of the largest count is a hue, and what no patch covers is the background. Mode `svd`
// of generator `ifs`; host and device.
//
// After C. Anderson, R. Farrell, "Improving fractal pre-training", WACV 2022, and its program.
#pragma once

#include "generators/images/diamond_square.h"
#include "generators/images/hues.h"
#include "kernels/emission/pixel_run.h"
#include "kernels/macros.h"
#include "kernels/math.h"
#include "kernels/philox.h"

#include <bit>
#include <cstdint>

namespace wellspring::ifs {

/// The patch of a point alone: bit 3 y + x of the nine, y and x from the upper left corner.
inline constexpr std::uint32_t kPointMask = 1u << 4;

/// Patch and colours of an image. Hues in steps of 2 degrees.
struct CountStyle {
  std::uint32_t mask;  ///< at least one of nine bits
  float hue, saturation, value;
  float decay;  ///< of the background, as are all that follow: scale times height plus shift
  float hue_scale, hue_shift, saturation_scale, saturation_shift, value_scale, value_shift;
};

/// One word a number, in this order. A mask is one of 511: the empty one is not drawn.
WS_INLINE CountStyle draw_style(const SampleRng& rng) {
  RngStream draw(rng, Purpose::colour);
  CountStyle style;
  style.mask = draw.integer(511) + 1;
  style.hue = draw.uniform(0.0f, 255.0f);
  style.saturation = draw.uniform(0.3f, 1.0f);
  style.value = draw.uniform(0.5f, 1.0f);
  style.decay = draw.uniform(0.4f, 0.8f);
  style.hue_scale = draw.uniform(0.25f * 255, 255.0f);
  style.hue_shift = draw.uniform(0.0f, 255.0f);
  style.saturation_scale = draw.uniform(0.1f, 0.3f);
  style.saturation_shift = draw.uniform(0.4f, 0.6f);
  style.value_scale = draw.uniform(0.3f, 0.6f);
  style.value_shift = draw.uniform(0.4f, 0.6f);
  return style;
}

/// HSV with its hue in bytes that go round: floor(hue) mod 256, in units of 2 degrees, 180 of which
/// are a turn. |hue| below 2^20.
WS_INLINE Rgb wrapped_hue(float hue, float saturation, float value) {
  const int byte = static_cast<int>(math::floor(hue)) & 255;
  const Rgb pure = hue_primaries(static_cast<float>(byte < 180 ? byte : byte - 180) / 30);
  return {value * math::fma(saturation, pure.r - 1, 1.0f),
          value * math::fma(saturation, pure.g - 1, 1.0f),
          value * math::fma(saturation, pure.b - 1, 1.0f)};
}

WS_INLINE Rgb background(const CountStyle& style, float height) {
  return wrapped_hue(
      math::fma(height, style.hue_scale, style.hue_shift),
      math::clamp(math::fma(height, style.saturation_scale, style.saturation_shift), 0.0f, 1.0f),
      math::clamp(math::fma(height, style.value_scale, style.value_shift), 0.0f, 1.0f));
}

/// How many points' patches cover the pixel of a cell, by the points that fell into it and around
/// it.
WS_INLINE std::uint32_t covering(const std::uint32_t* centre, int stride, std::uint32_t mask) {
  std::uint32_t count = 0;
  WS_UNROLL(9)
  for (int i = 0; i < 9; ++i) {
    // The neighbour up and left of the pixel covers it by its patch's lower right bit.
    count += centre[(i / 3 - 1) * stride + i % 3 - 1] & (0u - (mask >> (8 - i) & 1u));
  }
  return count;
}

/// All members: the largest such count of `width` x `height` pixels, kept in `largest`, which
/// begins as 0. `cells` have a border of one.
template <class Team>
WS_INLINE void find_largest(Team& team, const std::uint32_t* cells, int width, int height,
                            std::uint32_t mask, std::uint32_t* largest) {
#if WS_DEVICE_CODE
  constexpr int N = 1;
#else
  constexpr int N = 16;
#endif
  const int across = (width + N - 1) / N, stride = width + 2;
  std::uint32_t most[N] = {};
  for (int piece = team.rank(); piece < across * height; piece += team.size()) {
    const int row = piece / across, first = (piece - row * across) * N;
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
