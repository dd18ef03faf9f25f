// Painting a tile: the one loop from coordinates to stored values that all forms of emission share.
// Place, shade, colour, normalise, cast, NHWC write; no intermediate image in memory. Host and
// device.
#pragma once

#include "kernels/device.h"
#include "kernels/emission/looking.h"
#include "kernels/emission/pixel_run.h"
#include "kernels/launch_bound.h"

#include <cstdint>

namespace wellspring::detail {

/// Teams that share a multiprocessor while they paint pixels: leaves a thread 80 registers.
inline constexpr int kPixelBlocks = 3;

/// Of kernels that paint the pixels of functor F, which has a kPixelBlocks of its own where they
/// take more registers, or fewer.
template <class F>
constexpr LaunchBound pixel_bound() {
  if constexpr (requires { F::kPixelBlocks; }) {
    return {kPixelMembers, F::kPixelBlocks};
  } else {
    return {kPixelMembers, kPixelBlocks};
  }
}

/// Bands of whole rows for a device; on a CPU, a team a sample.
inline Tiling bands_for(Device device, SampleShape shape) {
  return Tiling::bands(shape, device.is_cuda() ? kDeviceBandPixels : shape.height * shape.width);
}

/// All members: paints one tile of row b. `shade` (run, colour) colours a run.
template <class T, class Team, class Shade>
WS_INLINE void paint_tile(Team& team, const Augmentation& seen, const PixelTile& tile,
                          const BatchView& batch, std::int64_t b, const Shade& shade) {
  constexpr int kRun = WS_RUN_LENGTH;
  const int channels = batch.layout.channels, width = batch.layout.width;
  T* const x = static_cast<T*>(batch.x) + b * batch.layout.elements();
#if !WS_DEVICE_CODE
  const GreyStore grey(seen.gain, seen.bias);
#endif
  for (OwnRuns<kRun> own(team, tile.width, tile.height); own.inside(); own.go_on()) {
    const int column = own.column();
    const int px = tile.x0 + column, py = tile.y0 + own.row();
    const int count = tile.width - column < kRun ? tile.width - column : kRun;
    const PixelRun<kRun> run = place_run<kRun>(seen, tile, px, py);
    ColourRun<kRun> colour;
    shade(run, colour);
    T* const out = x + (static_cast<std::int64_t>(py) * width + px) * channels;
#if !WS_DEVICE_CODE
    if (colour.grey && channels == 3 && count == kRun && only_normalises(seen, py)) {
      grey.store(colour.r, out);
      continue;
    }
#endif
    colour.spread();
    apply_augmentation(seen, px, py, colour);
    store_run(colour, channels, count, out);
  }
}

}  // namespace wellspring::detail
