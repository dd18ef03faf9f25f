// Divides an image into bands of rows, one per team. Host and device.
#pragma once

#include "kernels/batch/pixel_run.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/launch_bound.h"

#include <cstdint>

namespace wellspring::detail {

/// Blocks per multiprocessor for painting pixels; this leaves 80 registers per thread.
inline constexpr int kPixelBlocks = 3;

/// On a device, bands of whole rows; on a CPU, one team per sample.
inline Tiling bands_for(Device device, SampleShape shape, int pixels = kDeviceBandPixels) {
  return Tiling::bands(shape, device.is_cuda() ? pixels : shape.height * shape.width);
}
/// The same for a batch of `rows` samples. Bands have up to `most` pixels if this leaves enough
/// teams: five times as many as run on an H100 at once (132 multiprocessors x kPixelBlocks).
inline Tiling bands_for(Device device, SampleShape shape, std::int64_t rows, int most) {
  constexpr std::int64_t kTeams = 2048;
  int pixels = most;
  while (pixels > kDeviceBandPixels && rows * bands_for(device, shape, pixels).count() < kTeams)
    pixels /= 2;
  return bands_for(device, shape, pixels);
}

}  // namespace wellspring::detail
