// Colours by hue, for generators that draw their own. Host and device.
#pragma once

#include "kernels/emission/pixel_run.h"
#include "kernels/macros.h"
#include "kernels/math.h"

namespace wellspring {

/// A colour of this hue, in turns of any size (0 red, 1 / 3 green, 2 / 3 blue); `white` is what the
/// channels have in common, in [0, 1], and `value` the largest channel.
WS_INLINE Rgb hue_colour(float hue, float white, float value) {
  const float h = 6 * math::fract(hue);
  const float r = math::clamp(math::abs(h - 3) - 1, 0.f, 1.f);
  const float g = math::clamp(2 - math::abs(h - 2), 0.f, 1.f);
  const float b = math::clamp(2 - math::abs(h - 4), 0.f, 1.f);
  return {value * math::lerp(white, 1, r), value * math::lerp(white, 1, g),
          value * math::lerp(white, 1, b)};
}

}  // namespace wellspring
