// The update rules of all optimizers in double precision, for tests. Host only.
#pragma once

#include "tests/ops/operation_test.h"
#include "train/optimizer/optimizer.h"

#include <cmath>
#include <cstddef>
#include <vector>

namespace wellspring::ops::test {

/// One step in double precision, as written in the papers.
struct Reference {
  OptimizerSpec spec;
  std::vector<UpdateRange> ranges;
  double schedule;  ///< the learning rate before its scaling
  Doubles weight, first, second;

  void step(const Doubles& gradient, int t) {
    for (const UpdateRange& range : ranges)
      if (const int begun = t - static_cast<int>(range.start); begun > 0)
        step(range, gradient, begun);
  }
  void step(const UpdateRange& range, const Doubles& gradient, int t) {
    if (spec.row().tensor_norms) return step_of_tensor(range, gradient, t);
    const double rate = schedule * static_cast<double>(range.lr_scale);
    const double decay = static_cast<double>(range.weight_decay);
    const double b1 = static_cast<double>(spec.beta1), b2 = static_cast<double>(spec.beta2);
    const double correction1 = 1 - std::pow(b1, t), correction2 = 1 - std::pow(b2, t);
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end);
         ++i) {
      double g = gradient[i];
      if (spec.kind == OptimizerKind::sgd) {
        const double momentum = static_cast<double>(spec.momentum);
        g += decay * weight[i];
        first[i] = momentum * first[i] + g;
        weight[i] -= rate * (spec.nesterov ? g + momentum * first[i] : first[i]);
      } else if (spec.kind == OptimizerKind::lion) {
        const double mean = b1 * first[i] + (1 - b1) * g;
        weight[i] -= rate * decay * weight[i];
        weight[i] -= rate * static_cast<double>((mean > 0) - (mean < 0));
        first[i] = b2 * first[i] + (1 - b2) * g;
      } else {
        first[i] = b1 * first[i] + (1 - b1) * g;
        second[i] = b2 * second[i] + (1 - b2) * g * g;
        weight[i] -= rate * decay * weight[i];
        weight[i] -= rate * (first[i] / correction1) /
                     (std::sqrt(second[i] / correction2) + static_cast<double>(spec.epsilon));
      }
    }
  }

  /// LAMB and LARS, as in timm 1.0 (lamb.py, lars.py), one tensor at a time.
  void step_of_tensor(const UpdateRange& range, const Doubles& gradient, int t) {
    const auto begin = static_cast<std::size_t>(range.begin),
               n = static_cast<std::size_t>(range.end) - begin;
    const double rate = schedule * static_cast<double>(range.lr_scale);
    const double decay = static_cast<double>(range.weight_decay);
    const double momentum = static_cast<double>(spec.momentum);
    const double epsilon = static_cast<double>(spec.epsilon);
    const double b1 = static_cast<double>(spec.beta1), b2 = static_cast<double>(spec.beta2);
    const auto norm = [](const double* x, std::size_t count) {
      double sum = 0;
      for (std::size_t i = 0; i < count; ++i) sum += x[i] * x[i];
      return std::sqrt(sum);
    };
    const double weights = norm(&weight[begin], n);
    if (spec.kind == OptimizerKind::lars) {
      const double gradients = norm(&gradient[begin], n);
      double ratio = static_cast<double>(spec.trust_coefficient) * weights /
                     (gradients + weights * decay + epsilon);
      if (decay == 0 || weights == 0 || gradients == 0) ratio = 1;
      for (std::size_t i = begin; i < begin + n; ++i) {
        const double g = (gradient[i] + decay * weight[i]) * ratio;
        first[i] = momentum * first[i] + g;
        weight[i] -= rate * (spec.nesterov ? g + momentum * first[i] : first[i]);
      }
      return;
    }
    Doubles update(n);
    for (std::size_t i = 0; i < n; ++i) {
      double &m = first[begin + i], &v = second[begin + i];
      m = b1 * m + (1 - b1) * gradient[begin + i];
      v = b2 * v + (1 - b2) * gradient[begin + i] * gradient[begin + i];
      update[i] = (m / (1 - std::pow(b1, t))) / (std::sqrt(v / (1 - std::pow(b2, t))) + epsilon) +
                  decay * weight[begin + i];
    }
    const double updates = norm(update.data(), n);
    const double ratio = decay == 0 || weights == 0 || updates == 0 ? 1 : weights / updates;
    for (std::size_t i = 0; i < n; ++i) weight[begin + i] -= rate * ratio * update[i];
  }
};

}  // namespace wellspring::ops::test
