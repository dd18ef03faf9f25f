// Losses with their gradients: a team makes one row of the batch. Called by kernels/ops/loss.cpp;
// host and device.
#pragma once

#include "kernels/dtype.h"
#include "kernels/emission/batch.h"
#include "kernels/macros.h"
#include "kernels/math.h"
#include "kernels/ops/team_loop.h"
#include "kernels/ops/training.h"
#include "kernels/reduce.h"

#include <cstdint>
#include <limits>

namespace wellspring::ops {

/// Cross-entropy of one head. With z the head's logits less their largest, K classes, label k and
/// smoothing s (Szegedy et al. 2016, section 7: s / K is spread over all classes):
///
///   loss   = (1 - s) (log sum exp z - z_k) + s (log sum exp z - mean z)
///   dlogit = softmax(z) - (1 - s) [k] - s / K
///
/// both times the sample's and the head's weight, the gradient also over the batch. Taking the
/// largest away keeps every exponential in [0, 1], however large the logits. A label outside of the
/// head is an error upstream: its loss is NaN, so that the run stops, and its gradient 0.
template <class T>
struct SoftmaxCrossEntropy {
  LossSpec spec;
  const float* logits;
  const Slot* slots;
  const std::int32_t* labels;
  const float* weights;
  float* loss;
  std::uint8_t* correct;
  T* dlogits;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    float* lanes = team.template scratch<float>(kReduceLanes);
    const HeadRange head = spec.heads[slots[row].source];
    const std::int32_t label = labels[row];
    T* gradient = dlogits + row * spec.width;
    const bool labelled = label >= 0 && label < head.classes;
    if (head.classes == 0 || !labelled) {
      team_for(team, 0, spec.width, [=](std::int64_t i) { gradient[i] = T(0.0f); });
      if (team.rank() == 0) {
        loss[row] = head.classes == 0 ? 0.0f : std::numeric_limits<float>::quiet_NaN();
        correct[row] = 0;
      }
      return;
    }

    const float* own = logits + row * spec.width + head.begin;
    const float own_label = own[label];
    const std::int32_t classes = head.classes;
    const float largest =
        team_max<Team, float>(team, lanes, classes, -std::numeric_limits<float>::infinity(),
                              [=](std::int64_t k) { return own[k]; });
    const float sum = team_sum<Team, float>(
        team, lanes, classes, [=](std::int64_t k) { return math::exp(own[k] - largest); });
    const float sum_z = team_sum<Team, float>(team, lanes, classes,
                                              [=](std::int64_t k) { return own[k] - largest; });
    // The first of equal logits wins: the label must beat those before it and match those behind.
    const float better = team_sum<Team, float>(team, lanes, classes, [=](std::int64_t k) {
      const bool beats = k < label ? !(own[k] < own_label) : !(own[k] <= own_label);
      return beats ? 1.0f : 0.0f;
    });
    const float smoothing = spec.label_smoothing;
    const float spread = smoothing / static_cast<float>(classes);
    const float weight = weights[row] * head.loss_weight;
    const float factor = weight / static_cast<float>(spec.mean_over());
    const std::int32_t begin = head.begin, end = head.begin + classes, hit = begin + label;
    const float* all = logits + row * spec.width;
    team_for(team, 0, spec.width, [=](std::int64_t i) {
      const float target = (i == hit ? 1.0f - smoothing : 0.0f) + spread;
      const float share = math::exp(all[i] - largest) / sum;
      const bool inside = (i >= begin) & (i < end);
      gradient[i] = T(inside ? factor * (share - target) : 0.0f);
    });
    if (team.rank() == 0) {
      const float log_sum = math::log(sum);
      const float mean_z = sum_z / static_cast<float>(classes);
      loss[row] = weight * ((1.0f - smoothing) * (log_sum - (own_label - largest)) +
                            smoothing * (log_sum - mean_z));
      correct[row] = better == 0.0f ? 1 : 0;
    }
  }
};

/// Mean squared error over the targets of a row.
template <class T>
struct MeanSquaredError {
  MseSpec spec;
  const float* prediction;
  const float* latents;
  const std::int32_t* target_index;
  const float* shift;
  const float* scale;
  const float* weights;
  float* loss;
  std::uint8_t* correct;
  T* dprediction;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    float* lanes = team.template scratch<float>(kReduceLanes);
    const float* predicted = prediction + row * spec.targets;
    const float* truth = latents + row * spec.latent_stride;
    const std::int32_t* index = target_index;
    const float *centre = shift, *inverse_width = scale;
    const auto error = [=](std::int64_t k) {
      return predicted[k] - (truth[index[k]] - centre[k]) * inverse_width[k];
    };
    const float sum = team_sum<Team, float>(team, lanes, spec.targets, [=](std::int64_t k) {
      const float e = error(k);
      return e * e;
    });
    const float targets = static_cast<float>(spec.targets);
    const float factor = 2.0f * weights[row] / (static_cast<float>(spec.mean_over()) * targets);
    T* gradient = dprediction + row * spec.targets;
    team_for(team, 0, spec.targets, [=](std::int64_t k) { gradient[k] = T(factor * error(k)); });
    if (team.rank() == 0) {
      loss[row] = weights[row] * (sum / targets);
      correct[row] = 0;
    }
  }
};

}  // namespace wellspring::ops
