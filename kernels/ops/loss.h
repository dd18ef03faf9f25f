// Losses and their gradients. A team processes one row of the batch for one head. Heads are narrow,
// so the reductions take most of a row's time; each loss has at most two, and each reduces several
// values at once. Called by kernels/ops/loss.cpp; host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/ops/team_loop.h"
#include "kernels/ops/training.h"
#include "kernels/random/math.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/reduce.h"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace wellspring::ops {

/// Common part of all losses: the head's slice of the outputs and their gradient, and the arrays of
/// losses and scores. `T`: type of the gradient.
template <class T>
struct HeadRows {
  HeadSlice head;
  const float* outputs;
  const Slot* slots;
  const float* weights;
  float* loss;
  float* scores;
  T* gradient;

  /// True if the sample in `row` trains this head.
  WS_INLINE bool holds(std::int64_t row) const {
    return ((head.sources >> slots[row].source) & 1u) != 0;
  }
  /// The head's outputs in a row, and their gradient.
  WS_INLINE const float* own(std::int64_t row) const {
    return outputs + row * head.width + head.begin;
  }
  WS_INLINE T* own_gradient(std::int64_t row) const {
    return gradient + row * head.width + head.begin;
  }
  /// Weight of a row's loss. The gradient is scaled by this weight divided by the global batch.
  WS_INLINE float weight(std::int64_t row) const {
    return weights[row] * head.weight[slots[row].source];
  }
  WS_INLINE float factor(float weight) const {
    return weight / static_cast<float>(head.mean_over());
  }
  WS_INLINE void score(std::int64_t row, std::int32_t index, float value) const {
    scores[index * head.batch + row] = value;
  }
  /// For rows that do not train this head: sets gradient and scores to 0, the loss to `value`.
  template <class Team>
  WS_HD void leave_out(Team& team, std::int64_t row, std::int32_t score_count, float value) const {
    T* own = own_gradient(row);
    team_for(team, 0, head.outputs, [=](std::int64_t i) { own[i] = T(0.0f); });
    if (team.rank() != 0) return;
    loss[row] = value;
    for (std::int32_t i = 0; i < score_count; ++i) score(row, i, 0);
  }
};

/// Cross-entropy against a label. With z the head's logits minus the largest logit, K classes,
/// label k and smoothing s (Szegedy et al. 2016, section 7: s / K is spread over all classes):
///
///   loss   = (1 - s) (log sum exp z - z_k) + s (log sum exp z - mean z)
///   dlogit = softmax(z) - (1 - s) [k] - s / K
///
/// both multiplied by the weights of sample and source; the gradient is also divided by the batch.
/// Subtracting the largest logit keeps every exponential in [0, 1]. A label outside the head's
/// range is an error upstream: its loss is NaN, which stops the run, and its gradient is 0.
template <class T>
struct SoftmaxCrossEntropy {
  static constexpr bool kSharesWarps = true;
  HeadRows<T> rows;
  const std::int32_t* labels;
  float smoothing;

  struct Sums {
    float exp, z;
    float better;  ///< logits that beat the label's
    WS_INLINE Sums operator+(const Sums& o) const {
      return {exp + o.exp, z + o.z, better + o.better};
    }
  };
  using Scratch = Sums;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    // Loads all inputs of the row before the first barrier, so that it waits for memory once.
    const std::int32_t label = labels[row], classes = rows.head.outputs;
    const float weight = rows.weight(row);
    const float* own = rows.own(row);
    Sums* lanes = team.template scratch<Sums>(reduce_lanes(classes));
    const float largest = team_max<Team, float>(team, reinterpret_cast<float*>(lanes), classes,
                                                -std::numeric_limits<float>::infinity(),
                                                [=](std::int64_t k) { return own[k]; });
    if (!rows.holds(row)) return rows.leave_out(team, row, 1, 0);
    if (label < 0 || label >= classes)
      return rows.leave_out(team, row, 1, std::numeric_limits<float>::quiet_NaN());

    const float own_label = own[label];
    const Sums sums = team_sum<Team, Sums>(team, lanes, classes, [=](std::int64_t k) {
      const float z = own[k] - largest;
      // The first of equal logits wins, so the label's logit must exceed all earlier logits and
      // must not be below any later one.
      const bool beats = k < label ? !(own[k] < own_label) : !(own[k] <= own_label);
      return Sums{math::exp(z), z, beats ? 1.0f : 0.0f};
    });
    const float s = smoothing, spread = s / static_cast<float>(classes);
    const float factor = rows.factor(weight);
    T* gradient = rows.own_gradient(row);
    team_for(team, 0, classes, [=](std::int64_t k) {
      const float target = (k == label ? 1.0f - s : 0.0f) + spread;
      gradient[k] = T(factor * (math::exp(own[k] - largest) / sums.exp - target));
    });
    if (team.rank() == 0) {
      const float log_sum = math::log(sums.exp);
      const float mean_z = sums.z / static_cast<float>(classes);
      rows.loss[row] =
          weight * ((1.0f - s) * (log_sum - (own_label - largest)) + s * (log_sum - mean_z));
      rows.score(row, 0, sums.better == 0.0f ? 1.0f : 0.0f);
    }
  }
};

/// Cross-entropy against class probabilities t, for mixed samples. With z and s as above, u = (1 -
/// s) t + s / K and U the sum of u (1 if t adds up to 1):
///
///   loss   = U log sum exp z - sum u z
///   dlogit = U softmax(z) - u
///
/// The score is 1 if the largest logit belongs to the likeliest class (ties go to the
/// first).
template <class T>
struct SoftCrossEntropy {
  static constexpr bool kSharesWarps = true;
  HeadRows<T> rows;
  const float* targets;  ///< [batch, target_width], the head's classes come first
  std::int32_t target_width;
  float smoothing;

  struct Largest {
    float logit, target;
  };
  struct Sums {
    float exp, wanted, inner;
    float guess, truth;  ///< negated index of the first class with the largest logit or target
  };
  using Scratch = Sums;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    const std::int32_t classes = rows.head.outputs;
    const float weight = rows.weight(row);
    if (!rows.holds(row)) return rows.leave_out(team, row, 1, 0);

    const float* own = rows.own(row);
    const float* given = targets + row * target_width;
    const float s = smoothing, spread = s / static_cast<float>(classes);
    const auto wanted = [=](std::int64_t k) { return (1.0f - s) * given[k] + spread; };
    const float lowest = -std::numeric_limits<float>::infinity();
    const auto larger = [](float a, float b) { return b > a ? b : a; };
    Sums* lanes = team.template scratch<Sums>(reduce_lanes(classes));
    const Largest largest = team_reduce(
        team, reinterpret_cast<Largest*>(lanes), classes, Largest{lowest, lowest},
        [=](std::int64_t k) {
          return Largest{own[k], given[k]};
        },
        [=](const Largest& a, const Largest& b) {
          return Largest{larger(a.logit, b.logit), larger(a.target, b.target)};
        });
    const Sums sums = team_reduce(
        team, lanes, classes, Sums{0, 0, 0, lowest, lowest},
        [=](std::int64_t k) {
          const float z = own[k] - largest.logit;
          // Exact: there are fewer than 2^24 classes.
          const float place = -static_cast<float>(k);
          return Sums{math::exp(z), wanted(k), wanted(k) * z,
                      own[k] == largest.logit ? place : lowest,
                      given[k] == largest.target ? place : lowest};
        },
        [=](const Sums& a, const Sums& b) {
          return Sums{a.exp + b.exp, a.wanted + b.wanted, a.inner + b.inner,
                      larger(a.guess, b.guess), larger(a.truth, b.truth)};
        });
    const float factor = rows.factor(weight);
    T* gradient = rows.own_gradient(row);
    team_for(team, 0, classes, [=](std::int64_t k) {
      const float softmax = math::exp(own[k] - largest.logit) / sums.exp;
      gradient[k] = T(factor * (sums.wanted * softmax - wanted(k)));
    });
    if (team.rank() == 0) {
      rows.loss[row] = weight * (sums.wanted * math::log(sums.exp) - sums.inner);
      rows.score(row, 0, sums.guess == sums.truth ? 1.0f : 0.0f);
    }
  }
};

/// RegressionLaw for kernels: an array that is indexed in a loop would be copied to local memory.
struct RegressionRule {
  RegressionError error;
  float delta;
  std::int32_t outputs;
  const float* level;
};

/// The error of one target t with the outputs y[0], y[stride], ... (see RegressionError).
WS_INLINE float regression_error(const RegressionRule& law, const float* y, std::int64_t stride,
                                 float t) {
  const float e = y[0] - t, size = e < 0 ? -e : e;
  switch (law.error) {
    case RegressionError::squared:
      return e * e;
    case RegressionError::huber:
      return size <= law.delta ? 0.5f * e * e : law.delta * (size - 0.5f * law.delta);
    case RegressionError::gaussian: {
      const float least = RegressionLaw::kLeastLogVariance;
      const float s = y[stride] > least ? y[stride] : least;
      return 0.5f * (s + e * e * math::exp(-s));
    }
    case RegressionError::quantile: {
      float sum = 0;
      for (std::int32_t j = 0; j < law.outputs; ++j) {
        const float below = t - y[j * stride];
        sum += below < 0 ? (law.level[j] - 1) * below : law.level[j] * below;
      }
      return sum / static_cast<float>(law.outputs);
    }
  }
  return 0;
}
/// Its derivative with respect to output j.
WS_INLINE float regression_slope(const RegressionRule& law, std::int32_t j, const float* y,
                                 std::int64_t stride, float t) {
  const float e = y[j * stride] - t;
  switch (law.error) {
    case RegressionError::squared:
      return 2.0f * e;
    case RegressionError::huber:
      return e > law.delta ? law.delta : (e < -law.delta ? -law.delta : e);
    case RegressionError::gaussian: {
      const float least = RegressionLaw::kLeastLogVariance;
      const float s = y[stride] > least ? y[stride] : least, precision = math::exp(-s);
      const float of_mean = y[0] - t;
      return j == 0 ? of_mean * precision : 0.5f * (1 - of_mean * of_mean * precision);
    }
    case RegressionError::quantile: {
      const float slope = e > 0 ? 1 - law.level[j] : (e < 0 ? -law.level[j] : 0.0f);
      return slope / static_cast<float>(law.outputs);
    }
  }
  return 0;
}

/// Error of scaled targets t = (value - shift) scale, averaged over the targets. Scores 2k and 2k +
/// 1 are the squared and the absolute error of target k in its own unit.
template <class T>
struct RegressionLoss {
  static constexpr LaunchBound kLaunchBound = {256, 3};  ///< with four blocks, registers spill
  static constexpr bool kSharesWarps = true;
  HeadRows<T> rows;
  RegressionTargets truth;
  RegressionRule law;

  using Scratch = float;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    const std::int32_t targets = truth.count;
    const float weight = rows.weight(row);
    if (!rows.holds(row)) return rows.leave_out(team, row, 2 * targets, 0);

    const float* own = rows.own(row);
    const std::int32_t* column =
        truth.column + static_cast<std::int64_t>(rows.slots[row].source) * targets;
    const float *latents = truth.latents, *given = truth.targets;
    const std::int64_t first_latent = row * truth.latent_width,
                       first_target = row * truth.target_width;
    const float *shift = truth.shift, *scale = truth.scale;
    const auto scaled = [=](std::int64_t k) {
      const std::int32_t at = column[k];
      const float value = at >= 0 ? latents[first_latent + at] : given[first_target - 1 - at];
      return (value - shift[k]) * scale[k];
    };
    const RegressionRule by = law;
    float* lanes = team.template scratch<float>(reduce_lanes(targets));
    const float sum = team_sum<Team, float>(team, lanes, targets, [=](std::int64_t k) {
      return regression_error(by, own + k, targets, scaled(k));
    });
    const float count = static_cast<float>(targets);
    const float factor = rows.factor(weight) / count;
    T* gradient = rows.own_gradient(row);
    float* scores = rows.scores + row;
    const std::int64_t batch = rows.head.batch;
    team_for(team, 0, targets, [=](std::int64_t k) {
      const float t = scaled(k), in_unit = (own[k] - t) / scale[k];
      for (std::int32_t j = 0; j < by.outputs; ++j)
        gradient[j * targets + k] = T(factor * regression_slope(by, j, own + k, targets, t));
      scores[2 * k * batch] = in_unit * in_unit;
      scores[(2 * k + 1) * batch] = in_unit < 0 ? -in_unit : in_unit;
    });
    if (team.rank() == 0) rows.loss[row] = weight * (sum / count);
  }
};

/// Cross-entropy of each pixel's logits against its own label, averaged over the pixels. Each pixel
/// has the loss and gradient of SoftmaxCrossEntropy; the gradient is also divided by the number of
/// pixels. A member takes whole pixels, because there are far more pixels than classes.
template <class T>
struct PixelCrossEntropy {
  static constexpr LaunchBound kLaunchBound = kSampleTeam;
  /// Pixel i belongs to lane i % kLanes. The bits of every loss depend on kLanes.
  static constexpr int kLanes = 512;
  HeadRows<T> rows;
  PixelLabels truth;
  float smoothing;

  struct Sums {
    float loss;
    float correct;  ///< number of pixels; exact, as an image has fewer than 2^24
    WS_INLINE Sums operator+(const Sums& o) const { return {loss + o.loss, correct + o.correct}; }
  };
  /// Counts of pixels, in scratch.
  struct Counts {
    std::uint32_t* invalid;  ///< not 0 if a label is not a class
    std::uint32_t* hits;     ///< [classes] pixels with this label and prediction
    std::uint32_t* misses;   ///< [classes] pixels with this label or this prediction, but not both
  };
  static constexpr std::size_t scratch_bytes(std::int32_t classes) {
    return (kLanes + reduce_lanes(kLanes)) * sizeof(Sums) +
           (2 * static_cast<std::size_t>(classes) + 1) * sizeof(std::uint32_t);
  }

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    const std::int64_t pixels = truth.positions;
    const auto classes = static_cast<std::int32_t>(rows.head.outputs / pixels);
    if (!rows.holds(row)) return rows.leave_out(team, row, pixel_scores(classes), 0);

    const float weight = rows.weight(row), count = static_cast<float>(pixels);
    Sums* lanes = team.template scratch<Sums>(kLanes);
    Sums* folded = team.template scratch<Sums>(reduce_lanes(kLanes));
    auto* counters = team.template scratch<std::uint32_t>(2 * classes + 1);
    const Counts counts = {counters, counters + 1, counters + 1 + classes};
    team_for(team, 0, kLanes, [=](std::int64_t i) { lanes[i] = Sums{}; });
    team_for(team, 0, 2 * classes + 1, [=](std::int64_t i) { counters[i] = 0; });
    team.sync();
    // A lane always belongs to the same member.
    for (std::int64_t first = 0; first < pixels; first += kLanes) {
      const std::int64_t left = pixels - first;
      const int used = left < kLanes ? static_cast<int>(left) : kLanes;
      for (int lane = team.rank(); lane < used; lane += team.size()) {
        lanes[lane] = lanes[lane] +
                      visit(team, row, first + lane, classes, rows.factor(weight) / count, counts);
      }
    }
    team.sync();
    const Sums sums =
        team_sum<Team, Sums>(team, folded, kLanes, [=](std::int64_t lane) { return lanes[lane]; });
    if (*counts.invalid != 0)
      return rows.leave_out(team, row, pixel_scores(classes),
                            std::numeric_limits<float>::quiet_NaN());
    for (std::int32_t k = team.rank(); k < classes; k += team.size()) {
      rows.score(row, 1 + k, static_cast<float>(counts.hits[k]));
      rows.score(row, 1 + classes + k, static_cast<float>(counts.hits[k] + counts.misses[k]));
    }
    if (team.rank() == 0) {
      rows.loss[row] = weight * (sums.loss / count);
      rows.score(row, 0, sums.correct / count);
    }
  }

 private:
  /// Writes the gradient of a pixel and counts its classes.
  template <class Team>
  WS_INLINE Sums visit(Team& team, std::int64_t row, std::int64_t pixel, std::int32_t classes,
                       float factor, const Counts& counts) const {
    const float given = truth.plane[row * truth.positions + pixel];
    const bool in_range = given >= 0 && given < static_cast<float>(classes);
    const std::int32_t label = in_range ? static_cast<std::int32_t>(given) : 0;
    if (!in_range || static_cast<float>(label) != given) {
      team.atomic_or(counts.invalid, 1u);
      return {};
    }
    const float* own = rows.own(row) + pixel * classes;
    float largest = -std::numeric_limits<float>::infinity();
    std::int32_t guess = 0;
    for (std::int32_t k = 0; k < classes; ++k) {
      const bool larger = own[k] > largest;
      largest = larger ? own[k] : largest;
      guess = larger ? k : guess;
    }
    float exp_sum = 0, z_sum = 0;
    for (std::int32_t k = 0; k < classes; ++k) {
      const float z = own[k] - largest;
      exp_sum += math::exp(z);
      z_sum += z;
    }
    const float s = smoothing, spread = s / static_cast<float>(classes), inverse = 1.0f / exp_sum;
    T* gradient = rows.own_gradient(row) + pixel * classes;
    WS_SIMD
    for (std::int32_t k = 0; k < classes; ++k) {
      const float target = (k == label ? 1.0f - s : 0.0f) + spread;
      gradient[k] = T(factor * (math::exp(own[k] - largest) * inverse - target));
    }
    if (guess == label) {
      team.atomic_add(counts.hits + label, 1u);
    } else {
      team.atomic_add(counts.misses + label, 1u);
      team.atomic_add(counts.misses + guess, 1u);
    }
    const float log_sum = math::log(exp_sum), mean_z = z_sum / static_cast<float>(classes);
    return {(1.0f - s) * (log_sum - (own[label] - largest)) + s * (log_sum - mean_z),
            guess == label ? 1.0f : 0.0f};
  }
};

}  // namespace wellspring::ops
