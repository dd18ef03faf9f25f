// Counters and scalars that change between steps. They are all in device memory, so that a recorded
// step depends on nothing else, and they are part of every checkpoint. Host and device.
#pragma once

#include <cstdint>

namespace wellspring {

struct StepState {
  std::uint64_t step = 0;       ///< number of the step; advanced before the weights are updated
  float learning_rate = 0;      ///< scheduled rate of this step, computed on the device
  float gradient_scale = 1;     ///< clipping factor of this step; 0 skips the update
  float gradient_norm = 0;      ///< before clipping
  float correction1 = 1;        ///< bias correction of the first moment (AdamW)
  std::uint32_t nonfinite = 0;  ///< sticky: 1 + the first step with a non-finite loss or gradient
  float correction2 = 1;        ///< bias correction of the second moment
};

}  // namespace wellspring
