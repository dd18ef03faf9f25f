// SGD and AdamW over the flat parameter arenas. Called by train/step; the functors run on host and device.
#pragma once

#include "kernels/ops/team_loop.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"
#include "train/optimizer/parameter_view.h"

#include <cstdint>
#include <type_traits>

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
/// `first`, `second`: [matrices + vectors] f32 each, or null (see state_arrays()). Rates and weight
/// decay come from parameters.ranges, bias corrections from begin_step. Writes master and working
/// copy in one pass.
void optimizer_step(Stream& stream, const OptimizerSpec& spec, const ParameterView& parameters,
                    float* first, float* second, const StepState* state);

/// Common part of SGD and AdamW: one team updates one chunk of the arena, range by range. `Rule`:
/// SgdRule or AdamWRule.
template <class T, class Rule>
struct OptimizerStep {
  Rule rule;
  std::int64_t matrices, vectors;
  const UpdateRange* ranges;
  std::int64_t range_count;
  float* master;
  float* first;   ///< null: no momentum
  float* second;  ///< used if the rule has two moments
  T* working;     ///< used if T is not float
  const T* matrix_gradient;
  const float* vector_gradient;
  const StepState* state;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t chunk) const {
    const ChunkRange elements(chunk, matrices + vectors);
    std::int64_t r = first_range(elements.begin);
    const StepState now = *state;
    if (now.gradient_scale == 0) return;  // skip the update: the gradient is not finite
    for (; r < range_count && ranges[r].begin < elements.end; ++r) {
      const UpdateRange range = ranges[r];
      const std::int64_t begin = range.begin < elements.begin ? elements.begin : range.begin;
      const std::int64_t end = range.end < elements.end ? range.end : elements.end;
      if (range.begin < matrices) {
        update(team, now, range, begin, end, matrix_gradient, 0);
      } else {
        update(team, now, range, begin, end, vector_gradient, matrices);
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

  /// Updates elements [begin, end); element i has gradients[i - offset].
  template <class Team, class Gradient>
  WS_HD void update(Team& team, const StepState& now, const UpdateRange& range, std::int64_t begin,
                    std::int64_t end, const Gradient* gradients, std::int64_t offset) const {
    constexpr bool two_moments = Rule::kMoments == 2;
    constexpr bool copies = !std::is_same_v<Gradient, float>;
    const typename Rule::Factors factors = rule.factors(now, range);
    const float scale = now.gradient_scale;
    const Rule own = rule;
    float *const weights = master, *const firsts = first, *const seconds = second;
    T* const copy = working;
    const auto on_pack = [=](std::int64_t i) {
      const Pack gradient = load_pack(gradients + (i - offset));
      Pack weight = load_pack(weights + i), m = {}, v = {};
      if (two_moments || firsts != nullptr) m = load_pack(firsts + i);
      if constexpr (two_moments) v = load_pack(seconds + i);
      for (int k = 0; k < kPack; ++k)
        own.update(factors, gradient.v[k] * scale, weight.v[k], m.v[k], v.v[k]);
      if (two_moments || firsts != nullptr) store_pack(firsts + i, m);
      if constexpr (two_moments) store_pack(seconds + i, v);
      store_pack(weights + i, weight);
      if constexpr (copies) store_pack(copy + i, weight);
    };
    const auto on_element = [=](std::int64_t i) {
      const float gradient = static_cast<float>(gradients[i - offset]) * scale;
      float weight = weights[i], m = 0, v = 0;
      if (two_moments || firsts != nullptr) m = firsts[i];
      if constexpr (two_moments) v = seconds[i];
      own.update(factors, gradient, weight, m, v);
      if (two_moments || firsts != nullptr) firsts[i] = m;
      if constexpr (two_moments) seconds[i] = v;
      weights[i] = weight;
      if constexpr (copies) copy[i] = T(weight);
    };
    team_for_packs(team, begin, end, on_pack, on_element);
  }
};

/// v = momentum v + g; w -= rate v, or, with Nesterov, w -= rate (g + momentum v). The weight decay
/// is added to the gradient. Source: I. Sutskever et al., "On the importance of initialization and
/// momentum in deep learning", ICML 2013, in the variant where v does not include the learning
/// rate.
struct SgdRule {
  float momentum;  ///< 0: v is not kept
  bool nesterov;

  static constexpr int kMoments = 1;
  struct Factors {
    float rate, decay;
  };
  WS_INLINE Factors factors(const StepState& state, const UpdateRange& range) const {
    return {state.learning_rate * range.lr_scale, range.weight_decay};
  }
  WS_INLINE void update(const Factors& f, float gradient, float& weight, float& v,
                        float& /*second*/) const {
    const float decayed = gradient + f.decay * weight;
    v = momentum * v + decayed;
    weight -= f.rate * (nesterov ? decayed + momentum * v : v);
  }
};

/// m and v are decaying means of the gradient and its square, divided by 1 - beta^t. Weight decay
/// shrinks the weight itself. Source: I. Loshchilov, F. Hutter, "Decoupled Weight Decay
/// Regularization", ICLR 2019, algorithm 2.
struct AdamWRule {
  float beta1, beta2, epsilon;

  static constexpr int kMoments = 2;
  struct Factors {
    float rate, decay;
    float correction1, correction2;  ///< 1 / (1 - beta^t)
  };
  WS_INLINE Factors factors(const StepState& state, const UpdateRange& range) const {
    const float rate = state.learning_rate * range.lr_scale;
    return {rate, rate * range.weight_decay, state.correction1, state.correction2};
  }
  WS_INLINE void update(const Factors& f, float gradient, float& weight, float& m, float& v) const {
    m = beta1 * m + (1.0f - beta1) * gradient;
    v = beta2 * v + (1.0f - beta2) * (gradient * gradient);
    const float step = (m * f.correction1) / (math::sqrt(v * f.correction2) + epsilon);
    weight = (weight - f.decay * weight) - f.rate * step;
  }
};

}  // namespace wellspring::ops
