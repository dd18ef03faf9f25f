// Binary cross-entropies: every label or class is a question of its own. Called by
// kernels/ops/loss.cpp; host and device.
#pragma once

#include "kernels/ops/loss.h"

#include <cstdint>
#include <limits>

namespace wellspring::ops {

/// Costs of an output z that should be 1, log(1 + exp(-z)), or 0, log(1 + exp(z)), computed as
/// max(+-z, 0) + log(1 + exp(-|z|)), so that no exponential overflows.
struct BinaryCosts {
  float one, zero;
  WS_INLINE static BinaryCosts of(float z) {
    const float size = z < 0 ? -z : z, tail = math::log(1.0f + math::exp(-size));
    return {(z < 0 ? size : 0.0f) + tail, (z > 0 ? z : 0.0f) + tail};
  }
};
/// Probabilities sigmoid(z) and sigmoid(-z).
struct BinaryChances {
  float one, zero;
  WS_INLINE static BinaryChances of(float z) {
    const float e = math::exp(z < 0 ? z : -z), large = 1.0f / (1.0f + e), small = e / (1.0f + e);
    return z < 0 ? BinaryChances{small, large} : BinaryChances{large, small};
  }
};

/// Binary cross-entropy of each output against its own target t in [0, 1], averaged over the
/// outputs. The weight p of a positive label is 1 or, if balanced, K / max(1, sum t) for K labels:
///
///   loss   = p t log(1 + exp(-z)) + (1 - t) log(1 + exp(z))
///   dlogit = (1 - t) sigmoid(z) - p t sigmoid(-z)
///
/// An output above 0 predicts its label; a target above 1/2 means that the label is present.
///
/// For fixed p, loss and gradient are linear in t: the loss of a mixture of targets is the same
/// mixture of their losses. p uses the sum of t because that is the only linear function of t that
/// equals the number of present labels if all t are 0 or 1. The present labels then have total
/// weight K, as in Anderson and Farrell, and each counts in proportion to its t. If the sum is
/// below 1, each label has weight K t, so as the sum goes to 0, so does the weight of the labels.
template <class T>
struct SigmoidCrossEntropy {
  static constexpr bool kSharesWarps = true;
  HeadRows<T> rows;
  const float* targets;  ///< [batch, target_width], the head's outputs come first
  std::int32_t target_width;
  PositiveWeight positives;

  struct Sums {
    float there, said, both;  ///< labels present, predicted, both
    float targets;
    float positive, negative;  ///< the two terms of the loss, for p = 1
    WS_INLINE Sums operator+(const Sums& o) const {
      return {there + o.there,     said + o.said,         both + o.both,
              targets + o.targets, positive + o.positive, negative + o.negative};
    }
  };
  using Scratch = Sums;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    const std::int32_t labels = rows.head.outputs;
    const float weight = rows.weight(row);
    if (!rows.holds(row)) return rows.leave_out(team, row, kSigmoidScores, 0);

    const float* own = rows.own(row);
    const float* given = targets + row * target_width;
    const float count = static_cast<float>(labels);
    Sums* lanes = team.template scratch<Sums>(reduce_lanes(labels));
    const Sums sums = team_sum<Team, Sums>(team, lanes, labels, [=](std::int64_t k) {
      const float z = own[k], t = given[k];
      const float there = t > 0.5f ? 1.0f : 0.0f, said = z > 0 ? 1.0f : 0.0f;
      const BinaryCosts cost = BinaryCosts::of(z);
      return Sums{there, said, there * said, t, t * cost.one, (1 - t) * cost.zero};
    });
    const float positive = positives == PositiveWeight::balanced
                               ? count / (sums.targets > 1 ? sums.targets : 1.0f)
                               : 1.0f;
    const float factor = rows.factor(weight) / count;
    T* gradient = rows.own_gradient(row);
    team_for(team, 0, labels, [=](std::int64_t k) {
      const BinaryChances chance = BinaryChances::of(own[k]);
      const float t = given[k];
      gradient[k] = T(factor * ((1 - t) * chance.one - positive * t * chance.zero));
    });
    if (team.rank() == 0) {
      rows.loss[row] = weight * ((positive * sums.positive + sums.negative) / count);
      // An output is wrong if exactly one of the two sets contains its label.
      const float marked = sums.there + sums.said;
      rows.score(row, 0, (count - (marked - 2 * sums.both)) / count);
      rows.score(row, 1, 2 * sums.both);
      rows.score(row, 2, marked);
    }
  }
};

/// Binary cross-entropy of each class against u = (1 - s) t + s / K, for K classes, smoothing s and
/// class probabilities t (a label's t is 1, all others are 0), averaged over the classes as in
/// timm's BinaryCrossEntropy:
///
///   loss   = mean of u log(1 + exp(-z)) + (1 - u) log(1 + exp(z))
///   dlogit = ((1 - u) sigmoid(z) - u sigmoid(-z)) / K
///
/// The score is as in SoftCrossEntropy, and a label outside the head as in SoftmaxCrossEntropy.
template <class T>
struct BinaryClassLoss {
  static constexpr bool kSharesWarps = true;
  HeadRows<T> rows;
  ClassTargets truth;
  float smoothing;

  struct Sums {
    float loss;
    float logit, target;  ///< the largest ones
    float guess, truth;   ///< negated index of the first class with the largest logit or target
  };
  using Scratch = Sums;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    const std::int32_t classes = rows.head.outputs;
    const float weight = rows.weight(row);
    if (!rows.holds(row)) return rows.leave_out(team, row, 1, 0);
    const std::int32_t label = truth.labels != nullptr ? truth.labels[row] : 0;
    if (label < 0 || label >= classes)
      return rows.leave_out(team, row, 1, std::numeric_limits<float>::quiet_NaN());

    const float* own = rows.own(row);
    const float* given = truth.labels != nullptr ? nullptr : truth.targets + row * truth.width;
    const float s = smoothing, spread = s / static_cast<float>(classes);
    const auto target = [=](std::int64_t k) {
      return given != nullptr ? given[k] : (k == label ? 1.0f : 0.0f);
    };
    const float lowest = -std::numeric_limits<float>::infinity();
    Sums* lanes = team.template scratch<Sums>(reduce_lanes(classes));
    const Sums sums = team_reduce(
        team, lanes, classes, Sums{0, lowest, lowest, lowest, lowest},
        [=](std::int64_t k) {
          const float t = target(k), u = (1.0f - s) * t + spread;
          const BinaryCosts cost = BinaryCosts::of(own[k]);
          // Exact: there are fewer than 2^24 classes.
          const float place = -static_cast<float>(k);
          return Sums{u * cost.one + (1 - u) * cost.zero, own[k], t, place, place};
        },
        [=](const Sums& a, const Sums& b) {
          const bool guess = b.logit > a.logit || (b.logit == a.logit && b.guess > a.guess);
          const bool truth = b.target > a.target || (b.target == a.target && b.truth > a.truth);
          return Sums{a.loss + b.loss, guess ? b.logit : a.logit, truth ? b.target : a.target,
                      guess ? b.guess : a.guess, truth ? b.truth : a.truth};
        });
    const float count = static_cast<float>(classes), factor = rows.factor(weight) / count;
    T* gradient = rows.own_gradient(row);
    team_for(team, 0, classes, [=](std::int64_t k) {
      const float u = (1.0f - s) * target(k) + spread;
      const BinaryChances chance = BinaryChances::of(own[k]);
      gradient[k] = T(factor * ((1 - u) * chance.one - u * chance.zero));
    });
    if (team.rank() == 0) {
      rows.loss[row] = weight * (sums.loss / count);
      rows.score(row, 0, sums.guess == sums.truth ? 1.0f : 0.0f);
    }
  }
};

}  // namespace wellspring::ops
