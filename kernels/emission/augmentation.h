// Augmentation: how one sample is looked at. A plan (what may happen, made once by the planner in
// augmentation_ops.h) and what was drawn from it for one sample: a homography from output pixels to
// source pixels, colour steps in order, normalisation, a square to erase, a blur. Plain data, for
// host and device.
//
// Random words come from (seed, ordinal, view, operation, draw): an operation keeps its words
// whatever else the list holds and wherever it stands in it.
#pragma once

#include "kernels/emission/batch.h"
#include "kernels/emission/homography.h"
#include "kernels/macros.h"
#include "kernels/math.h"
#include "kernels/philox.h"

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
  brightness = 16,
  contrast = 17,
  saturation = 18,
  hue = 19,
  grey = 20,
  solarise = 21,
  blur = 32,
  erase = 40,
};

/// What a stored image shows beyond its border. Formulas extend as they see fit.
enum class Padding : std::uint8_t {
  zero,  ///< black
  edge,  ///< the nearest pixel of the border, repeated
};

inline constexpr int kMostGeometrySteps = 7;
inline constexpr int kMostColourSteps = 6;

/// One operation of a plan. `value` is, by operation:
///
///     crop_resize  share of the area, from and to; logarithm of the ratio, from and to
///     shift        whole source pixels, either way, along x and along y
///     zoom         smallest scale, logarithm of largest over smallest
///     rotate       largest rotation, turns
///     perspective  whole source pixels by which a corner moves at most, along x and along y
///     brightness, contrast, saturation   least and largest factor
///     hue          largest shift, turns of the colour circle
///     solarise     threshold
///     blur         standard deviation, from and to, pixels
///     erase        side, pixels
struct AugmentStep {
  AugmentOp op = AugmentOp::none;
  float probability = 0;
  float value[4] = {0, 0, 0, 0};

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
  std::int32_t colour_before_blur = 0;  ///< how many of them the emission pass applies
  AugmentStep blur, erase;              ///< op none where not in the list
  std::int32_t blur_radius = 0;         ///< pixels on each side that take part
  Padding padding = Padding::zero;
  std::uint32_t view = 0;        ///< which of several looks at the same samples, below 2^16
  float mean[3] = {0, 0, 0};     ///< subtracted, per channel, in units of [0, 1] intensity
  float inv_std[3] = {1, 1, 1};  ///< multiplied after

  WS_INLINE bool blurs() const { return blur.op != AugmentOp::none; }
  friend bool operator==(const AugmentationPlan&, const AugmentationPlan&) = default;
};

/// A drawn colour operation: brightness, contrast, saturation and hue with their factor or shift,
/// solarise with its threshold.
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
  bool unfinished = false;  ///< the list goes on behind the emission pass, with a blur
  bool on_grid = true;      ///< pixel centres map to pixel centres by flips and whole-pixel shifts
  Padding padding = Padding::zero;
  std::int32_t colour_count = 0;
  std::int32_t colour_before_blur = 0;
  ColourStep colour[kMostColourSteps];
  float gain[3] = {1, 1, 1};  ///< normalisation: out = gain * colour + bias
  float bias[3] = {0, 0, 0};
  std::int32_t erase_x0 = 0, erase_y0 = 0, erase_x1 = 0, erase_y1 = 0;  ///< ends excluded
  float blur_sigma = 0;                                                 ///< pixels; 0: none

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

/// The random words of one operation on one sample, one after another. The first one decides
/// whether it happens at all.
class AugmentWords {
 public:
  WS_INLINE AugmentWords(SampleRng rng, AugmentOp op, std::uint32_t view)
      : rng_(rng), draw_(view << 16 | static_cast<std::uint32_t>(op) << 8) {}

  WS_INLINE std::uint32_t next() {
    const std::uint32_t lane = used_ & 3u;
    if (lane == 0) block_ = rng_.block(Purpose::augment, draw_ + (used_ >> 2));
    ++used_;
    return block_.word[lane];
  }
  WS_INLINE float uniform() { return unit_float(next()); }
  WS_INLINE float uniform(float low, float high) { return math::lerp(low, high, uniform()); }
  /// Uniform among the whole numbers 0 ... most.
  WS_INLINE float whole(float most) {
    return static_cast<float>(
        static_cast<std::int32_t>(below(next(), static_cast<std::uint32_t>(most) + 1u)));
  }
  /// Whether the operation happens; to be asked first.
  WS_INLINE bool happens(const AugmentStep& step) { return uniform() < step.probability; }

 private:
  SampleRng rng_;
  std::uint32_t draw_;
  Philox4 block_{};
  std::uint32_t used_ = 0;
};

/// Blocks of random numbers that one operation takes at most.
inline constexpr int kMostBlocksOfStep = 6;

namespace detail {

/// The box of RandomResizedCrop (torchvision.transforms, get_params): ten tries of area and ratio,
/// then the largest central box whose ratio is allowed.
struct CropBox {
  float left, top, width, height;
};
WS_HD inline CropBox draw_crop(const AugmentStep& step, FrameSize frame, AugmentWords& words) {
  const auto width = static_cast<float>(frame.width), height = static_cast<float>(frame.height);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const float area = width * height * words.uniform(step.value[0], step.value[1]);
    const float ratio = math::exp(words.uniform(step.value[2], step.value[3]));
    const float w = math::round(math::sqrt(area * ratio));
    const float h = math::round(math::sqrt(area / ratio));
    if (w > 0 && w <= width && h > 0 && h <= height) {
      const float top = words.whole(height - h);
      return {words.whole(width - w), top, w, h};
    }
  }
  const float low = math::exp(step.value[2]), high = math::exp(step.value[3]);
  const float ratio = width / height;
  const float w = ratio > high ? math::round(height * high) : width;
  const float h = ratio < low ? math::round(width / low) : height;
  return {math::floor(0.5f * (width - w)), math::floor(0.5f * (height - h)), w, h};
}

/// The corners of RandomPerspective (torchvision.transforms, get_params): each moves inwards by
/// whole pixels, uniform up to the reach.
WS_HD inline Homography draw_perspective(const AugmentStep& step, FrameSize frame,
                                         AugmentWords& words) {
  const float half_width = 0.5f * static_cast<float>(frame.width);
  const float half_height = 0.5f * static_cast<float>(frame.height);
  float x[4], y[4];
  WS_UNROLL(4)
  for (int corner = 0; corner < 4; ++corner) {  // clockwise from the top left
    const float in_x = words.whole(step.value[0]), in_y = words.whole(step.value[1]);
    x[corner] = corner == 0 || corner == 3 ? in_x - half_width : half_width - in_x;
    y[corner] = corner < 2 ? in_y - half_height : half_height - in_y;
  }
  return quad_to_rectangle(x, y, static_cast<float>(frame.width), static_cast<float>(frame.height));
}

/// Scales the frame, ratio kept, until it just covers the output.
WS_HD inline void fit_frame(const AugmentationPlan& plan, FrameSize& frame, Homography& map,
                            float& footprint) {
  const float cover_x = static_cast<float>(frame.width) / static_cast<float>(plan.out.width);
  const float cover_y = static_cast<float>(frame.height) / static_cast<float>(plan.out.height);
  const float step = cover_x < cover_y ? cover_x : cover_y;
  if (step != 1) map = map * Homography::scaling(step, step);
  footprint *= step;
  frame = plan.out;
}

/// Folds one operation into the map from its output to the source and into the footprint.
WS_HD inline void fold_geometry(const AugmentationPlan& plan, const AugmentStep& step,
                                AugmentWords& words, FrameSize& frame, Homography& map,
                                float& footprint) {
  switch (step.op) {
    case AugmentOp::flip_x:
      map = map * Homography::scaling(-1, 1);
      break;
    case AugmentOp::flip_y:
      map = map * Homography::scaling(1, -1);
      break;
    case AugmentOp::shift: {
      const float x = words.whole(2 * step.value[0]) - step.value[0];
      const float y = words.whole(2 * step.value[1]) - step.value[1];
      map = map * Homography::translation(x, y);
      break;
    }
    case AugmentOp::zoom: {
      const float scale = step.value[0] * math::exp(words.uniform() * step.value[1]);
      map = map * Homography::scaling(1 / scale, 1 / scale);
      footprint = footprint / scale;
      break;
    }
    case AugmentOp::rotate: {
      const math::SinCos turn = math::sincos_turns((2 * words.uniform() - 1) * step.value[0]);
      map = map * Homography::linear(turn.cosine, -turn.sine, turn.sine, turn.cosine);
      break;
    }
    case AugmentOp::perspective: {
      const Homography bend = draw_perspective(step, frame, words);
      map = map * bend;
      footprint *= math::sqrt(math::abs(bend.area_at_centre()));
      break;
    }
    case AugmentOp::crop_resize: {
      const CropBox box = draw_crop(step, frame, words);
      const float across = box.width / static_cast<float>(plan.out.width);
      const float down = box.height / static_cast<float>(plan.out.height);
      map = map *
            Homography::translation(
                math::fma(0.5f, box.width - static_cast<float>(frame.width), box.left),
                math::fma(0.5f, box.height - static_cast<float>(frame.height), box.top)) *
            Homography::scaling(across, down);
      footprint *= across == down ? across : math::sqrt(across * down);
      frame = plan.out;
      break;
    }
    default:
      break;
  }
}

/// Whether output pixel centres lie on source pixel centres, one to one.
WS_INLINE bool lies_on_grid(const Augmentation& a) {
  const bool steps = math::abs(a.m00) == 1 && math::abs(a.m11) == 1 && a.m01 == 0 && a.m10 == 0;
  const float x = a.source_x(0.5f, 0.5f) - 0.5f, y = a.source_y(0.5f, 0.5f) - 0.5f;
  return !a.projective && steps && x == math::floor(x) && y == math::floor(y);
}

WS_HD inline void draw_geometry(const AugmentationPlan& plan, SampleRng rng, Augmentation& a) {
  FrameSize frame = plan.source;
  Homography map;
  float footprint = 1;
  for (int i = 0; i < plan.geometry_count; ++i) {
    const AugmentStep step = plan.geometry[i];
    AugmentWords words(rng, step.op, plan.view);
    if (words.happens(step)) {
      fold_geometry(plan, step, words, frame, map, footprint);
    } else if (step.op == AugmentOp::crop_resize) {
      fit_frame(plan, frame, map, footprint);
    }
  }
  fit_frame(plan, frame, map, footprint);

  a.footprint = footprint;
  a.centre_x = 0.5f * static_cast<float>(plan.out.width);
  a.centre_y = 0.5f * static_cast<float>(plan.out.height);
  // From the source's centre to its corner, in homogeneous coordinates.
  const float to_x = 0.5f * static_cast<float>(plan.source.width);
  const float to_y = 0.5f * static_cast<float>(plan.source.height);
  const float(&m)[9] = map.m;
  a.projective = m[6] != 0 || m[7] != 0 || m[8] != 1;
  a.m00 = math::fma(to_x, m[6], m[0]);
  a.m01 = math::fma(to_x, m[7], m[1]);
  a.origin_x = math::fma(to_x, m[8], m[2]);
  a.m10 = math::fma(to_y, m[6], m[3]);
  a.m11 = math::fma(to_y, m[7], m[4]);
  a.origin_y = math::fma(to_y, m[8], m[5]);
  a.w_x = m[6];
  a.w_y = m[7];
  a.w = m[8];
  a.padding = plan.padding;
  a.on_grid = lies_on_grid(a);
}

WS_HD inline void draw_colour(const AugmentationPlan& plan, SampleRng rng, Augmentation& a) {
  int count = 0, before_blur = 0;
  for (int i = 0; i < plan.colour_count; ++i) {
    const AugmentStep step = plan.colour[i];
    AugmentWords words(rng, step.op, plan.view);
    if (words.happens(step)) {
      const bool drawn = step.op != AugmentOp::grey && step.op != AugmentOp::solarise;
      const float low = step.op == AugmentOp::hue ? -step.value[0] : step.value[0];
      const float high = step.op == AugmentOp::hue ? step.value[0] : step.value[1];
      a.colour[count] = {step.op, drawn ? words.uniform(low, high) : step.value[0]};
      ++count;
    }
    if (i + 1 == plan.colour_before_blur) before_blur = count;
  }
  a.colour_count = count;
  a.colour_before_blur = before_blur;
}

}  // namespace detail

/// Draws the augmentation of one sample. `rng`: the source's seed and the slot's ordinal, so that
/// each pass over a data set sees others.
WS_HD inline Augmentation draw_augmentation(const AugmentationPlan& plan, SampleRng rng) {
  Augmentation a;
  detail::draw_geometry(plan, rng, a);
  detail::draw_colour(plan, rng, a);
  WS_UNROLL(3)
  for (int c = 0; c < 3; ++c) {
    a.gain[c] = plan.inv_std[c];
    a.bias[c] = (0 - plan.mean[c]) * plan.inv_std[c];  // +0 where the mean is 0
  }
  a.unfinished = plan.blurs();
  if (plan.blurs()) {
    AugmentWords words(rng, AugmentOp::blur, plan.view);
    if (words.happens(plan.blur))
      a.blur_sigma = words.uniform(plan.blur.value[0], plan.blur.value[1]);
  }
  if (plan.erase.op != AugmentOp::none) {
    AugmentWords words(rng, AugmentOp::erase, plan.view);
    if (words.happens(plan.erase)) {  // centred anywhere: it may hang over the border (cutout)
      const auto side = static_cast<std::int32_t>(plan.erase.value[0]);
      const auto width = static_cast<std::uint32_t>(plan.out.width);
      const auto height = static_cast<std::uint32_t>(plan.out.height);
      a.erase_x0 = static_cast<std::int32_t>(below(words.next(), width)) - side / 2;
      a.erase_y0 = static_cast<std::int32_t>(below(words.next(), height)) - side / 2;
      a.erase_x1 = a.erase_x0 + side;
      a.erase_y1 = a.erase_y0 + side;
    }
  }
  return a;
}

}  // namespace wellspring
