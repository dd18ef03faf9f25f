// Reads a picture between its pixels: interpolates where the output enlarges it, and averages over
// the output pixel where the output shrinks it. Used by stored images and by generators that draw
// on a canvas of their own size; host and device.
#pragma once

#include "kernels/batch/pixel_run.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Returns the correctly rounded byte / 255 without a division: one Newton step on the rounded
/// product.
WS_INLINE float unit_from_byte(std::uint8_t byte) {
  constexpr float kInverse = 1.f / 255.f;
  const auto value = static_cast<float>(byte);
  const float quotient = value * kInverse;
  return math::fma(math::fma(-quotient, 255.f, value), kInverse, quotient);
}

namespace detail {

WS_INLINE int floor_int(float x) {
  return static_cast<int>(math::floor(x));
}

/// Adds weight * c, per channel.
WS_INLINE void add_weighted(float weight, Rgb c, Rgb& sum) {
  sum.r = math::fma(weight, c.r, sum.r);
  sum.g = math::fma(weight, c.g, sum.g);
  sum.b = math::fma(weight, c.b, sum.b);
}

/// Kernel of R. Keys, "Cubic convolution interpolation for digital image processing", IEEE Trans.
/// ASSP 29, 1981, with slope -1/2.
WS_INLINE float cubic(float distance) {
  const float d = math::abs(distance);
  if (d >= 2) return 0;
  if (d >= 1) return math::fma(math::fma(math::fma(-0.5f, d, 2.5f), d, -4.f), d, 2.f);
  return math::fma(math::fma(1.5f, d, -2.5f), d * d, 1.f);
}

/// Bicubic interpolation. When the picture shrinks, the kernel widens in proportion (like
/// torchvision's resize with antialias=True). Values outside [0, 1] are clamped.
template <class Texel>
WS_INLINE Rgb bicubic_mean(float x, float y, float footprint, const Texel& texel) {
  const float scale = math::max(footprint, 1.f), inverse = 1 / scale, reach = 2 * scale;
  const int first_x = floor_int(x - reach + 0.5f), end_x = floor_int(x + reach + 0.5f);
  const int first_y = floor_int(y - reach + 0.5f), end_y = floor_int(y + reach + 0.5f);
  const auto weight_of = [&](int cell, float centre) WS_INLINED {
    return cubic((static_cast<float>(cell) + 0.5f - centre) * inverse);
  };
  constexpr int kStored = 32;  // weights along x that are computed once, for footprints up to 7
  float stored[kStored];
  const bool stores = end_x - first_x <= kStored;
  for (int ix = first_x; stores && ix < end_x; ++ix) stored[ix - first_x] = weight_of(ix, x);
  Rgb sum;
  float whole = 0;
  for (int iy = first_y; iy < end_y; ++iy) {
    const float down = weight_of(iy, y);
    for (int ix = first_x; ix < end_x; ++ix) {
      const float weight = down * (stores ? stored[ix - first_x] : weight_of(ix, x));
      add_weighted(weight, texel(ix, iy), sum);
      whole += weight;
    }
  }
  return {math::clamp(sum.r / whole, 0.f, 1.f), math::clamp(sum.g / whole, 0.f, 1.f),
          math::clamp(sum.b / whole, 0.f, 1.f)};
}

/// Length of the part of [cell, cell + 1] that is in [low, high].
WS_INLINE float overlap(int cell, float low, float high) {
  const auto begin = static_cast<float>(cell), end = begin + 1;
  const float length = (end < high ? end : high) - (begin > low ? begin : low);
  return length > 0 ? length : 0;
}

/// The mean over the square of side `side` centred at (x, y), with sides parallel to the picture.
/// Each pixel is weighted by its area inside the square. A rotated footprint is treated as upright.
template <class Texel>
WS_INLINE Rgb box_mean(float x, float y, float side, const Texel& texel) {
  const float left = x - 0.5f * side, right = left + side;
  const float top = y - 0.5f * side, bottom = top + side;
  const int first_x = floor_int(left), end_x = floor_int(right) + 1;
  const int end_y = floor_int(bottom) + 1;
  Rgb sum;
  for (int iy = floor_int(top); iy < end_y; ++iy) {
    const float height = overlap(iy, top, bottom);
    for (int ix = first_x; ix < end_x; ++ix) {
      add_weighted(height * overlap(ix, left, right), texel(ix, iy), sum);
    }
  }
  const float whole = (right - left) * (bottom - top);
  return {sum.r / whole, sum.g / whole, sum.b / whole};
}

}  // namespace detail

/// The nearest 8-bit colour, in one word.
WS_INLINE std::uint32_t pack_rgb(Rgb c) {
  const auto byte = [](float value) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(math::fma(255.f, value, 0.5f)));
  };
  return byte(c.r) | byte(c.g) << 8 | byte(c.b) << 16;
}
WS_INLINE Rgb unpack_rgb(std::uint32_t word) {
  return {unit_from_byte(word & 255u), unit_from_byte(word >> 8 & 255u),
          unit_from_byte(word >> 16 & 255u)};
}

/// The colour at lane i of a run. `texel(column, row)` is the colour of a pixel, also beyond the
/// border. At a footprint of 1, the mean and the bilinear interpolation agree, so there is no seam
/// between them.
template <int N, class Texel>
WS_INLINE Rgb resample(const PixelRun<N>& run, int i, const Texel& texel) {
  if (run.bicubic) return detail::bicubic_mean(run.x[i], run.y[i], run.footprint, texel);
  if (run.footprint > 1) return detail::box_mean(run.x[i], run.y[i], run.footprint, texel);
  return between_pixels(run.x[i], run.y[i], texel);
}

}  // namespace wellspring
