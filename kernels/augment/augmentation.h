// Augmentation: how one sample is looked at. A plan (what may happen, made once by the planner in
// augmentation_ops.h) and what was drawn from it for one sample by draw_augmentation.h: a
// homography from output pixels to source pixels, colour steps in order, normalisation, a box to
// erase, a blur. Plain data, for host and device.
#pragma once

#include "kernels/augment/homography.h"
#include "kernels/batch/batch.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Every operation there is. The numbers key random words: they are never given to another one.
enum class AugmentOp : std::uint8_t {
  none = 0,
  crop_resize = 1,
  flip_x = 2,
  flip_y = 3,
  shift = 4,
  zoom = 5,
  rotate = 6,
  perspective = 7,
  affine = 8,
  brightness = 16,
  contrast = 17,
  saturation = 18,
  hue = 19,
  grey = 20,
  solarise = 21,
  posterise = 22,
  autocontrast = 23,
  equalise = 24,
  sharpen = 25,
  noise = 26,
  contrast_about_mean = 27,  ///< of drawn steps alone: a `contrast` about the mean of the image
  blur = 32,
  erase = 40,
  erase_box = 41,
  rand_augment = 48,
};

/// Whether a colour operation takes the pass over whole images: it needs neighbours or the whole
/// image, or, as noise, code that would be long in the kernel of every generator.
WS_INLINE constexpr bool takes_a_pass(AugmentOp op) {
  return op == AugmentOp::autocontrast || op == AugmentOp::equalise || op == AugmentOp::sharpen ||
         op == AugmentOp::contrast_about_mean || op == AugmentOp::noise;
}

/// What a stored image shows beyond its border. Formulas extend as they see fit.
enum class Padding : std::uint8_t {
  zero,  ///< black
  edge,  ///< the nearest pixel of the border, repeated
};

/// How stored images are read between their pixels.
enum class Interpolation : std::uint8_t { bilinear, bicubic };

inline constexpr int kMostGeometrySteps = 9;
inline constexpr int kMostColourSteps = 12;
inline constexpr int kMostRandOperations = 4;
/// Of one sample: those of a list, and of the operations that stand for several.
inline constexpr int kMostDrawnColours = kMostColourSteps - 1 + kMostRandOperations;

/// One operation of a plan. `value` is, by operation:
///
///     crop_resize  share of the area, from and to; logarithm of the ratio, from and to
///     shift        whole source pixels, either way, along x and along y
///     zoom         smallest scale, logarithm of largest over smallest
///     rotate       largest rotation, turns
///     perspective  whole source pixels by which a corner moves at most, along x and along y
///     affine       largest rotation, turns; largest shift along x and y, source pixels; smallest
///     and
///                  largest scale; largest shear along x and y, turns
///     brightness, contrast, saturation   least and largest factor; of contrast, 1 about the mean
///     hue          largest shift, turns of the colour circle
///     solarise     threshold
///     posterise    bits that are kept
///     sharpen      factor
///     noise        standard deviation
///     blur         standard deviation, from and to, pixels
///     erase        side, pixels
///     erase_box    share of the area, from and to; logarithm of the ratio, from and to; 1: filled
///                  with noise
///     rand_augment how many operations; magnitude, of 30; its standard deviation
struct AugmentStep {
  AugmentOp op = AugmentOp::none;
  float probability = 0;
  float value[8] = {0, 0, 0, 0, 0, 0, 0, 0};

  friend bool operator==(const AugmentStep&, const AugmentStep&) = default;
};

WS_INLINE constexpr FrameSize frame_of(SampleShape shape) {
  return {shape.width, shape.height};
}

/// What may happen to the samples of a source. The default does nothing, to images of any size.
struct AugmentationPlan {
  FrameSize source, out;  ///< of what is looked at, and of what is made; 0: of any size
  AugmentStep geometry[kMostGeometrySteps];
  AugmentStep colour[kMostColourSteps];
  std::int32_t geometry_count = 0;
  std::int32_t colour_count = 0;
  std::int32_t colour_before_blur = 0;
  AugmentStep blur, erase;       ///< op none where not in the list
  std::int32_t blur_radius = 0;  ///< pixels on each side that take part
  bool whole_images = false;     ///< some operation takes the pass over whole images
  Padding padding = Padding::zero;
  Interpolation interpolation = Interpolation::bilinear;
  std::uint32_t view = 0;        ///< which of several looks at the same samples, below 2^16
  float mean[3] = {0, 0, 0};     ///< subtracted, per channel, in units of [0, 1] intensity
  float inv_std[3] = {1, 1, 1};  ///< multiplied after

  WS_INLINE bool blurs() const { return blur.op != AugmentOp::none; }
  /// Whether passes follow the emission.
  WS_INLINE bool goes_on() const { return blurs() || whole_images; }
  friend bool operator==(const AugmentationPlan&, const AugmentationPlan&) = default;
};

/// A drawn colour operation: brightness, contrast, saturation, sharpen and hue with their factor or
/// shift, solarise with its threshold, posterise with its number of levels, noise with its standard
/// deviation.
struct ColourStep {
  AugmentOp op = AugmentOp::none;
  float value = 0;
};

/// One sample's drawn augmentation. With d = (output point - centre), both in output pixels, the
/// source point is (m d + origin) / (w . (d, 1)), in source pixels; pixel centres are at halves.
struct Augmentation {
  float m00 = 1, m01 = 0, m10 = 0, m11 = 1;
  float origin_x = 0, origin_y = 0;
  float centre_x = 0, centre_y = 0;
  float w_x = 0, w_y = 0, w = 1;
  float footprint = 1;      ///< side of an output pixel in source pixels, at the centre: edges are
                            ///< anti-aliased over it
  bool projective = false;  ///< w matters
  bool unfinished = false;  ///< the list goes on behind the emission pass
  bool on_grid = true;      ///< pixel centres map to pixel centres by flips and whole-pixel shifts
  Padding padding = Padding::zero;
  Interpolation interpolation = Interpolation::bilinear;
  bool erase_noise = false;  ///< the box is filled with noise instead of the mean
  std::int32_t colour_count = 0;
  std::int32_t colour_at_emission = 0;  ///< how many the emission pass applies: up to the first
                                        ///< that needs the whole image, or to the blur
  std::int32_t colour_before_blur = 0;
  ColourStep colour[kMostDrawnColours];
  float gain[3] = {1, 1, 1};  ///< normalisation: out = gain * colour + bias
  float bias[3] = {0, 0, 0};
  std::int32_t erase_x0 = 0, erase_y0 = 0, erase_x1 = 0, erase_y1 = 0;  ///< ends excluded
  float blur_sigma = 0;                                                 ///< pixels; 0: none
  std::uint32_t noise_key[2] = {0, 0},
                erase_key[2] = {0, 0};  ///< of normal numbers, pixel by pixel

  /// Source coordinates of the output point (x, y). Exact for flips and whole-pixel shifts.
  WS_INLINE float source_x(float x, float y) const {
    const float dx = x - centre_x, dy = y - centre_y;
    const float along = math::fma(m00, dx, math::fma(m01, dy, origin_x));
    return projective ? along / depth(dx, dy) : along;
  }
  WS_INLINE float source_y(float x, float y) const {
    const float dx = x - centre_x, dy = y - centre_y;
    const float along = math::fma(m10, dx, math::fma(m11, dy, origin_y));
    return projective ? along / depth(dx, dy) : along;
  }
  /// The third homogeneous coordinate. What lies behind the horizon is put far away in front of it;
  /// within a quadrilateral of the largest distortion the depth stays above twice the least.
  WS_INLINE float depth(float dx, float dy) const {
    return math::max(math::fma(w_x, dx, math::fma(w_y, dy, w)), kLeastDepth);
  }

  static constexpr float kLeastDepth = 0x1p-12f;
};

/// A box of source coordinates.
struct SourceBox {
  float x0, y0, x1, y1;
};

/// Bounds what is looked up by the output rectangle [x, x + width] x [y, y + height]: the box of
/// its four corners, since straight lines stay straight; everything where it reaches the horizon.
WS_INLINE SourceBox source_box(const Augmentation& a, float x, float y, float width, float height) {
  SourceBox box = {math::kInfinity, math::kInfinity, -math::kInfinity, -math::kInfinity};
  bool horizon = false;
  WS_UNROLL(4)
  for (int corner = 0; corner < 4; ++corner) {
    const float cx = (corner & 1) != 0 ? x + width : x;
    const float cy = (corner & 2) != 0 ? y + height : y;
    const float sx = a.source_x(cx, cy), sy = a.source_y(cx, cy);
    box.x0 = math::min(box.x0, sx);
    box.y0 = math::min(box.y0, sy);
    box.x1 = math::max(box.x1, sx);
    box.y1 = math::max(box.y1, sy);
    horizon |= a.projective && a.depth(cx - a.centre_x, cy - a.centre_y) <= a.kLeastDepth;
  }
  if (!horizon) return box;
  return {-math::kInfinity, -math::kInfinity, math::kInfinity, math::kInfinity};
}

}  // namespace wellspring
