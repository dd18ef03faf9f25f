// Divides an image into bands of rows, one per team. Host and device.
#pragma once

#include "kernels/batch/pixel_run.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/launch_bound.h"

namespace wellspring::detail {

/// Blocks per multiprocessor for painting pixels; this leaves 80 registers per thread.
inline constexpr int kPixelBlocks = 3;

/// On a device, bands of whole rows; on a CPU, one team per sample.
inline Tiling bands_for(Device device, SampleShape shape) {
  return Tiling::bands(shape, device.is_cuda() ? kDeviceBandPixels : shape.height * shape.width);
}

}  // namespace wellspring::detail
