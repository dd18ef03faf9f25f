// Colours from hues, for generators that choose their own colours. Host and device.
#pragma once

#include "kernels/batch/pixel_run.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

namespace wellspring {

/// Red, green and blue of a pure hue in sextants, [0, 6). Each is a trapezium function of the hue
/// (A. R. Smith, "Color gamut transform pairs", SIGGRAPH 1978).
WS_INLINE Rgb hue_primaries(float sextants) {
  return {math::clamp(math::abs(sextants - 3) - 1, 0.f, 1.f),
          math::clamp(2 - math::abs(sextants - 2), 0.f, 1.f),
          math::clamp(2 - math::abs(sextants - 4), 0.f, 1.f)};
}

/// Colour of a hue in turns (0 red, 1/3 green, 2/3 blue; any number). `white`, in [0, 1], is the
/// part that all channels share; `value` is the largest channel.
WS_INLINE Rgb hue_colour(float hue, float white, float value) {
  const Rgb pure = hue_primaries(6 * math::fract(hue));
  return {value * math::lerp(white, 1, pure.r), value * math::lerp(white, 1, pure.g),
          value * math::lerp(white, 1, pure.b)};
}

}  // namespace wellspring
