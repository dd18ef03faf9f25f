// The optimizers: one update of all parameters in the flat arenas. Called by train/step. Host only;
// the functors themselves run on host and device.
#pragma once

#include "kernels/ops/team_loop.h"
#include "kernels/random/math.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/reduce.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"
#include "train/optimizer/parameter_view.h"
#include "train/optimizer/update_rules.h"

#include <cstdint>
#include <type_traits>

namespace wellspring::ops {

enum class OptimizerKind : std::uint8_t { sgd, adamw, lion, lamb, lars };

/// An optimizer; its rule is in train/optimizer/update_rules.h.
struct OptimizerRow {
  OptimizerKind kind;
  const char* name;
  int moments;           ///< state arrays; 0 for sgd and lars without momentum
  bool tensor_norms;     ///< true if a step depends on norms of each tensor
  float beta2, epsilon;  ///< defaults
};
/// By kind. The defaults come from PyTorch (sgd, adamw) and timm, except for lr, momentum and
/// weight_decay.
inline constexpr OptimizerRow kOptimizers[] = {
    {OptimizerKind::sgd, "sgd", 1, false, 0.999f, 1e-8f},
    {OptimizerKind::adamw, "adamw", 2, false, 0.999f, 1e-8f},
    {OptimizerKind::lion, "lion", 1, false, 0.99f, 1e-8f},
    {OptimizerKind::lamb, "lamb", 2, true, 0.999f, 1e-6f},
    {OptimizerKind::lars, "lars", 1, true, 0.999f, 1e-8f},
};

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::adamw;
  float momentum = 0.9f;  ///< sgd, lars; 0: none
  bool nesterov = false;  ///< sgd, lars
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  float trust_coefficient = 1e-3f;  ///< lars
  float weight_decay = 0;           ///< default for matrices; see the rules
  /// Each block's learning rate divided by the next block's; 1: all blocks learn at the same rate.
  float layer_decay = 1;
  /// Largest norm of a unit's gradient relative to the norm of its weights; 0: no limit.
  float agc = 0;

  const OptimizerRow& row() const { return kOptimizers[static_cast<int>(kind)]; }
  int state_arrays() const {
    const bool by_momentum = kind == OptimizerKind::sgd || kind == OptimizerKind::lars;
    return by_momentum && momentum == 0 ? 0 : row().moments;
  }
};
/// `first`, `second`: [matrices + vectors] f32 each, or null (see state_arrays()). Rates and weight
/// decay come from parameters.ranges, bias corrections from gradient_norm. Writes the master and
/// working copies in one pass. An optimizer with tensor_norms needs parameters.tensor_norms, and
/// one range per tensor, at multiples of kPack.
void optimizer_step(Stream& stream, const OptimizerSpec& spec, const ParameterView& parameters,
                    float* first, float* second, const StepState* state);

/// Common part of all optimizers: one team updates one chunk of the arena, range by range. `Rule`:
/// see train/optimizer/update_rules.h.
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
  const float* ratios = nullptr;  ///< [range_count] of tensors; null: 1

  static constexpr LaunchBound kLaunchBound = {256, 4};  // registers without spills

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t chunk) const {
    const ChunkRange elements(chunk, matrices + vectors);
    std::int64_t r = first_range(elements.begin);
    if (state->gradient_scale == 0) return;  // skip the update: the gradient is not finite
    for (; r < range_count && ranges[r].begin < elements.end; ++r) {
      const UpdateRange range = ranges[r];
      const StepState now = *state;  // here, so that no registers hold it during the updates
      if (now.step <= range.start) continue;  // now.step counts this step
      const auto factors = rule.factors(now, range, ratios != nullptr ? ratios[r] : 1.0f);
      const std::int64_t begin = range.begin < elements.begin ? elements.begin : range.begin;
      const std::int64_t end = range.end < elements.end ? range.end : elements.end;
      if (range.begin < matrices) {
        update(team, now.gradient_scale, factors, begin, end, matrix_gradient, 0);
      } else {
        update(team, now.gradient_scale, factors, begin, end, vector_gradient, matrices);
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
  WS_HD void update(Team& team, float scale, const typename Rule::Factors& factors,
                    std::int64_t begin, std::int64_t end, const Gradient* gradients,
                    std::int64_t offset) const {
    constexpr bool two_moments = Rule::kMoments == 2;
    constexpr bool copies = !std::is_same_v<Gradient, float>;
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

/// Norms of one tensor, squared.
struct TensorNorms {
  float weight = 0, update = 0;
  WS_INLINE TensorNorms operator+(const TensorNorms& o) const {
    return {weight + o.weight, update + o.update};
  }
};
/// Parts of each tensor; each part has its own team, so that a large tensor keeps a GPU busy. The
/// number of parts affects the rounding of the norms.
inline constexpr std::int64_t kTensorParts = 32;

/// First of three launches for per-tensor norms: for one part of one tensor, sums the squares of
/// its weights and of its update before the ratio is applied. Tensors without weight decay are left
/// out: their ratio is 1.
template <class T, class Rule>
struct TensorSquares {
  Rule rule;
  std::int64_t matrices;
  const UpdateRange* ranges;
  const float* master;
  const float* first;   ///< null: no momentum
  const float* second;  ///< used if the rule has two moments
  const T* matrix_gradient;
  const float* vector_gradient;
  const StepState* state;
  TensorNorms* partials;  ///< [ranges, kTensorParts]

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t i) const {
    const UpdateRange range = ranges[i / kTensorParts];
    if (range.weight_decay == 0) return;
    const TensorNorms sum = range.begin < matrices
                                ? squares(team, range, i % kTensorParts, matrix_gradient, 0)
                                : squares(team, range, i % kTensorParts, vector_gradient, matrices);
    if (team.rank() == 0) partials[i] = sum;
  }

 private:
  /// Element i has gradients[i - offset].
  template <class Team, class Gradient>
  WS_HD TensorNorms squares(Team& team, const UpdateRange& range, std::int64_t part,
                            const Gradient* gradients, std::int64_t offset) const {
    const StepState now = *state;
    const typename Rule::Factors factors = rule.factors(now, range, 1.0f);
    const std::int64_t all = (range.end - range.begin) / kPack;
    const std::int64_t begin = all * part / kTensorParts, end = all * (part + 1) / kTensorParts;
    const Rule own = rule;
    const float *const weights = master, *const firsts = first, *const seconds = second;
    TensorNorms* lanes = team.template scratch<TensorNorms>(reduce_lanes(end - begin));
    return team_sum<Team, TensorNorms>(team, lanes, end - begin, [=](std::int64_t p) {
      const std::int64_t at = range.begin + (begin + p) * kPack;
      const Pack gradient = load_pack(gradients + (at - offset)), weight = load_pack(weights + at);
      Pack m = {}, v = {};
      if constexpr (Rule::kMoments == 2) {
        m = load_pack(firsts + at);
        v = load_pack(seconds + at);
      }
      TensorNorms sum;
      for (int k = 0; k < kPack; ++k) {
        const float update =
            own.direction(factors, gradient.v[k] * now.gradient_scale, weight.v[k], m.v[k], v.v[k]);
        sum = sum + TensorNorms{weight.v[k] * weight.v[k], update * update};
      }
      return sum;
    });
  }
};

/// Second launch: computes the trust ratio of each tensor.
template <class Rule>
struct TrustRatios {
  Rule rule;
  const UpdateRange* ranges;
  const TensorNorms* partials;
  float* ratios;  ///< [ranges]

  WS_HD void operator()(std::int64_t r) const {
    if (ranges[r].weight_decay == 0) {
      ratios[r] = 1;
      return;
    }
    TensorNorms sum;
    for (std::int64_t p = 0; p < kTensorParts; ++p) sum = sum + partials[r * kTensorParts + p];
    const float weight = math::sqrt(sum.weight), update = math::sqrt(sum.update);
    ratios[r] = weight > 0 && update > 0 ? rule.ratio(weight, update, ranges[r]) : 1.0f;
  }
};

/// Floats of ParameterView::tensor_norms: the partial sums, then the ratios.
constexpr std::int64_t tensor_norm_floats(std::int64_t ranges) {
  return ranges * (kTensorParts * 2 + 1);
}

}  // namespace wellspring::ops
