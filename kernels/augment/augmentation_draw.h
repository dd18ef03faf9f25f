// Draws the augmentation of one sample from a plan. Called by emission and its passes; host and
// device.
#pragma once

#include "kernels/augment/augment_rng.h"
#include "kernels/augment/augmentation.h"
#include "kernels/augment/homography.h"
#include "kernels/augment/rand_augment.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

namespace detail {

/// The box of RandomResizedCrop (torchvision.transforms, get_params): ten tries of area and ratio,
/// then the largest central box with an allowed ratio.
struct CropBox {
  float left, top, width, height;
};
WS_HD inline CropBox draw_crop(const AugmentStep& step, FrameSize frame, AugmentRng& words) {
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
/// whole pixels, uniformly up to the limit.
WS_HD inline Homography draw_perspective(const AugmentStep& step, FrameSize frame,
                                         AugmentRng& words) {
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

/// The inverse map of torchvision's affine about the centre
/// (functional._get_inverse_affine_matrix): the image is sheared, scaled, rotated clockwise by
/// `turn` and then shifted. Angles in turns.
WS_HD inline Homography affine_lookup(float turn, float x, float y, float scale, float shear_x,
                                      float shear_y) {
  const math::SinCos whole = math::sincos_turns(turn), rest = math::sincos_turns(turn - shear_y);
  const math::SinCos along_x = math::sincos_turns(shear_x), along_y = math::sincos_turns(shear_y);
  const float slope = along_x.sine / along_x.cosine;
  const float a = rest.cosine / along_y.cosine, c = rest.sine / along_y.cosine;
  const float b = -math::fma(a, slope, whole.sine), d = math::fma(-c, slope, whole.cosine);
  return Homography::linear(d / scale, -b / scale, -c / scale, a / scale) *
         Homography::translation(-x, -y);
}

/// Scales the frame, with fixed ratio, until it just covers the output.
WS_HD inline void fit_frame(const AugmentationPlan& plan, FrameSize& frame, Homography& map,
                            float& footprint) {
  const float cover_x = static_cast<float>(frame.width) / static_cast<float>(plan.out.width);
  const float cover_y = static_cast<float>(frame.height) / static_cast<float>(plan.out.height);
  const float step = cover_x < cover_y ? cover_x : cover_y;
  if (step != 1) map = map * Homography::scaling(step, step);
  footprint *= step;
  frame = plan.out;
}

/// Composes an operation's map with the map from output to source, and updates the footprint.
WS_HD inline void compose_geometry(const AugmentationPlan& plan, const AugmentStep& step,
                                   AugmentRng& words, FrameSize& frame, Homography& map,
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
      const Homography perspective = draw_perspective(step, frame, words);
      map = map * perspective;
      footprint *= math::sqrt(math::abs(perspective.area_at_centre()));
      break;
    }
    case AugmentOp::affine: {
      const float turn = words.uniform(-step.value[0], step.value[0]);
      const float x = math::round(words.uniform(-step.value[1], step.value[1]));
      const float y = math::round(words.uniform(-step.value[2], step.value[2]));
      const float scale = words.uniform(step.value[3], step.value[4]);
      const float shear_x = words.uniform(-step.value[5], step.value[5]);
      const float shear_y = words.uniform(-step.value[6], step.value[6]);
      map = map * affine_lookup(turn, x, y, scale, shear_x, shear_y);
      footprint = footprint / scale;
      break;
    }
    case AugmentOp::rand_augment:
      for_rand_steps(step, words,
                     [&](const RandStep& drawn) { map = map * rand_inverse_map(drawn, frame); });
      break;
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

/// True if output pixel centres map one to one to source pixel centres.
WS_INLINE bool is_on_grid(const Augmentation& a) {
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
    AugmentRng words(rng, step.op, plan.view);
    if (words.happens(step)) {
      compose_geometry(plan, step, words, frame, map, footprint);
    } else if (step.op == AugmentOp::crop_resize) {
      fit_frame(plan, frame, map, footprint);
    }
  }
  fit_frame(plan, frame, map, footprint);

  a.footprint = footprint;
  a.centre_x = 0.5f * static_cast<float>(plan.out.width);
  a.centre_y = 0.5f * static_cast<float>(plan.out.height);
  // Vector from the source's centre to its corner, in homogeneous coordinates.
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
  a.interpolation = plan.interpolation;
  a.on_grid = is_on_grid(a);
}

/// Adds a colour operation that is applied.
WS_HD inline void add_colour(const AugmentStep& step, AugmentRng& words, ColourList& list,
                             Augmentation& a) {
  switch (step.op) {
    case AugmentOp::hue:
      return list.add(step.op, words.uniform(-step.value[0], step.value[0]));
    case AugmentOp::contrast:
      return list.add(step.value[2] != 0 ? AugmentOp::contrast_about_mean : step.op,
                      words.uniform(step.value[0], step.value[1]));
    case AugmentOp::brightness:
    case AugmentOp::saturation:
      return list.add(step.op, words.uniform(step.value[0], step.value[1]));
    case AugmentOp::posterise:
      return list.add(step.op, levels_of(step.value[0]));
    case AugmentOp::noise:
      words.key(a.noise_key);
      return list.add(step.op, step.value[0]);
    case AugmentOp::rand_augment:
      return for_rand_steps(step, words,
                            [&](const RandStep& drawn) { add_rand_colour(drawn, list); });
    default:
      return list.add(step.op, step.value[0]);
  }
}

WS_HD inline void draw_colour(const AugmentationPlan& plan, SampleRng rng, Augmentation& a) {
  ColourList list(a);
  for (int i = 0; i < plan.colour_count; ++i) {
    const AugmentStep step = plan.colour[i];
    AugmentRng words(rng, step.op, plan.view);
    if (words.happens(step)) add_colour(step, words, list, a);
    if (i + 1 == plan.colour_before_blur) list.mark_blur();
  }
  list.finish();
}

/// A square with its centre anywhere in the image; it may extend over the border (cutout).
WS_HD inline void draw_square(const AugmentationPlan& plan, AugmentRng& words, Augmentation& a) {
  const auto side = static_cast<std::int32_t>(plan.erase.value[0]);
  const auto width = static_cast<std::uint32_t>(plan.out.width);
  const auto height = static_cast<std::uint32_t>(plan.out.height);
  a.erase_x0 = static_cast<std::int32_t>(below(words.next(), width)) - side / 2;
  a.erase_y0 = static_cast<std::int32_t>(below(words.next(), height)) - side / 2;
  a.erase_x1 = a.erase_x0 + side;
  a.erase_y1 = a.erase_y0 + side;
}

/// The box of RandomErasing (torchvision.transforms.v2): ten tries of area and height / width, then
/// no box.
WS_HD inline void draw_erased_box(const AugmentationPlan& plan, AugmentRng& words,
                                  Augmentation& a) {
  const AugmentStep& step = plan.erase;
  const auto width = static_cast<float>(plan.out.width);
  const auto height = static_cast<float>(plan.out.height);
  a.erase_noise = step.value[4] != 0;
  words.key(a.erase_key);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const float area = width * height * words.uniform(step.value[0], step.value[1]);
    const float ratio = math::exp(words.uniform(step.value[2], step.value[3]));
    const float h = math::round(math::sqrt(area * ratio));
    const float w = math::round(math::sqrt(area / ratio));
    if (!(h < height && w < width)) continue;
    a.erase_y0 = static_cast<std::int32_t>(words.whole(height - h));
    a.erase_x0 = static_cast<std::int32_t>(words.whole(width - w));
    a.erase_y1 = a.erase_y0 + static_cast<std::int32_t>(h);
    a.erase_x1 = a.erase_x0 + static_cast<std::int32_t>(w);
    return;
  }
}

}  // namespace detail

/// Draws the augmentation of one sample. `rng`: the source's seed and the slot's ordinal, so that
/// each epoch draws differently.
WS_HD inline Augmentation draw_augmentation(const AugmentationPlan& plan, SampleRng rng) {
  Augmentation a;
  detail::draw_geometry(plan, rng, a);
  detail::draw_colour(plan, rng, a);
  WS_UNROLL(3)
  for (int c = 0; c < 3; ++c) {
    a.gain[c] = plan.inv_std[c];
    a.bias[c] = (0 - plan.mean[c]) * plan.inv_std[c];  // +0 if the mean is 0
  }
  a.unfinished = plan.goes_on();
  if (plan.blurs()) {
    AugmentRng words(rng, AugmentOp::blur, plan.view);
    if (words.happens(plan.blur))
      a.blur_sigma = words.uniform(plan.blur.value[0], plan.blur.value[1]);
  }
  if (plan.erase.op != AugmentOp::none) {
    AugmentRng words(rng, plan.erase.op, plan.view);
    if (!words.happens(plan.erase)) return a;
    if (plan.erase.op == AugmentOp::erase) {
      detail::draw_square(plan, words, a);
    } else {
      detail::draw_erased_box(plan, words, a);
    }
  }
  return a;
}

}  // namespace wellspring
