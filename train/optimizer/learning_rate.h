// Factors of an optimizer step that follow from its number, kept in device memory: the learning rate
// and the bias corrections of AdamW. Called by train/step; host and device.
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
  float beta1 = 0, beta2 = 0;  ///< decay rates of the moments (AdamW)
};
/// First node of a step: sets state->learning_rate, correction1 and correction2 from state->step.
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

/// base^exponent by squaring. It uses only products in double precision, so host and device agree.
WS_INLINE constexpr double integer_power(double base, std::uint64_t exponent) {
  double result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

/// 1 / (1 - beta^t) in optimizer step t = step + 1.
WS_INLINE float bias_correction(float beta, std::uint64_t step) {
  return static_cast<float>(1.0 / (1.0 - integer_power(static_cast<double>(beta), step + 1)));
}

/// A team functor, so that threads compute the corrections at the same time.
struct BeginStep {
  ScheduleSpec schedule;
  StepState* state;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t) const {
    const std::uint64_t step = state->step;
    for (int i = team.rank(); i < 3; i += team.size()) {
      if (i == 2) {
        state->learning_rate = learning_rate_at(schedule, step);
      } else {
        const float correction = bias_correction(i == 0 ? schedule.beta1 : schedule.beta2, step);
        (i == 0 ? state->correction1 : state->correction2) = correction;
      }
    }
  }
};

}  // namespace wellspring::ops
