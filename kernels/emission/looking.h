// The one place where a sample's augmentation is applied: which source point each output pixel
// shows, and what becomes of its colour. Host and device.
#pragma once

#include "kernels/emission/augmentation.h"
#include "kernels/emission/colour.h"
#include "kernels/emission/pixel_run.h"
#include "kernels/macros.h"
#include "kernels/math.h"

namespace wellspring::detail {

/// Where the N pixels from (x, y) on, in output pixels, are looked up.
template <int N>
WS_INLINE PixelRun<N> place_run(const Augmentation& seen, const PixelTile& tile, int x, int y) {
  PixelRun<N> run;
  run.footprint = seen.footprint;
  run.column = x - tile.x0;
  run.row = y - tile.y0;
  const float dy = (static_cast<float>(y) + 0.5f) - seen.centre_y;
  const float row_x = math::fma(seen.m01, dy, seen.origin_x);
  const float row_y = math::fma(seen.m11, dy, seen.origin_y);
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const float dx = (static_cast<float>(x + i) + 0.5f) - seen.centre_x;
    run.x[i] = math::fma(seen.m00, dx, row_x);
    run.y[i] = math::fma(seen.m10, dx, row_y);
  }
  if (!seen.projective) {
    run.in_step = seen.m00 == 1 && seen.m10 == 0;
    return run;
  }
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const float depth = seen.depth((static_cast<float>(x + i) + 0.5f) - seen.centre_x, dy);
    run.x[i] = run.x[i] / depth;
    run.y[i] = run.y[i] / depth;
  }
  return run;
}

/// What the emission pass does to the colours of the N pixels from (x, y) on: everything, or what
/// comes in front of the passes behind it.
template <int N>
WS_INLINE void apply_augmentation(const Augmentation& seen, int x, int y, ColourRun<N>& colour) {
  apply_colour(seen, 0, seen.colour_at_emission, colour.r, colour.g, colour.b);
  if (seen.unfinished) return;
  normalise(seen, colour.r, colour.g, colour.b);
  erase_box(seen, x, y, colour.r, colour.g, colour.b);
}

/// Whether that is normalisation alone, of pixels of row y.
WS_INLINE bool only_normalises(const Augmentation& seen, int y) {
  return seen.colour_at_emission == 0 && !seen.unfinished &&
         (y < seen.erase_y0 || y >= seen.erase_y1);
}

}  // namespace wellspring::detail
