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
  float weight_decay = 0;  ///< matrices only; decoupled for adamw, added to the gradient for sgd
  int state_arrays() const { return kind == OptimizerKind::adamw ? 2 : (momentum != 0 ? 1 : 0); }
};
/// `first`, `second`: [matrices + vectors] f32 each, or null (see state_arrays()). Bias correction
/// uses state->step + 1. Writes master and working copy in one pass.
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

/// Common part of SGD and AdamW: one team updates one chunk of the arena. The boundary between
/// matrices and vectors may lie inside the chunk. `Rule`: SgdRule or AdamWRule.
template <class T, class Rule>
struct OptimizerStep {
  Rule rule;
  std::int64_t matrices, vectors;
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
    const ChunkRange range(chunk, matrices + vectors);
    const Rule update = rule;
    float* weights = master;
    const std::int64_t border = matrices < range.begin ? range.begin
                                : matrices > range.end ? range.end
                                                       : matrices;
    const T* of_matrices = matrix_gradient;
    T* copy = working;
    if (copy != nullptr) {
      team_for(team, range.begin, border, [=](std::int64_t i) {
        const float gradient = static_cast<float>(of_matrices[i]) * gradient_scale;
        const float weight = update.decayed(factors, i, weights[i], gradient);
        weights[i] = weight;
        copy[i] = T(weight);
      });
    } else {
      team_for(team, range.begin, border, [=](std::int64_t i) {
        const float gradient = static_cast<float>(of_matrices[i]) * gradient_scale;
        weights[i] = update.decayed(factors, i, weights[i], gradient);
      });
    }
    const float* of_vectors = vector_gradient;
    const std::int64_t first = matrices;
    team_for(team, border, range.end, [=](std::int64_t i) {
      const float gradient = of_vectors[i - first] * gradient_scale;
      weights[i] = update.plain(factors, i, weights[i], gradient);
    });
  }
};

/// v = momentum v + g; w -= rate v, or, with Nesterov, w -= rate (g + momentum v). The weight decay
/// is added to the gradient. Source: I. Sutskever et al., "On the importance of initialization and
/// momentum in deep learning", ICML 2013, in the variant where v does not include the learning
/// rate.
struct SgdRule {
  float momentum;
  float weight_decay;
  bool nesterov;
  float* velocity;  ///< null: no momentum

  static constexpr int kScratch = 0;
  struct Factors {
    float rate;
  };
  WS_INLINE Factors factors(const StepState& state) const { return {state.learning_rate}; }
  WS_INLINE float decayed(const Factors& f, std::int64_t i, float weight, float gradient) const {
    return plain(f, i, weight, gradient + weight_decay * weight);
  }
  WS_INLINE float plain(const Factors& f, std::int64_t i, float weight, float gradient) const {
    float direction = gradient;
    if (velocity != nullptr) {
      const float v = momentum * velocity[i] + gradient;
      velocity[i] = v;
      direction = nesterov ? gradient + momentum * v : v;
    }
    return weight - f.rate * direction;
  }
};

/// m and v are decaying means of the gradient and its square, divided by 1 - beta^t. Weight decay
/// shrinks the weight itself. Source: I. Loshchilov, F. Hutter, "Decoupled Weight Decay
/// Regularization", ICLR 2019, algorithm 2.
struct AdamWRule {
  float beta1, beta2, epsilon, weight_decay;
  float* first;
  float* second;

  static constexpr int kScratch = 1;
  struct Factors {
    float rate, decay;
    float correction1, correction2;  ///< 1 / (1 - beta^t)
  };
  WS_INLINE Factors factors(const StepState& state) const {
    const std::uint64_t t = state.step + 1;
    return {state.learning_rate, state.learning_rate * weight_decay,
            static_cast<float>(1.0 / (1.0 - integer_power(static_cast<double>(beta1), t))),
            static_cast<float>(1.0 / (1.0 - integer_power(static_cast<double>(beta2), t)))};
  }
  WS_INLINE float decayed(const Factors& f, std::int64_t i, float weight, float gradient) const {
    return plain(f, i, weight - f.decay * weight, gradient);
  }
  WS_INLINE float plain(const Factors& f, std::int64_t i, float weight, float gradient) const {
    const float m = beta1 * first[i] + (1.0f - beta1) * gradient;
    const float v = beta2 * second[i] + (1.0f - beta2) * (gradient * gradient);
    first[i] = m;
    second[i] = v;
    const float step = (m * f.correction1) / (math::sqrt(v * f.correction2) + epsilon);
    return weight - f.rate * step;
  }
};

template <class Rule>
constexpr std::size_t optimizer_scratch() {
  return Rule::kScratch * sizeof(typename Rule::Factors);
}

}  // namespace wellspring::ops
