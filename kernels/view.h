// How a sample is looked at: per-sample warp (crop, flip, scale, rotation), colour operations and
// normalisation, drawn from Philox and applied in the one emission pass. Host and device.
#pragma once

#include <cstdint>

#include "kernels/macros.h"
#include "kernels/philox.h"

namespace wellspring {

/// The view as configured: ranges to draw from. All zero: identity.
struct ViewSpec {
  float flip_x = 0;       ///< probability of a horizontal mirror, [0, 1]
  float flip_y = 0;       ///< probability of a vertical mirror, [0, 1]
  float shift = 0;        ///< largest translation per axis, as a fraction of the side, [0, 1)
  float zoom_low = 1, zoom_high = 1;  ///< scale of the content, log-uniform between the two
  float rotate = 0;       ///< largest rotation, radians
  float brightness = 0;   ///< largest additive change, [0, 1]
  float contrast = 0;     ///< largest relative change of contrast about 0.5, [0, 1)
  float saturation = 0;   ///< largest relative change of saturation, [0, 1)
  int erase = 0;          ///< side of a square set to the mean, in pixels; 0: none (cutout)
  float mean[3] = {0, 0, 0};      ///< subtracted, per channel, in units of [0, 1] intensity
  float inv_std[3] = {1, 1, 1};   ///< multiplied after; x_out = (x - mean) * inv_std
};

/// Colours in [0, 1], linear operations only.
struct Rgb {
  float r = 0, g = 0, b = 0;
};

/// Where a pixel is looked up, in units of source pixels: the centre of the top-left pixel is
/// (0.5, 0.5). `footprint` is the side of the output pixel in source pixels (1 without zoom): the
/// width over which edges are anti-aliased.
struct PixelCoordinate {
  float x = 0, y = 0;
  float footprint = 1;
};

/// One sample's drawn view: source = m * (output - centre) + centre + shift, then colour.
struct View {
  float m00 = 1, m01 = 0, m10 = 0, m11 = 1;
  float offset_x = 0, offset_y = 0;
  float footprint = 1;
  float gain[3], bias[3];  ///< brightness, contrast and normalisation folded together
  float saturation = 1;
  int erase_x0 = 0, erase_y0 = 0, erase_x1 = 0, erase_y1 = 0;
};

}  // namespace wellspring
