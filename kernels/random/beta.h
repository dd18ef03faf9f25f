// The beta distribution, for the weights of mixup, cutmix and augmix. Host and device.
#pragma once

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// The logarithm of a gamma-distributed number with the given shape (above 0) and scale 1. Method:
/// G. Marsaglia and W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000)
/// 363. A cubed normal variate is accepted with a probability of at least 95 % for shapes of at
/// least 1. Smaller shapes are raised by 1, and the result is corrected by a power of a uniform
/// number. All 24 tries fail about once in 10^30 draws; the last try is then used. words.next() is
/// the next random word, of at most 73.
template <class Words>
WS_HD inline float draw_log_gamma(Words& words, float shape) {
  const float lift = unit_float_open(words.next());
  const float raised = shape < 1 ? shape + 1 : shape;
  const float d = raised - 1.f / 3, c = 1 / math::sqrt(9 * d);
  float log_value = math::log(d);
  for (int attempt = 0; attempt < 24; ++attempt) {
    const std::uint32_t first = words.next(), second = words.next();
    const float normal = math::box_muller(first, second).first;
    const float uniform = unit_float_open(words.next());
    const float root = math::fma(c, normal, 1.f);
    if (root <= 0) continue;
    const float cube = root * root * root, log_cube = math::log(cube);
    log_value = math::log(d) + log_cube;
    if (math::log(uniform) < math::fma(0.5f * normal, normal, d * (1 - cube + log_cube))) break;
  }
  return shape < 1 ? log_value + math::log(lift) / shape : log_value;
}

/// A beta-distributed number in [0, 1]; both shapes are above 0. Uses logarithms, because for small
/// shapes both gamma variates may underflow.
template <class Words>
WS_HD inline float draw_beta(Words& words, float alpha, float beta) {
  const float first = draw_log_gamma(words, alpha), second = draw_log_gamma(words, beta);
  return 1 / (1 + math::exp(second - first));
}

}  // namespace wellspring
