// Paints a tile: the loop from coordinates to stored values that all forms of emission share. It
// places, shades, colours, normalises, casts and writes NHWC values, without an intermediate image
// in memory. Called by the forms of emission; host and device.
#pragma once

#include "kernels/augment/apply_augmentation.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/batch/tiling.h"
#include "kernels/emission/host_float.h"
#include "kernels/emission/host_paint.h"

#include <cstdint>

namespace wellspring::detail {

/// Called by all members: paints one tile of row b. `shade(run, colour)` colours a run.
template <class T, class Team, class Shade>
WS_INLINE void paint_tile(Team& team, const Augmentation& view, const PixelTile& tile,
                          const BatchView& batch, std::int64_t b, const Shade& shade) {
  constexpr int kRun = WS_RUN_LENGTH;
#if WS_DEVICE_CODE
  const int channels = batch.layout.channels, width = batch.layout.width;
  T* const x = static_cast<T*>(batch.x) + b * batch.layout.elements();
#else
  const host::RunPainter<kRun> painter(view, batch, b);
#endif
  for (OwnRuns<kRun> own(team, tile.width, tile.height); own.inside(); own.go_on()) {
    const int column = own.column();
    const int px = tile.x0 + column, py = tile.y0 + own.row();
    const int count = tile.width - column < kRun ? tile.width - column : kRun;
    ColourRun<kRun> colour;
#if WS_DEVICE_CODE
    const PixelRun<kRun> run = place_run<kRun>(view, tile, px, py);
    shade(run, colour);
    T* const out = x + (static_cast<std::int64_t>(py) * width + px) * channels;
    if (channels == 1) keep_luma(colour);
    colour.spread();
    apply_augmentation(view, px, py, colour);
    store_run(colour, channels, count, out);
#else
    const PixelRun<kRun> run = painter.place(tile, px, py);
    shade(run, colour);
    painter.write(px, py, count, colour);
#endif
  }
}

}  // namespace wellspring::detail
