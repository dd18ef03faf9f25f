// Smooth activations, GELU and SiLU, and their gradients. Called by kernels/ops/activation.cpp;
// host and device.
#pragma once

#include "kernels/ops/ops.h"
#include "kernels/ops/team_loop.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"

#include <cstdint>

namespace wellspring::ops {

/// The standard normal distribution at x.
struct Normal {
  float cumulative;  ///< Phi(x), also accurate where it is close to 0
  float density;
};

/// With a = |x|, Phi(-a) = exp(-a^2 / 2) t P(t), t = 1 / (1 + 0.296875 a). With this variable, a
/// polynomial converges for all a >= 0: M. Shepherd, J. Laframboise, "Chebyshev approximation of (1
/// + 2x) exp(x^2) erfc x in 0 <= x < infinity", Math. Comp. 36 (1981). P is a minimax fit from
/// scripts/derive-math-coefficients. The relative error of both members is below 7 * 2^-24 where
/// the result is a normal number.
WS_INLINE Normal normal_at(float x) {
  const float a = math::min(math::abs(x), 15.0f);  // exp(-15^2 / 2) is 0
  const float square = a * a, lost = math::fma(a, a, -square);
  const float rounded = math::exp(-0.5f * square);
  const float bell = math::fma(rounded, -0.5f * lost, rounded);
  const float t = 1.0f / math::fma(a, 0.296875f, 1.0f);
  float p = -0x1.50f696p-6f;
  p = math::fma(p, t, 0x1.d8ecf8p-4f);
  p = math::fma(p, t, -0x1.f37b48p-3f);
  p = math::fma(p, t, 0x1.c1bc70p-3f);
  p = math::fma(p, t, -0x1.973ca6p-4f);
  p = math::fma(p, t, 0x1.b77a50p-4f);
  p = math::fma(p, t, 0x1.32b76ep-4f);
  p = math::fma(p, t, 0x1.c250bap-4f);
  p = math::fma(p, t, 0x1.e46418p-4f);
  p = math::fma(p, t, 0x1.e52474p-4f);
  const float tail = bell * (t * p);
  return {x < 0 ? tail : 1.0f - tail, bell * 0x1.988454p-2f};  // 1 / sqrt(2 pi)
}

template <Smooth kind>
WS_INLINE float smooth_value(float x) {
  if constexpr (kind == Smooth::gelu) {
    return x * normal_at(x).cumulative;
  } else {
    return x / (1.0f + math::exp(-x));
  }
}
template <Smooth kind>
WS_INLINE float smooth_slope(float x) {
  if constexpr (kind == Smooth::gelu) {
    const Normal normal = normal_at(x);
    return normal.cumulative + x * normal.density;
  } else {
    const float sigmoid = 1.0f / (1.0f + math::exp(-x));
    return sigmoid * (1.0f + x * (1.0f - sigmoid));
  }
}

template <class T, Smooth kind>
struct SmoothActivation {
  const T* x;
  T* y;
  std::int64_t n;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t chunk) const {
    const ChunkRange range(chunk, n);
    team_transform(
        team, range.begin, range.end, y, [](float value) { return smooth_value<kind>(value); }, x);
  }
};

template <class T, Smooth kind>
struct SmoothActivationBackward {
  const T* x;
  const T* dy;
  T* dx;
  std::int64_t n;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t chunk) const {
    const ChunkRange range(chunk, n);
    team_transform(
        team, range.begin, range.end, dx,
        [](float value, float gradient) { return gradient * smooth_slope<kind>(value); }, x, dy);
  }
};

}  // namespace wellspring::ops
