// The one place where a sample's view is drawn and applied: which source point each output pixel
// shows, and what becomes of its colour. Host and device.
#pragma once

#include "kernels/emission/pixel_run.h"
#include "kernels/emission/sample.h"
#include "kernels/macros.h"
#include "kernels/math.h"
#include "kernels/view.h"

#include <cstdint>

namespace wellspring::detail {

/// The view of the sample in `slot`: keyed by how many samples its source gave before.
WS_HD inline View draw_view_of(const ViewSpec& spec, SampleShape looked_at, SampleShape out,
                               std::uint64_t seed, const Slot& slot) {
  return draw_view(spec, looked_at, out, {seed, slot.ordinal});
}

/// Where the N pixels from (x, y) on, in output pixels, are looked up.
template <int N>
WS_INLINE PixelRun<N> place_run(const View& view, const PixelTile& tile, int x, int y) {
  PixelRun<N> run;
  run.footprint = view.footprint;
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
  return run;
}

template <int N>
WS_INLINE void apply_colour(const View& view, ColourRun<N>& colour) {
  if (view.saturation != 1) {
    // Weights of luma, ITU-R BT.601.
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const float luma =
          math::fma(0.114f, colour.b[i], math::fma(0.587f, colour.g[i], 0.299f * colour.r[i]));
      colour.r[i] = math::fma(view.saturation, colour.r[i] - luma, luma);
      colour.g[i] = math::fma(view.saturation, colour.g[i] - luma, luma);
      colour.b[i] = math::fma(view.saturation, colour.b[i] - luma, luma);
    }
  }
  WS_LANES
  for (int i = 0; i < N; ++i) {
    colour.r[i] = math::fma(view.gain[0], colour.r[i], view.bias[0]);
    colour.g[i] = math::fma(view.gain[1], colour.g[i], view.bias[1]);
    colour.b[i] = math::fma(view.gain[2], colour.b[i], view.bias[2]);
  }
}

template <int N>
WS_INLINE void erase_square(const View& view, int x, int y, ColourRun<N>& colour) {
  if (y < view.erase_y0 || y >= view.erase_y1) return;
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const bool inside = x + i >= view.erase_x0 && x + i < view.erase_x1;
    colour.r[i] = inside ? 0.f : colour.r[i];
    colour.g[i] = inside ? 0.f : colour.g[i];
    colour.b[i] = inside ? 0.f : colour.b[i];
  }
}

/// What the view does to the colours of the N pixels from (x, y) on.
template <int N>
WS_INLINE void apply_view(const View& view, int x, int y, ColourRun<N>& colour) {
  apply_colour(view, colour);
  erase_square(view, x, y, colour);
}

}  // namespace wellspring::detail
