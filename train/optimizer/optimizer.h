// SGD and AdamW over the flat parameter arenas. Called by train/step; the functors run on host and device.
#pragma once

#include "kernels/ops/team_loop.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"
#include "train/optimizer/parameter_view.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

enum class OptimizerKind : std::uint8_t { sgd, adamw };
struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::adamw;
  float momentum = 0.9f;                                ///< sgd; 0: plain SGD
  bool nesterov = false;                                ///< sgd; Sutskever et al. 2013
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;  ///< adamw; Loshchilov & Hutter 2019, alg. 2
  /// Default of matrices; decoupled for adamw, added to the gradient for sgd.
  float weight_decay = 0;
  int state_arrays() const { return kind == OptimizerKind::adamw ? 2 : (momentum != 0 ? 1 : 0); }
};
/// `first`, `second`: [matrices + vectors] f32 each, or null (see state_arrays()). Bias correction
/// uses state->step + 1. Rates and weight decay come from parameters.ranges. Writes master and
/// working copy in one pass.
void optimizer_step(Stream& stream, const OptimizerSpec& spec, const ParameterView& parameters,
                    float* first, float* second, const StepState* state);

/// base^exponent by squaring. It uses only products in double precision, so host and device agree.
WS_INLINE constexpr double integer_power(double base, std::uint64_t exponent) {
  double result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

/// The rule with the factors of one range.
template <class Rule>
struct Update {
  Rule rule;
  typename Rule::Factors factors;
  WS_INLINE float operator()(std::int64_t i, float weight, float gradient) const {
    return rule.updated(factors, i, weight, gradient);
  }
};

/// Common part of SGD and AdamW: one team updates one chunk of the arena, range by range. `Rule`:
/// SgdRule or AdamWRule.
template <class T, class Rule>
struct OptimizerStep {
  Rule rule;
  std::int64_t matrices, vectors;
  const UpdateRange* ranges;
  std::int64_t range_count;
  float* master;
  T* working;  ///< null if the master copy is the working copy
  const T* matrix_gradient;
  const float* vector_gradient;
  const StepState* state;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t chunk) const {
    const float gradient_scale = state->gradient_scale;
    if (gradient_scale == 0) return;  // skip the update: the gradient is not finite
    typename Rule::Factors factors;
    if constexpr (Rule::kScratch > 0) {
      // One member computes the factors for the whole team.
      auto* shared = team.template scratch<typename Rule::Factors>(1);
      if (team.rank() == 0) *shared = rule.factors(*state);
      team.sync();
      factors = *shared;
    } else {
      factors = rule.factors(*state);
    }
    const ChunkRange elements(chunk, matrices + vectors);
    for (std::int64_t r = first_range(elements.begin);
         r < range_count && ranges[r].begin < elements.end; ++r) {
      const UpdateRange range = ranges[r];
      const std::int64_t begin = range.begin < elements.begin ? elements.begin : range.begin;
      const std::int64_t end = range.end < elements.end ? range.end : elements.end;
      const Update<Rule> update{rule, rule.scaled(factors, range)};
      if (range.begin < matrices) {
        update_matrices(team, update, begin, end, gradient_scale);
      } else {
        update_vectors(team, update, begin, end, gradient_scale);
      }
    }
  }

 private:
  /// Index of the range that holds element `i`.
  WS_HD std::int64_t first_range(std::int64_t i) const {
    std::int64_t low = 0, high = range_count - 1;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (ranges[middle].end <= i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  template <class Team>
  WS_HD void update_matrices(Team& team, const Update<Rule>& update, std::int64_t begin,
                             std::int64_t end, float gradient_scale) const {
    float* weights = master;
    T* copy = working;
    const T* gradients = matrix_gradient;
    if (copy != nullptr) {
      team_for(team, begin, end, [=](std::int64_t i) {
        const float gradient = static_cast<float>(gradients[i]) * gradient_scale;
        const float weight = update(i, weights[i], gradient);
        weights[i] = weight;
        copy[i] = T(weight);
      });
    } else {
      team_for(team, begin, end, [=](std::int64_t i) {
        const float gradient = static_cast<float>(gradients[i]) * gradient_scale;
        weights[i] = update(i, weights[i], gradient);
      });
    }
  }

  template <class Team>
  WS_HD void update_vectors(Team& team, const Update<Rule>& update, std::int64_t begin,
                            std::int64_t end, float gradient_scale) const {
    float* weights = master;
    const float* gradients = vector_gradient;
    const std::int64_t first = matrices;
    team_for(team, begin, end, [=](std::int64_t i) {
      weights[i] = update(i, weights[i], gradients[i - first] * gradient_scale);
    });
  }
};

/// v = momentum v + g; w -= rate v, or, with Nesterov, w -= rate (g + momentum v). The weight decay
/// is added to the gradient. Source: I. Sutskever et al., "On the importance of initialization and
/// momentum in deep learning", ICML 2013, in the variant where v does not include the learning
/// rate.
struct SgdRule {
  float momentum;
  bool nesterov;
  float* velocity;  ///< null: no momentum

  static constexpr int kScratch = 0;
  struct Factors {
    float rate, decay;
  };
  WS_INLINE Factors factors(const StepState& state) const { return {state.learning_rate, 0}; }
  WS_INLINE Factors scaled(const Factors& f, const UpdateRange& range) const {
    return {f.rate * range.lr_scale, range.weight_decay};
  }
  WS_INLINE float updated(const Factors& f, std::int64_t i, float weight, float gradient) const {
    const float decayed = gradient + f.decay * weight;
    float direction = decayed;
    if (velocity != nullptr) {
      const float v = momentum * velocity[i] + decayed;
      velocity[i] = v;
      direction = nesterov ? decayed + momentum * v : v;
    }
    return weight - f.rate * direction;
  }
};

/// m and v are decaying means of the gradient and its square, divided by 1 - beta^t. Weight decay
/// shrinks the weight itself. Source: I. Loshchilov, F. Hutter, "Decoupled Weight Decay
/// Regularization", ICLR 2019, algorithm 2.
struct AdamWRule {
  float beta1, beta2, epsilon;
  float* first;
  float* second;

  static constexpr int kScratch = 1;
  struct Factors {
    float rate, decay;
    float correction1, correction2;  ///< 1 / (1 - beta^t)
  };
  WS_INLINE Factors factors(const StepState& state) const {
    const std::uint64_t t = state.step + 1;
    return {state.learning_rate, 0,
            static_cast<float>(1.0 / (1.0 - integer_power(static_cast<double>(beta1), t))),
            static_cast<float>(1.0 / (1.0 - integer_power(static_cast<double>(beta2), t)))};
  }
  WS_INLINE Factors scaled(const Factors& f, const UpdateRange& range) const {
    const float rate = f.rate * range.lr_scale;
    return {rate, rate * range.weight_decay, f.correction1, f.correction2};
  }
  WS_INLINE float updated(const Factors& f, std::int64_t i, float weight, float gradient) const {
    const float m = beta1 * first[i] + (1.0f - beta1) * gradient;
    const float v = beta2 * second[i] + (1.0f - beta2) * (gradient * gradient);
    first[i] = m;
    second[i] = v;
    const float step = (m * f.correction1) / (math::sqrt(v * f.correction2) + epsilon);
    return (weight - f.decay * weight) - f.rate * step;
  }
};

template <class Rule>
constexpr std::size_t optimizer_scratch() {
  return Rule::kScratch * sizeof(typename Rule::Factors);
}

}  // namespace wellspring::ops
