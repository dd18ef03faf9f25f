// Group normalisation and its gradient. Called by kernels/ops/group_norm.cpp; host and device.
//
// Source: Y. Wu, K. He, "Group Normalization", ECCV 2018. With m values per group, mean mu, rstd =
// 1 / sqrt(variance + epsilon) and xhat = (x - mu) rstd:
//
//   y  = gamma xhat + beta (+ residual), then ReLU
//   dx = rstd (gamma dy - a - xhat b),  a = sum(gamma dy) / m,  b = sum(gamma dy xhat) / m
//
// where dy is masked by the ReLU, and sums are over the group. A team processes one sample and
// reads its values three times, only the first time from memory.
#pragma once

#include "kernels/ops/channel_sums.h"
#include "kernels/ops/normalised.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/team_loop.h"
#include "kernels/random/math.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/reduce.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

/// Number of scratch floats that each functor needs, forward and backward.
constexpr std::size_t group_norm_forward_scratch(int channels) {
  return static_cast<std::size_t>(channel_slots(channels) + 2 * channels);
}
constexpr std::size_t group_norm_backward_scratch(int channels) {
  return static_cast<std::size_t>(2 * channel_slots(channels) + 2 * channels);
}

/// Sets group_total[c], for all c, to the sum of value(k) over the channels k of c's group, in
/// order.
template <class Team, class Value>
WS_HD void spread_group_sums(Team& team, float* group_total, int channels, int groups,
                             Value value) {
  const int width = channels / groups;
  for (int g = team.rank(); g < groups; g += team.size()) {
    float sum = 0;
    for (int c = g * width; c < (g + 1) * width; ++c) sum += value(c);
    for (int c = g * width; c < (g + 1) * width; ++c) group_total[c] = sum;
  }
  team.sync();
}

template <class T>
struct GroupNormForward {
  const T* x;
  const float* gamma;
  const float* beta;
  const T* residual;  ///< may be null
  T* y;
  float* mean;
  float* rstd;
  int pixels, channels, groups;
  float epsilon;
  Activation activation;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t sample) const {
    const int c = channels;
    float* sums = team.template scratch<float>(static_cast<std::size_t>(channel_slots(c)));
    float* centre = team.template scratch<float>(static_cast<std::size_t>(c));
    float* scale = team.template scratch<float>(static_cast<std::size_t>(c));
    const T* from = x + sample * pixels * c;
    const float count = static_cast<float>(pixels) * static_cast<float>(c / groups);

    channel_sums(team, sums, pixels, c,
                 [=](std::int64_t i, int) { return static_cast<float>(from[i]); });
    spread_group_sums(team, centre, c, groups, [=](int k) { return sums[k]; });
    for (int k = team.rank(); k < c; k += team.size()) centre[k] /= count;
    team.sync();
    // A second pass, because a one-pass variance loses its digits if the mean is large.
    channel_sums(team, sums, pixels, c, [=](std::int64_t i, int k) {
      const float deviation = static_cast<float>(from[i]) - centre[k];
      return deviation * deviation;
    });
    spread_group_sums(team, scale, c, groups, [=](int k) { return sums[k]; });
    for (int k = team.rank(); k < c; k += team.size()) {
      const float inverse = 1.0f / math::sqrt(scale[k] / count + epsilon);
      const int group = k / (c / groups);
      if (k % (c / groups) == 0) {
        mean[sample * groups + group] = centre[k];
        rstd[sample * groups + group] = inverse;
      }
      scale[k] = inverse * gamma[k];
    }
    team.sync();
    const std::int64_t offset = sample * pixels * c;
    write_normalised(team, pixels, c, x + offset, residual != nullptr ? residual + offset : nullptr,
                     centre, scale, beta, activation, y + offset);
  }
};

/// Writes dx, dresidual, and this sample's part of dgamma and dbeta.
template <class T>
struct GroupNormBackward {
  const T* x;
  const T* y;
  const T* dy;
  const float* gamma;
  const float* mean;
  const float* rstd;
  T* dx;
  T* dresidual;          ///< or null
  float* gamma_partial;  ///< [batch, channels]
  float* beta_partial;   ///< [batch, channels]
  int pixels, channels, groups;
  Activation activation;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t sample) const {
    const int c = channels, width = channels / groups;
    float* beta_sum = team.template scratch<float>(static_cast<std::size_t>(channel_slots(c)));
    float* gamma_sum = team.template scratch<float>(static_cast<std::size_t>(channel_slots(c)));
    float* centre = team.template scratch<float>(static_cast<std::size_t>(c));
    float* inverse = team.template scratch<float>(static_cast<std::size_t>(c));
    const std::int64_t offset = sample * pixels * c;
    const T* from = x + offset;
    const ActivationGradient<T> gradient(y + offset, dy + offset, activation);

    for (int k = team.rank(); k < c; k += team.size()) {
      centre[k] = mean[sample * groups + k / width];
      inverse[k] = rstd[sample * groups + k / width];
    }
    team.sync();
    channel_sums(team, beta_sum, pixels, c, [=](std::int64_t i, int) { return gradient(i); });
    channel_sums(team, gamma_sum, pixels, c, [=](std::int64_t i, int k) {
      return gradient(i) * ((static_cast<float>(from[i]) - centre[k]) * inverse[k]);
    });
    for (int k = team.rank(); k < c; k += team.size()) {
      beta_partial[sample * c + k] = beta_sum[k];
      gamma_partial[sample * c + k] = gamma_sum[k];
    }
    team.sync();
    // From here on, these variables hold the sums of the group.
    const float* weight = gamma;
    const float count = static_cast<float>(pixels) * static_cast<float>(width);
    sum_within_groups(team, beta_sum, weight);
    sum_within_groups(team, gamma_sum, weight);
    T* to = dx + offset;
    T* to_residual = dresidual != nullptr ? dresidual + offset : nullptr;
    const auto backward = [=](std::int64_t i, int k) {
      const float xhat = (static_cast<float>(from[i]) - centre[k]) * inverse[k];
      return inverse[k] *
             (weight[k] * gradient(i) - beta_sum[k] / count - xhat * (gamma_sum[k] / count));
    };
    if (to_residual != nullptr) {
      team_for_grid(team, pixels, c, [=](int pixel, int k) {
        const std::int64_t i = std::int64_t{pixel} * c + k;
        const float through = gradient(i);
        to[i] = T(backward(i, k));
        to_residual[i] = T(through);
      });
    } else {
      team_for_grid(team, pixels, c, [=](int pixel, int k) {
        const std::int64_t i = std::int64_t{pixel} * c + k;
        to[i] = T(backward(i, k));
      });
    }
  }

 private:
  /// Replaces sums[c] with the sum of weight * sums over c's group.
  template <class Team>
  WS_HD void sum_within_groups(Team& team, float* sums, const float* weight) const {
    spread_group_sums(team, sums, channels, groups, [=](int k) { return weight[k] * sums[k]; });
  }
};

/// dgamma and dbeta from the samples' parts; one team per channel.
struct GroupNormParameterGradient {
  const float* gamma_partial;
  const float* beta_partial;
  float* dgamma;
  float* dbeta;
  std::int64_t batch;
  int channels;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t channel) const {
    float* lanes = team.template scratch<float>(kReduceLanes);
    const float* gammas = gamma_partial + channel;
    const float* betas = beta_partial + channel;
    const int stride = channels;
    const float gamma_sum = team_sum<Team, float>(
        team, lanes, batch, [=](std::int64_t n) { return gammas[n * stride]; });
    const float beta_sum = team_sum<Team, float>(team, lanes, batch,
                                                 [=](std::int64_t n) { return betas[n * stride]; });
    if (team.rank() == 0) {
      dgamma[channel] = gamma_sum;
      dbeta[channel] = beta_sum;
    }
  }
};

}  // namespace wellspring::ops
