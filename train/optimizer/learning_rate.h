// Factors that depend only on the optimizer step's number, kept in device memory: the learning rate
// and the bias corrections of AdamW. Called by gradient_clipping.h; host and device.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/step_state.h"

#include <cstdint>

namespace wellspring::ops {

/// Learning rates after a warm-up of `warmup` steps, which is linear from 0 to `peak`.
enum class ScheduleKind : std::uint8_t {
  cosine,     ///< half a cosine down to `floor` at `total`; Loshchilov & Hutter 2017, eq. 5
  linear,     ///< linear down to `floor` at `total`
  step,       ///< multiplied by `gamma` at each milestone; PyTorch's MultiStepLR
  one_cycle,  ///< half a cosine from `start` to `peak`, then one to `floor`; PyTorch's OneCycleLR
  constant,   ///< `peak`, then linear to `floor` over the last `cooldown` steps; Zhai et al. 2022
};

struct ScheduleSpec {
  static constexpr int kMostMilestones = 8;
  float peak = 1e-3f, floor = 0;
  std::uint64_t warmup = 0, total = 1;
  float beta1 = 0, beta2 = 0;  ///< decay rates of the moments (AdamW)
  ScheduleKind kind = ScheduleKind::cosine;
  float start = 0;             ///< one_cycle: rate of step 0
  std::uint64_t cooldown = 0;  ///< constant
  float gamma = 1;             ///< step
  int milestones = 0;          ///< step: number of entries of milestone
  std::uint64_t milestone[kMostMilestones] = {};
};

/// The learning rate of a step (see ScheduleKind). Each fraction is a single division in double
/// precision, which represents step numbers exactly, so host and device agree.
WS_INLINE float learning_rate_at(const ScheduleSpec& s, std::uint64_t step) {
  const auto fraction = [](std::uint64_t part, std::uint64_t whole) {
    return static_cast<float>(static_cast<double>(part) / static_cast<double>(whole));
  };
  const auto half_cosine = [](float from, float to, float done) {
    return to + 0.5f * (from - to) * (1.0f + math::cos_turns(0.5f * done));
  };
  if (step < s.warmup) {
    const float done = fraction(step, s.warmup);
    return s.kind == ScheduleKind::one_cycle ? half_cosine(s.start, s.peak, done) : s.peak * done;
  }
  if (s.kind == ScheduleKind::step) {
    float rate = s.peak;
    for (int i = 0; i < s.milestones; ++i)
      if (s.milestone[i] <= step) rate *= s.gamma;
    return rate;
  }
  if (s.kind == ScheduleKind::constant && (s.cooldown == 0 || step < s.total - s.cooldown))
    return s.peak;
  if (step >= s.total) return s.floor;
  if (s.kind == ScheduleKind::linear)
    return s.floor + (s.peak - s.floor) * fraction(s.total - step, s.total - s.warmup);
  if (s.kind == ScheduleKind::constant)
    return s.floor + (s.peak - s.floor) * fraction(s.total - step, s.cooldown);
  return half_cosine(s.peak, s.floor, fraction(step - s.warmup, s.total - s.warmup));
}

/// True if two schedules have identical learning rates in the first `steps` steps.
inline bool same_rates(const ScheduleSpec& a, const ScheduleSpec& b, std::uint64_t steps) {
  for (std::uint64_t step = 0; step < steps; ++step)
    if (learning_rate_at(a, step) != learning_rate_at(b, step)) return false;
  return true;
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

/// Sets state->learning_rate, correction1 and correction2 from the step. Called by all members of a
/// team, which compute them concurrently.
template <class Team>
WS_HD void set_step_factors(Team& team, const ScheduleSpec& schedule, std::uint64_t step,
                            StepState* state) {
  for (int i = team.rank(); i < 3; i += team.size()) {
    if (i == 2) {
      state->learning_rate = learning_rate_at(schedule, step);
    } else {
      const float correction = bias_correction(i == 0 ? schedule.beta1 : schedule.beta2, step);
      (i == 0 ? state->correction1 : state->correction2) = correction;
    }
  }
}

}  // namespace wellspring::ops
