// First and last node of a step: they set the learning rate and the step counter in device memory.
// Called by kernels/ops/learning_rate.cpp; host and device.
#pragma once

#include "kernels/ops/training.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/step_state.h"

#include <cstdint>

namespace wellspring::ops {

/// The learning rate of a step (see ScheduleSpec). Each fraction is one division in double
/// precision, where step numbers are exact, so host and device agree.
WS_INLINE float learning_rate_at(const ScheduleSpec& s, std::uint64_t step) {
  const auto fraction = [](std::uint64_t part, std::uint64_t whole) {
    return static_cast<float>(static_cast<double>(part) / static_cast<double>(whole));
  };
  if (step < s.warmup) return s.peak * fraction(step, s.warmup);
  if (step >= s.total) return s.floor;
  const float turned = 0.5f * fraction(step - s.warmup, s.total - s.warmup);
  return s.floor + 0.5f * (s.peak - s.floor) * (1.0f + math::cos_turns(turned));
}

struct BeginStep {
  ScheduleSpec schedule;
  StepState* state;
  WS_HD void operator()(std::int64_t) const {
    state->learning_rate = learning_rate_at(schedule, state->step);
  }
};

struct EndStep {
  StepState* state;
  WS_HD void operator()(std::int64_t) const { state->step += 1; }
};

}  // namespace wellspring::ops
