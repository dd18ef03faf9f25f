// Advances the step counter in steps that collect no metrics. Called by benchmarks of the data
// part; host and device.
#pragma once

#include "kernels/runtime/macros.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"

#include <cstdint>

namespace wellspring {

/// state->step += 1.
void end_step(Stream& stream, StepState* state);

struct EndStep {
  StepState* state;
  WS_HD void operator()(std::int64_t) const { state->step += 1; }
};

}  // namespace wellspring
