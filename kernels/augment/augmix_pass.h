// The pass of `augmix` after emission, with one team per sample: it transforms copies of the emitted
// image in planned memory, operation by operation, and replaces the image with their weighted mean.
// Called by augmentation_passes.h; host and device.
#pragma once

#include "kernels/augment/augment_rng.h"
#include "kernels/augment/augmentation.h"
#include "kernels/augment/operations/augmix.h"
#include "kernels/augment/operations/operations.h"
#include "kernels/augment/whole_image.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/team.h"
#include "kernels/runtime/team_loop.h"

#include <cstdint>

namespace wellspring {

namespace detail {

/// Shared by a team: the sample's chains, and the operation that is being applied.
struct MixedSample {
  augment::AugMixDraw mix;
  WholeImage whole;
};

/// The colour of pixel (x, y) of an image; beyond the border, as `padding` says.
WS_INLINE Rgb padded_pixel(const float* image, SampleShape shape, Padding padding, int x, int y) {
  const int cx = x < 0 ? 0 : (x >= shape.width ? shape.width - 1 : x);
  const int cy = y < 0 ? 0 : (y >= shape.height ? shape.height - 1 : y);
  if (padding == Padding::zero && (cx != x || cy != y)) return {};
  const float* const p = image + (cy * shape.width + cx) * shape.channels;
  if (shape.channels == 1) return {p[0], p[0], p[0]};
  return {p[0], p[1], p[2]};
}

}  // namespace detail

/// Team functor: mixes one sample in place.
struct MixChains {
  AugmentationPlan plan;
  AugmentStep step;    ///< `augmix` of the plan
  std::uint64_t seed;  ///< key of the augmentation
  /// Applies single operations. Its `images` are the output of emission; the results of operations
  /// are in its `spare` and in `others`, alternately.
  FinishWholeImages<float> whole;
  float* others;  ///< [rows, shape]
  float* sums;    ///< [rows, shape]

  /// Leaves 96 registers per thread; with 64, the operations would spill some.
  static constexpr LaunchBound kLaunchBound = {320, 2};

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t b) const {
    if (whole.slots[b].source != whole.source) return;  // the same for the whole team
    auto* const shared = team.template scratch<detail::MixedSample>(1);
    if (team.rank() == 0) {
      const SampleRng rng = {seed, whole.slots[b].ordinal};
      augment::AugMix::draw_chains(step, rng, DrawnGroups(plan, rng), shared->mix);
    }
    team.sync();
    const augment::AugMixDraw& mix = shared->mix;
    const std::int64_t first = b * whole.shape.elements();
    for (int i = 0; i < mix.chains; ++i) {
      const float* from = whole.images + first;
      float* to = whole.spare + first;
      float* next = others + first;
      for (int j = 0; j < mix.depth[i]; ++j) {
        const bool changed = transform(team, mix.step[i][j], from, to, shared->whole);
        team.sync();
        if (!changed) continue;
        from = to;
        to = next;
        next = to == others + first ? whole.spare + first : others + first;
      }
      add(team, mix, i, first, from);
      team.sync();
    }
  }

 private:
  /// Called by all members. Applies an operation; returns false if it changes nothing.
  template <class Team>
  WS_INLINE bool transform(Team& team, const augment::RandStep& drawn_step, const float* from,
                           float* to, detail::WholeImage& shared) const {
    if (drawn_step.op <= augment::RandOp::rotate) {
      warp(team, augment::rand_inverse_map(drawn_step, frame_of(whole.shape)), from, to);
      return true;
    }
    if (team.rank() == 0) {
      ColourList list(shared.view);
      augment::add_rand_colour(drawn_step, list);
      list.finish();
    }
    team.sync();
    if (shared.view.colour_count == 0) return false;
    const ColourStep colour = shared.view.colour[0];
    if (whole.filter(team, colour, from, to)) return true;
    whole.measure(team, colour.op, from, shared);
    const bool pointwise = !whole.is_whole(colour.op);
    whole.apply(team, shared, pointwise ? ColourStep{} : colour, 0, pointwise ? 1 : 0, from, to,
                false);
    return true;
  }

  /// Called by all members. Reads the image at the points of an affine map, bilinearly.
  template <class Team>
  WS_INLINE void warp(Team& team, const Homography& map, const float* from, float* to) const {
    constexpr int kRun = WS_RUN_LENGTH;
    const SampleShape shape = whole.shape;
    const float centre_x = 0.5f * static_cast<float>(shape.width);
    const float centre_y = 0.5f * static_cast<float>(shape.height);
    const auto pixel = [&](int column, int row) WS_INLINED {
      return detail::padded_pixel(from, shape, plan.padding, column, row);
    };
    for (OwnRuns<kRun> own(team, shape.width, shape.height); own.inside(); own.go_on()) {
      const int x = own.column(), y = own.row();
      const int count = shape.width - x < kRun ? shape.width - x : kRun;
      const float dy = (static_cast<float>(y) + 0.5f) - centre_y;
      ColourRun<kRun> colour;
      for (int i = 0; i < kRun; ++i) {
        const float dx = (static_cast<float>(x + i) + 0.5f) - centre_x;
        const float along = math::fma(map.m[0], dx, math::fma(map.m[1], dy, map.m[2]));
        const float down = math::fma(map.m[3], dx, math::fma(map.m[4], dy, map.m[5]));
        colour.set(i, between_pixels(along + centre_x, down + centre_y, pixel));
      }
      detail::store_run(colour, shape.channels, count, to + (y * shape.width + x) * shape.channels);
    }
  }

  /// Called by all members. Adds chain i to the sum, which begins with the image itself; the last
  /// sum replaces the image. Rounding may lift it above 1.
  template <class Team>
  WS_INLINE void add(Team& team, const augment::AugMixDraw& mix, int i, std::int64_t first,
                     const float* chain) const {
    float* const image = whole.images + first;
    float* const sum = sums + first;
    const float weight = mix.weight[i], own = mix.own;
    const bool begins = i == 0, ends = i + 1 == mix.chains;
    team_for(team, 0, whole.shape.elements(), [&](std::int64_t k) WS_INLINED {
      const float before = begins ? own * image[k] : sum[k];
      const float after = math::fma(weight, chain[k], before);
      (ends ? image : sum)[k] = ends ? math::min(after, 1.f) : after;
    });
  }
};

}  // namespace wellspring
