// Draws the augmentation of one sample from a plan. Called by emission and the passes after it;
// host and device.
#pragma once

#include "kernels/augment/augment_rng.h"
#include "kernels/augment/augmentation.h"
#include "kernels/augment/homography.h"
#include "kernels/augment/operations/operations.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

namespace wellspring {

namespace detail {

/// Scales the frame, keeping its aspect ratio, until it just covers the output.
WS_HD inline void fit_frame(GeometryDraw& draw) {
  const float cover_x = static_cast<float>(draw.frame.width) / static_cast<float>(draw.out.width);
  const float cover_y = static_cast<float>(draw.frame.height) / static_cast<float>(draw.out.height);
  const float step = cover_x < cover_y ? cover_x : cover_y;
  if (step != 1) draw.map = draw.map * Homography::scaling(step, step);
  draw.footprint *= step;
  draw.frame = draw.out;
}

/// True for operations whose result has the size of the output.
WS_INLINE bool resizes(AugmentOp op) {
  bool found = false;
  augment::Operations::visit(op, [&]<class Op>() WS_INLINED {
    if constexpr (requires { Op::kResizes; }) found = true;
  });
  return found;
}

/// True if output pixel centres map one-to-one to source pixel centres.
WS_INLINE bool is_on_grid(const Augmentation& a) {
  const bool steps = math::abs(a.m00) == 1 && math::abs(a.m11) == 1 && a.m01 == 0 && a.m10 == 0;
  const float x = a.source_x(0.5f, 0.5f) - 0.5f, y = a.source_y(0.5f, 0.5f) - 0.5f;
  return !a.projective && steps && x == math::floor(x) && y == math::floor(y);
}

WS_HD inline void draw_geometry(const AugmentationPlan& plan, SampleRng rng, FrameSize source,
                                const DrawnGroups& groups, Augmentation& a) {
  GeometryDraw draw = {plan.out, source, {}};
  bool skipped = false;  // an operation that resizes: others expect its result's size
  for (int i = 0; i < plan.geometry_count; ++i) {
    const AugmentStep step = plan.geometry[i];
    AugmentRng words(rng, step.op);
    const bool happens = words.happens(step) && groups.include(step.place);
    if (!happens) {
      skipped |= resizes(step.op);
      continue;
    }
    if (skipped && !resizes(step.op)) fit_frame(draw);
    skipped = false;
    augment::Operations::visit(step.op, [&]<class Op>() WS_INLINED {
      if constexpr (moves_pixels<Op>) Op::compose(step, words, draw);
    });
  }
  fit_frame(draw);

  a.footprint = draw.footprint;
  a.centre_x = 0.5f * static_cast<float>(plan.out.width);
  a.centre_y = 0.5f * static_cast<float>(plan.out.height);
  // Vector from the source's centre to its corner, in homogeneous coordinates.
  const float to_x = 0.5f * static_cast<float>(source.width);
  const float to_y = 0.5f * static_cast<float>(source.height);
  const float(&m)[9] = draw.map.m;
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

WS_HD inline void draw_colour(const AugmentationPlan& plan, SampleRng rng,
                              const DrawnGroups& groups, Augmentation& a) {
  ColourList list(a);
  for (int i = 0; i < plan.colour_count; ++i) {
    const AugmentStep step = plan.colour[groups.colour_step(i)];
    AugmentRng words(rng, step.op);
    if (words.happens(step) && groups.include(step.place)) {
      augment::Operations::visit(step.op, [&]<class Op>() WS_INLINED {
        if constexpr (changes_colours<Op> && requires { &Op::draw; }) {
          Op::draw(step, words, list);
        } else if constexpr (changes_colours<Op>) {
          list.add<Op>(step.value[0]);
        }
      });
    }
    if (i + 1 == plan.colour_before_blur) list.mark_blur();
  }
  list.finish();
}

/// Draws a blur or an erased box.
WS_HD inline void draw_last(const AugmentationPlan& plan, const AugmentStep& step, SampleRng rng,
                            const DrawnGroups& groups, Augmentation& a) {
  if (step.op == AugmentOp::none) return;
  AugmentRng words(rng, step.op);
  if (!words.happens(step) || !groups.include(step.place)) return;
  augment::Operations::visit(step.op, [&]<class Op>() WS_INLINED {
    if constexpr (Op::kInfo.stage >= AugmentStage::neighbours) Op::draw(step, plan.out, words, a);
  });
}

}  // namespace detail

/// Draws the augmentation of one sample. `rng`: the source's seed and the slot's ordinal, so that
/// each epoch draws a different augmentation. `source`: size of the sample's image.
WS_HD inline Augmentation draw_augmentation(const AugmentationPlan& plan, SampleRng rng,
                                            FrameSize source) {
  Augmentation a;
  const DrawnGroups groups(plan, rng);
  detail::draw_geometry(plan, rng, source, groups, a);
  detail::draw_colour(plan, rng, groups, a);
  WS_UNROLL(3)
  for (int c = 0; c < 3; ++c) {
    a.gain[c] = plan.inv_std[c];
    a.bias[c] = (0 - plan.mean[c]) * plan.inv_std[c];  // +0 if the mean is 0
  }
  a.unfinished = plan.goes_on();
  detail::draw_last(plan, plan.blur, rng, groups, a);
  detail::draw_last(plan, plan.erase, rng, groups, a);
  return a;
}
/// The same for images of one size.
WS_HD inline Augmentation draw_augmentation(const AugmentationPlan& plan, SampleRng rng) {
  return draw_augmentation(plan, rng, plan.source);
}

}  // namespace wellspring
