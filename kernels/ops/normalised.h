// Common part of both normalisations once mean and standard deviation are known: the output, and
// the gradient through the activation. Called by batch_norm.h and group_norm.h; host and device.
#pragma once

#include "kernels/ops/ops.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/team_loop.h"

#include <cstdint>

namespace wellspring::ops {

/// Called by all members. Computes y = activation((x - centre) scale + shift (+ residual)) for
/// `rows` rows of `channels` values, starting at the pointers; `residual` may be null. Centre,
/// scale and shift: [channels].
template <class Team, class T>
WS_HD void write_normalised(Team& team, int rows, int channels, const T* x, const T* residual,
                            const float* centre, const float* scale, const float* shift,
                            Activation activation, T* y) {
  const bool rectify = activation == Activation::relu;
  const auto normalised = [=](std::int64_t i, int k) {
    return (static_cast<float>(x[i]) - centre[k]) * scale[k] + shift[k];
  };
  // Written so that NaN propagates and is detected.
  const auto activated = [=](float value) { return rectify & (value < 0) ? 0.0f : value; };
  if (residual != nullptr) {
    team_for_grid(team, rows, channels, [=](int row, int k) {
      const std::int64_t i = std::int64_t{row} * channels + k;
      y[i] = T(activated(normalised(i, k) + static_cast<float>(residual[i])));
    });
  } else {
    team_for_grid(team, rows, channels, [=](int row, int k) {
      const std::int64_t i = std::int64_t{row} * channels + k;
      y[i] = T(activated(normalised(i, k)));
    });
  }
}

/// The gradient before the activation, from the gradient dy after it and the output y.
template <class T>
struct ActivationGradient {
  const T *y, *dy;
  bool rectify;

  WS_HD ActivationGradient(const T* output, const T* arriving, Activation activation)
      : y(output), dy(arriving), rectify(activation == Activation::relu) {}
  WS_INLINE float operator()(std::int64_t i) const {
    const float value = static_cast<float>(dy[i]);
    return !rectify | (static_cast<float>(y[i]) > 0) ? value : 0.0f;
  }
};

}  // namespace wellspring::ops
