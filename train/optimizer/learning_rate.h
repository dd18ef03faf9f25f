// The learning rate of each step, kept in device memory. Called by train/step; host and device.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"

#include <cstdint>

namespace wellspring::ops {

/// Linear warm-up from 0 to `peak` over `warmup` steps, then a half cosine down to `floor` at
/// `total` (Loshchilov & Hutter 2017, eq. 5, one cycle).
struct ScheduleSpec {
  float peak = 1e-3f, floor = 0;
  std::uint64_t warmup = 0, total = 1;
};
/// First node of a step: sets state->learning_rate from state->step.
void begin_step(Stream& stream, const ScheduleSpec& schedule, StepState* state);

/// The learning rate of a step (see ScheduleSpec). Each fraction is a single division in double
/// precision, which represents step numbers exactly, so host and device agree.
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

}  // namespace wellspring::ops
