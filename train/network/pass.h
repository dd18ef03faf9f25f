// Arguments of one pass through a network. Called by train/; host only.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"

#include <cstdint>

namespace wellspring {

enum class PassMode : std::uint8_t {
  train,     ///< batch statistics, dropout
  evaluate,  ///< running statistics, no randomness
};

struct Pass {
  Stream& stream;
  const BatchView& batch;
  const Slot* slots = nullptr;       ///< [batch] on the device: the sample in each row
  const StepState* state = nullptr;  ///< on the device; required for dropout in training
  PassMode mode = PassMode::train;
};

}  // namespace wellspring
