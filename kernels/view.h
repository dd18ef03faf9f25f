// How a sample is looked at: per-sample warp (crop, flip, scale, rotation), colour operations and
// normalisation, drawn from Philox and applied in the one emission pass
// (kernels/emission/viewing.h). Host and device.
#pragma once

#include "kernels/emission/batch.h"
#include "kernels/macros.h"
#include "kernels/math.h"
#include "kernels/philox.h"

#include <cstdint>

namespace wellspring {

/// What a stored image shows beyond its border. Formulas extend as they see fit.
enum class Padding : std::uint8_t {
  zero,  ///< black
  edge,  ///< the nearest pixel of the border, repeated
};

/// The view as configured: ranges to draw from. The default is the identity.
struct ViewSpec {
  float flip_x = 0;      ///< probability of a horizontal mirror, [0, 1]
  float flip_y = 0;      ///< probability of a vertical mirror, [0, 1]
  float shift = 0;       ///< largest translation per axis, as a fraction of the side, [0, 1)
  float zoom_low = 1;    ///< scale of the content, log-uniform between the two; 2 shows half as
  float zoom_high = 1;   ///< much, twice as large
  float rotate = 0;      ///< largest rotation, radians
  float brightness = 0;  ///< largest additive change, [0, 1]
  float contrast = 0;    ///< largest relative change of contrast about 0.5, [0, 1)
  float saturation = 0;  ///< largest relative change of saturation, [0, 1]
  int erase = 0;         ///< side of a square set to the mean, in pixels; 0: none (cutout)
  Padding padding = Padding::zero;
  float mean[3] = {0, 0, 0};     ///< subtracted, per channel, in units of [0, 1] intensity
  float inv_std[3] = {1, 1, 1};  ///< multiplied after; x_out = (x - mean) * inv_std

  friend bool operator==(const ViewSpec&, const ViewSpec&) = default;
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

/// One sample's drawn view: source = m * (output - centre) + origin, then colour.
struct View {
  float m00 = 1, m01 = 0, m10 = 0, m11 = 1;
  float centre_x = 0, centre_y = 0;  ///< of the output, in output pixels
  float origin_x = 0, origin_y = 0;  ///< where that centre lies, in source pixels
  float footprint = 1;
  float gain[3] = {1, 1, 1};  ///< brightness, contrast and normalisation folded together:
  float bias[3] = {0, 0, 0};  ///< out = gain * colour + bias
  float saturation = 1;
  int erase_x0 = 0, erase_y0 = 0, erase_x1 = 0, erase_y1 = 0;  ///< output pixels, ends excluded
  Padding padding = Padding::zero;
  bool on_grid = true;  ///< pixel centres map to pixel centres by flips and whole-pixel shifts

  /// Source coordinate of the output point (x, y); pixel centres are at halves. Exact for flips and
  /// whole-pixel shifts.
  WS_INLINE float source_x(float x, float y) const {
    return math::fma(m00, x - centre_x, math::fma(m01, y - centre_y, origin_x));
  }
  WS_INLINE float source_y(float x, float y) const {
    return math::fma(m10, x - centre_x, math::fma(m11, y - centre_y, origin_y));
  }
};

/// The Philox words one view takes: every range has its own, drawn or not, so that switching one
/// operation on moves none of the others.
inline constexpr std::uint32_t kViewWords = 12;

/// Draws the view of one sample. `source` is the shape of what is looked at, `out` that of the
/// sample; where they differ the source is scaled, aspect kept, until it just covers the output.
/// `rng.sample` is the slot's ordinal, so that each pass over a data set sees new views.
WS_HD inline View draw_view(const ViewSpec& spec, SampleShape source, SampleShape out,
                            SampleRng rng) {
  RngStream draw(rng, Purpose::augment);
  const bool flip_x = draw.uniform() < spec.flip_x;
  const bool flip_y = draw.uniform() < spec.flip_y;
  const float shift_x = draw.uniform(), shift_y = draw.uniform();
  const float zoom_u = draw.uniform(), rotate_u = draw.uniform();
  const float brightness_u = draw.uniform(), contrast_u = draw.uniform();
  const float saturation_u = draw.uniform();
  const std::uint32_t erase_u = draw.next(), erase_v = draw.next();
  draw.next();  // spare: kViewWords is a whole number of blocks

  View view;
  view.padding = spec.padding;
  const auto width = static_cast<float>(out.width), height = static_cast<float>(out.height);
  const auto source_width = static_cast<float>(source.width);
  const auto source_height = static_cast<float>(source.height);
  view.centre_x = 0.5f * width;
  view.centre_y = 0.5f * height;

  // Whole-pixel shifts, each equally likely, as in pad-and-crop: flips and shifts then permute
  // pixels and change none.
  const float reach_x = math::floor(spec.shift * source_width);
  const float reach_y = math::floor(spec.shift * source_height);
  view.origin_x = 0.5f * source_width + (math::floor(shift_x * (2 * reach_x + 1)) - reach_x);
  view.origin_y = 0.5f * source_height + (math::floor(shift_y * (2 * reach_y + 1)) - reach_y);

  const float cover_x = source_width / width, cover_y = source_height / height;
  float step = cover_x < cover_y ? cover_x : cover_y;
  if (spec.zoom_low != 1 || spec.zoom_high != 1) {
    step /= spec.zoom_low * math::exp(zoom_u * math::log(spec.zoom_high / spec.zoom_low));
  }
  view.footprint = step;
  float cosine = 1, sine = 0;
  if (spec.rotate != 0) {
    const float turns = (2 * rotate_u - 1) * spec.rotate * (1 / math::kTau);
    cosine = math::cos_turns(turns);
    sine = math::sin_turns(turns);
  }
  const float mirror_x = flip_x ? -step : step, mirror_y = flip_y ? -step : step;
  view.m00 = cosine * mirror_x;
  view.m01 = -sine * mirror_y;
  view.m10 = sine * mirror_x;
  view.m11 = cosine * mirror_y;
  view.on_grid = step == 1 && spec.rotate == 0 && ((source.width - out.width) & 1) == 0 &&
                 ((source.height - out.height) & 1) == 0;

  const float contrast = 1 + (2 * contrast_u - 1) * spec.contrast;
  const float lift = (2 * brightness_u - 1) * spec.brightness + 0.5f * (1 - contrast);
  for (int c = 0; c < 3; ++c) {
    view.gain[c] = contrast * spec.inv_std[c];
    view.bias[c] = (lift - spec.mean[c]) * spec.inv_std[c];
  }
  view.saturation = 1 + (2 * saturation_u - 1) * spec.saturation;

  if (spec.erase > 0) {  // centred anywhere, so that it may hang over the border (cutout)
    view.erase_x0 =
        static_cast<int>(below(erase_u, static_cast<std::uint32_t>(out.width))) - spec.erase / 2;
    view.erase_y0 =
        static_cast<int>(below(erase_v, static_cast<std::uint32_t>(out.height))) - spec.erase / 2;
    view.erase_x1 = view.erase_x0 + spec.erase;
    view.erase_y1 = view.erase_y0 + spec.erase;
  }
  return view;
}

}  // namespace wellspring
