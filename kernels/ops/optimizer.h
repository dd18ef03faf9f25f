// Gradient norm, SGD and AdamW over the flat parameter arenas. Called by kernels/ops/optimizer.cpp;
// host and device.
#pragma once

#include "kernels/ops/team_loop.h"
#include "kernels/ops/training.h"
#include "kernels/random/math.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/reduce.h"
#include "kernels/runtime/step_state.h"

#include <cstdint>

namespace wellspring::ops {

/// Number of partial sums of the gradient norm: enough teams to fill a large GPU, few enough for
/// one team to add in one pass. The norm's bits depend on this number.
inline constexpr std::int64_t kNormParts = 256;

/// First of two passes: the sum of squares of one of kNormParts equal ranges. The matrices come
/// first.
template <class T>
struct GradientSquares {
  const T* matrix_gradient;
  const float* vector_gradient;
  std::int64_t matrices, vectors;
  float* partials;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t part) const {
    float* lanes = team.template scratch<float>(kReduceLanes);
    const float of_matrices = squares(team, lanes, matrix_gradient, matrices, part);
    const float of_vectors = squares(team, lanes, vector_gradient, vectors, part);
    if (team.rank() == 0) partials[part] = of_matrices + of_vectors;
  }

 private:
  template <class Team, class Element>
  WS_HD static float squares(Team& team, float* lanes, const Element* values, std::int64_t n,
                             std::int64_t part) {
    const std::int64_t begin = n * part / kNormParts;
    const std::int64_t end = n * (part + 1) / kNormParts;
    return team_sum<Team, float>(team, lanes, end - begin, [=](std::int64_t i) {
      const float value = static_cast<float>(values[begin + i]);
      return value * value;
    });
  }
};

/// Second pass: computes the norm and the factor that clips the gradient.
struct GradientScale {
  const float* partials;
  float clip;
  StepState* state;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t) const {
    float* lanes = team.template scratch<float>(kReduceLanes);
    const float* parts = partials;
    const float sum =
        team_sum<Team, float>(team, lanes, kNormParts, [=](std::int64_t i) { return parts[i]; });
    if (team.rank() != 0) return;
    const float norm = math::sqrt(sum);
    state->gradient_norm = norm;
    if (!is_finite(norm)) {
      state->gradient_scale = 0;
      if (state->nonfinite == 0) state->nonfinite = static_cast<std::uint32_t>(state->step) + 1;
    } else {
      state->gradient_scale = clip > 0 && norm > clip ? clip / norm : 1.0f;
    }
  }
};

/// base^exponent by squaring. It only uses products in double precision, so host and device agree.
WS_INLINE constexpr double integer_power(double base, std::uint64_t exponent) {
  double result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

/// Common part of SGD and AdamW: one team updates one chunk of the arena. The end of the matrices
/// may be inside the chunk. `Rule`: SgdRule or AdamWRule.
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
    if (gradient_scale == 0) return;  // the gradient is not finite: skips this update
    typename Rule::Factors factors;
    if constexpr (Rule::kScratch > 0) {
      // One member computes the factors for all.
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
/// momentum in deep learning", ICML 2013, in the form in which v does not contain the learning
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
