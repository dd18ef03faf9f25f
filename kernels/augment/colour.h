// Colour operations on runs of pixels, as drawn into an Augmentation: torchvision's semantics, with
// a clamp to [0, 1] after each; then normalisation and the erased box. Host and device.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

namespace wellspring {

namespace detail {

/// Luma, with the weights of ITU-R BT.601.
WS_INLINE float luma(float r, float g, float b) {
  return math::fma(0.299f, r, math::fma(0.587f, g, 0.114f * b));
}
/// base + factor (value - base), clamped: torchvision's blend of two images.
WS_INLINE float blend(float base, float value, float factor) {
  return math::clamp(math::fma(factor, value - base, base), 0.f, 1.f);
}

template <int N>
WS_INLINE void shift_hue(float shift, float (&r)[N], float (&g)[N], float (&b)[N]) {
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const float high = math::max(r[i], math::max(g[i], b[i]));
    const float low = math::min(r[i], math::min(g[i], b[i]));
    const float range = high - low;
    const float inverse = 1 / (range > 0 ? range : 1.f);
    const float from_red = (g[i] - b[i]) * inverse, from_green = 2 + (b[i] - r[i]) * inverse;
    const float from_blue = 4 + (r[i] - g[i]) * inverse;
    const float sextants = high == r[i] ? from_red : (high == g[i] ? from_green : from_blue);
    const float turn = math::fma(sextants, 1.f / 6, shift);
    const float hue = 6 * (turn - math::floor(turn));
    // Each primary over the hue circle is a trapezium (A. R. Smith, "Color gamut transform pairs",
    // SIGGRAPH 1978), a function of the distance from the primary's own hue.
    const float red = math::clamp(math::abs(hue - 3) - 1, 0.f, 1.f);
    const float green = math::clamp(2 - math::abs(hue - 2), 0.f, 1.f);
    const float blue = math::clamp(2 - math::abs(hue - 4), 0.f, 1.f);
    r[i] = math::min(math::fma(range, red, low), high);
    g[i] = math::min(math::fma(range, green, low), high);
    b[i] = math::min(math::fma(range, blue, low), high);
  }
}

/// floor(v levels) / levels: torchvision's posterize for floats.
WS_INLINE float posterise(float v, float levels) {
  return math::clamp(math::floor(v * levels), 0.f, levels - 1) / levels;
}

template <int N>
WS_INLINE void apply_colour_step(const ColourStep& step, float (&r)[N], float (&g)[N],
                                 float (&b)[N]) {
  const float factor = step.value;
  switch (step.op) {
    case AugmentOp::brightness:
      WS_LANES
      for (int i = 0; i < N; ++i) {
        r[i] = math::clamp(factor * r[i], 0.f, 1.f);
        g[i] = math::clamp(factor * g[i], 0.f, 1.f);
        b[i] = math::clamp(factor * b[i], 0.f, 1.f);
      }
      break;
    case AugmentOp::contrast:
      WS_LANES
      for (int i = 0; i < N; ++i) {
        r[i] = blend(0.5f, r[i], factor);
        g[i] = blend(0.5f, g[i], factor);
        b[i] = blend(0.5f, b[i], factor);
      }
      break;
    case AugmentOp::saturation:
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const float grey = luma(r[i], g[i], b[i]);
        r[i] = blend(grey, r[i], factor);
        g[i] = blend(grey, g[i], factor);
        b[i] = blend(grey, b[i], factor);
      }
      break;
    case AugmentOp::hue:
      shift_hue(factor, r, g, b);
      break;
    case AugmentOp::grey:
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const float grey = luma(r[i], g[i], b[i]);
        r[i] = grey;
        g[i] = grey;
        b[i] = grey;
      }
      break;
    case AugmentOp::solarise:
      WS_LANES
      for (int i = 0; i < N; ++i) {
        r[i] = r[i] < factor ? r[i] : 1 - r[i];
        g[i] = g[i] < factor ? g[i] : 1 - g[i];
        b[i] = b[i] < factor ? b[i] : 1 - b[i];
      }
      break;
    case AugmentOp::posterise:
      WS_LANES
      for (int i = 0; i < N; ++i) {
        r[i] = posterise(r[i], factor);
        g[i] = posterise(g[i], factor);
        b[i] = posterise(b[i], factor);
      }
      break;
    default:
      break;
  }
}

}  // namespace detail

/// Applies the drawn colour operations `from` to `to` - 1, in order, to colours in [0, 1];
/// whole_image.h has those that need another pass.
template <int N>
WS_INLINE void apply_colour(const Augmentation& a, int from, int to, float (&r)[N], float (&g)[N],
                            float (&b)[N]) {
  for (int s = from; s < to; ++s) detail::apply_colour_step(a.colour[s], r, g, b);
}

template <int N>
WS_INLINE void normalise(const Augmentation& a, float (&r)[N], float (&g)[N], float (&b)[N]) {
  WS_LANES
  for (int i = 0; i < N; ++i) {
    r[i] = math::fma(a.gain[0], r[i], a.bias[0]);
    g[i] = math::fma(a.gain[1], g[i], a.bias[1]);
    b[i] = math::fma(a.gain[2], b[i], a.bias[2]);
  }
}

/// Sets the part of the erased box in the run from output pixel (x, y) on to 0: the mean, as it
/// comes after normalisation.
template <int N>
WS_INLINE void erase_box(const Augmentation& a, int x, int y, float (&r)[N], float (&g)[N],
                         float (&b)[N]) {
  if (y < a.erase_y0 || y >= a.erase_y1) return;
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const bool inside = x + i >= a.erase_x0 && x + i < a.erase_x1;
    r[i] = inside ? 0.f : r[i];
    g[i] = inside ? 0.f : g[i];
    b[i] = inside ? 0.f : b[i];
  }
}

}  // namespace wellspring
