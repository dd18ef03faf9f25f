// Applies a sample's augmentation: finds the source point of each output pixel and changes its
// colour. Called by emission and the passes after it; host and device.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/augment/colour.h"
#include "kernels/augment/operations/operations.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

namespace wellspring::detail {

/// Source coordinates of N output pixels, starting at (x, y).
template <int N>
WS_INLINE PixelRun<N> place_run(const Augmentation& view, const PixelTile& tile, int x, int y) {
  PixelRun<N> run;
  run.footprint = view.footprint;
  run.bicubic = view.interpolation == Interpolation::bicubic;
  run.column = x - tile.x0;
  run.row = y - tile.y0;
  const float dy = (static_cast<float>(y) + 0.5f) - view.centre_y;
  const float row_x = math::fma(view.m01, dy, view.origin_x);
  const float row_y = math::fma(view.m11, dy, view.origin_y);
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const float dx = (static_cast<float>(x + i) + 0.5f) - view.centre_x;
    run.x[i] = math::fma(view.m00, dx, row_x);
    run.y[i] = math::fma(view.m10, dx, row_y);
  }
  if (!view.projective) {
    run.in_step = view.m00 == 1 && view.m10 == 0;
    return run;
  }
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const float depth = view.depth((static_cast<float>(x + i) + 0.5f) - view.centre_x, dy);
    run.x[i] = run.x[i] / depth;
    run.y[i] = run.y[i] / depth;
  }
  return run;
}

/// Applies the emission pass's part of the operation list to N pixels, starting at (x, y): the
/// whole list, or only the colour operations before the later passes.
template <int N>
WS_INLINE void apply_augmentation(const Augmentation& view, int x, int y, ColourRun<N>& colour) {
  apply_colour(view, 0, view.colour_at_emission, colour.r, colour.g, colour.b);
  if (view.unfinished) return;
  normalise(view, colour.r, colour.g, colour.b);
  augment::erase_box(view, x, y, colour.r, colour.g, colour.b);
}

/// Turns colours into their luma, for images with one channel.
template <int N>
WS_INLINE void keep_luma(ColourRun<N>& colour) {
  if (colour.grey) return;
  WS_LANES
  for (int i = 0; i < N; ++i) colour.r[i] = luma(colour.r[i], colour.g[i], colour.b[i]);
  colour.grey = true;
}

/// True if only normalisation applies to the pixels of row y.
WS_INLINE bool only_normalises(const Augmentation& view, int y) {
  return view.colour_at_emission == 0 && !view.unfinished &&
         (y < view.erase_y0 || y >= view.erase_y1);
}

}  // namespace wellspring::detail
