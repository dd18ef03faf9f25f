// How an image is divided among teams: bands of rows. Host
// and device.
#pragma once

#include "kernels/batch/pixel_run.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/launch_bound.h"

namespace wellspring::detail {

/// Teams that share a multiprocessor while they paint pixels: leaves a thread 80 registers.
inline constexpr int kPixelBlocks = 3;

/// Bands of whole rows for a device; on a CPU, a team a sample.
inline Tiling bands_for(Device device, SampleShape shape) {
  return Tiling::bands(shape, device.is_cuda() ? kDeviceBandPixels : shape.height * shape.width);
}

}  // namespace wellspring::detail
