// What travels through a network with each pass. Host only.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"

#include <cstdint>

namespace wellspring {

enum class PassMode : std::uint8_t {
  train,     ///< batch statistics, dropout
  evaluate,  ///< running statistics, nothing random
};

struct Pass {
  Stream& stream;
  const BatchView& batch;
  const Slot* slots = nullptr;       ///< [batch] on the device: which sample is in each row
  const StepState* state = nullptr;  ///< on the device; needed in training where there is dropout
  PassMode mode = PassMode::train;
};

}  // namespace wellspring
