// The update rules of the optimizers: how a gradient changes one weight. A rule has `kMoments`
// state arrays, and `factors`, computed once per range with one policy. The momentum or first
// moment is the first array. Used by train/optimizer/optimizer.h; host and device.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/step_state.h"
#include "train/optimizer/learning_rate.h"
#include "train/optimizer/parameter_view.h"

#include <cstdint>

namespace wellspring::ops {

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
  WS_INLINE Factors factors(const StepState& state, const UpdateRange& range,
                            float /*ratio*/) const {
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
    float correction1, correction2;  ///< 1 / (1 - beta^t), t counted from the range's first step
  };
  WS_INLINE Factors factors(const StepState& state, const UpdateRange& range,
                            float /*ratio*/) const {
    const float rate = state.learning_rate * range.lr_scale;
    if (range.start == 0)
      return {rate, rate * range.weight_decay, state.correction1, state.correction2};
    const std::uint64_t step = state.step - 1 - range.start;  // state.step counts this step
    return {rate, rate * range.weight_decay, bias_correction(beta1, step),
            bias_correction(beta2, step)};
  }
  /// Updates the moments; the step is the rate times this direction.
  WS_INLINE float direction(const Factors& f, float gradient, float& m, float& v) const {
    m = beta1 * m + (1.0f - beta1) * gradient;
    v = beta2 * v + (1.0f - beta2) * (gradient * gradient);
    return (m * f.correction1) / (math::sqrt(v * f.correction2) + epsilon);
  }
  WS_INLINE void update(const Factors& f, float gradient, float& weight, float& m, float& v) const {
    const float step = direction(f, gradient, m, v);
    weight = (weight - f.decay * weight) - f.rate * step;
  }
};

/// The weight moves by the sign of a mean of gradient and momentum. Weight decay shrinks the weight
/// itself. Source: X. Chen et al., "Symbolic Discovery of Optimization Algorithms", NeurIPS 2023,
/// algorithm 2.
struct LionRule {
  float beta1, beta2;

  static constexpr int kMoments = 1;
  struct Factors {
    float rate, decay;
  };
  WS_INLINE Factors factors(const StepState& state, const UpdateRange& range,
                            float /*ratio*/) const {
    const float rate = state.learning_rate * range.lr_scale;
    return {rate, rate * range.weight_decay};
  }
  WS_INLINE void update(const Factors& f, float gradient, float& weight, float& m,
                        float& /*second*/) const {
    const float mean = beta1 * m + (1.0f - beta1) * gradient;
    const float sign = mean > 0 ? 1.0f : (mean < 0 ? -1.0f : 0.0f);
    weight = (weight - f.decay * weight) - f.rate * sign;
    m = beta2 * m + (1.0f - beta2) * gradient;
  }
};

/// Adam's step plus the weight decay, scaled so that its norm is the rate times the norm of the
/// tensor's weights. Source: Y. You et al., "Large Batch Optimization for Deep Learning: Training
/// BERT in 76 minutes", ICLR 2020, algorithm 2 with the identity for phi. As in timm, tensors
/// without weight decay are not scaled.
struct LambRule {
  AdamWRule adam;

  static constexpr int kMoments = 2;
  struct Factors {
    AdamWRule::Factors adam;  ///< without rate and decay
    float rate, decay;        ///< the rate includes the ratio
  };
  WS_INLINE Factors factors(const StepState& state, const UpdateRange& range, float ratio) const {
    const AdamWRule::Factors corrections = adam.factors(state, range, ratio);
    return {{0, 0, corrections.correction1, corrections.correction2},
            state.learning_rate * range.lr_scale * ratio,
            range.weight_decay};
  }
  /// The update whose norm determines the ratio.
  WS_INLINE float direction(const Factors& f, float gradient, float weight, float& m,
                            float& v) const {
    return adam.direction(f.adam, gradient, m, v) + f.decay * weight;
  }
  WS_INLINE float ratio(float weight, float update, const UpdateRange& /*range*/) const {
    return weight / update;
  }
  WS_INLINE void update(const Factors& f, float gradient, float& weight, float& m, float& v) const {
    weight -= f.rate * direction(f, gradient, weight, m, v);
  }
};

/// SGD with momentum on gradients scaled in proportion to the norm of the tensor's weights. Source:
/// Y. You, I. Gitman, B. Ginsburg, "Large Batch Training of Convolutional Networks",
/// arXiv:1708.03888, algorithm 1; the momentum does not include the learning rate, as in timm. As
/// in timm, tensors without weight decay are not scaled.
struct LarsRule {
  SgdRule sgd;
  float trust_coefficient, epsilon;

  static constexpr int kMoments = 1;
  struct Factors {
    float rate, decay, ratio;
  };
  WS_INLINE Factors factors(const StepState& state, const UpdateRange& range, float ratio) const {
    return {state.learning_rate * range.lr_scale, range.weight_decay, ratio};
  }
  WS_INLINE float direction(const Factors& /*f*/, float gradient, float /*weight*/, float& /*v*/,
                            float& /*second*/) const {
    return gradient;
  }
  WS_INLINE float ratio(float weight, float gradient, const UpdateRange& range) const {
    return trust_coefficient * weight / (gradient + weight * range.weight_decay + epsilon);
  }
  WS_INLINE void update(const Factors& f, float gradient, float& weight, float& v,
                        float& second) const {
    const float decayed = f.ratio * (gradient + f.decay * weight);
    sgd.update({f.rate, 0}, decayed, weight, v, second);
  }
};

}  // namespace wellspring::ops
