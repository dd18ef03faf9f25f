// The gamma distribution: its distribution function, and random numbers that any thread can draw
// for any element. Used by generators. Host and device give the same bits.
#pragma once

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/random/philox_run.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <cstdint>

namespace wellspring::math {

namespace detail {

/// Maximum number of terms of a series or continued fraction. Shapes of 500 need about 100.
inline constexpr int kMostGammaTerms = 1000;

/// 1 / G(a) for a >= 1, where G is the quotient of Gamma(a) and Stirling's sqrt(2 pi / a) (a /
/// e)^a. Uses a polynomial in 1 / a from scripts/derive-math-coefficients. Largest error: 2^-25.
WS_INLINE float inverse_stirling(float a) {
  const float u = 1 / a;
  float p = 0x1.2fc0c4p-13f;
  p = fma(p, u, -0x1.42801ep-12f);
  p = fma(p, u, -0x1.536b38p-11f);
  p = fma(p, u, 0x1.72f10ap-9f);
  p = fma(p, u, 0x1.c419dcp-9f);
  p = fma(p, u, -0x1.555420p-4f);
  return fma(p, u, 1.0f);
}

}  // namespace detail

/// Range of shapes for lower_gamma.
inline constexpr float kLeastGammaShape = 0.01f, kMostGammaShape = 500.0f;

/// Regularised lower incomplete gamma function P(a, x): the distribution function of a gamma
/// distribution with shape `a` in [kLeastGammaShape, kMostGammaShape] and scale 1, at x >= 0.
/// Monotone in x up to its error. Largest absolute error: 1.3e-6, and 6e-7 for a in [1, 100].
///
/// Uses the series for x below a + 1, and Lentz's continued fraction otherwise (Abramowitz and
/// Stegun 6.5.29 and 6.5.31). Their common factor x^a e^-x / Gamma(a + 1) is written with
///     D(m) = m - log(1 + m),  m = x / A - 1,  A = a + 1,
/// as exp(-A D) sqrt(A / 2 pi) / (x G), where G is the quotient of Gamma(A) and Stirling's formula,
/// so that no large logarithms cancel (N. Temme, SIAM J. Math. Anal. 10 (1979) 757).
WS_HD inline float lower_gamma(float a, float x) {
  if (!(x > 0)) return 0;
  const float next = a + 1;
  const float m = (x - next) / next;
  // Near m = 0, uses the tail of the logarithm, because its leading term would cancel with m.
  const bool near = m > -0.29f && m < 0.41f;
  const float excess = near ? -detail::log1p_tail(m) : m - log(x / next);
  const float front = exp(-next * excess) * sqrt(next * 0x1.45f306p-3f) *
                      detail::inverse_stirling(next) / x;  // 1 / 2 pi
  if (x < next) {
    float term = 1, sum = 1;
    for (int n = 1; n < detail::kMostGammaTerms && term > 0x1p-26f * sum; ++n) {
      term *= x / (a + static_cast<float>(n));
      sum += term;
    }
    return min(front * sum, 1.0f);
  }
  float b = x + 1 - a, c = 1e30f, d = 1 / b, fraction = d;
  for (int n = 1; n < detail::kMostGammaTerms; ++n) {
    const auto k = static_cast<float>(n);
    const float numerator = k * (a - k);
    b += 2;
    d = 1 / fma(numerator, d, b);
    c = b + numerator / c;
    const float step = c * d;
    fraction *= step;
    if (abs(step - 1) < 0x1p-23f) break;
  }
  return max(1 - front * a * fraction, 0.0f);
}

}  // namespace wellspring::math

namespace wellspring {

/// Number of tries of draw_gamma. All fail about once in 10^20 draws; the last try is then used.
inline constexpr std::uint32_t kGammaTries = 16;

namespace detail {

/// Correction factor if the shape was below 1 and was raised by 1; otherwise 1.
WS_INLINE float gamma_power(const Philox4& block, float shape) {
  const float power = math::exp(math::log(unit_float_open(block.word[3])) / shape);
  return shape < 1 ? power : 1.0f;
}

struct GammaTry {
  float number;
  float log_chance;  ///< logarithm of the acceptance probability
  WS_INLINE bool is_taken(const Philox4& block) const {
    return math::log(unit_float_open(block.word[2])) < log_chance;
  }
};
WS_INLINE GammaTry try_gamma(const Philox4& block, float shape, float power) {
  const float d = (shape < 1 ? shape + 1 : shape) - 1.0f / 3;
  const float c = 1 / math::sqrt(9 * d);
  const float normal = math::box_muller(block.word[0], block.word[1]).first;
  const float root = math::max(math::fma(c, normal, 1.0f), 0.0f);  // 0 is never accepted
  const float cube = root * root * root;
  const float bound = math::fma(0.5f * normal, normal, d * (1 - cube + math::log(cube)));
  return {d * cube * power, bound};
}

}  // namespace detail

/// A gamma-distributed number with `shape` above 0 and scale 1, by the method of G. Marsaglia and
/// W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000) 363. A cubed
/// normal variate is accepted with a probability of at least 95 %. A shape below 1 is raised by 1,
/// and the result is corrected by the power 1 / shape of a uniform number. Try k reads block
/// `first` + k * `stride`: words 0 and 1 make the normal variate, word 2 decides, and word 3 of the
/// first try is the uniform number. Elements 0 to stride - 1 can therefore be drawn in any order.
WS_HD inline float draw_gamma(const SampleRng& rng, Purpose purpose, std::uint32_t first,
                              std::uint32_t stride, float shape) {
  float power = 1, number = 0;
  for (std::uint32_t k = 0; k < kGammaTries; ++k) {
    const Philox4 block = rng.block(purpose, first + k * stride);
    if (k == 0 && shape < 1) power = detail::gamma_power(block, shape);
    const detail::GammaTry made = detail::try_gamma(block, shape, power);
    number = made.number;
    if (made.is_taken(block)) break;
  }
  return number;
}

/// Draws for N elements. First tries are vectorised; rejected elements retry one by one.
template <int N>
WS_INLINE void draw_gammas(const SampleRng& rng, Purpose purpose, const std::uint32_t (&first)[N],
                           std::uint32_t stride, const float (&shape)[N], float (&number)[N]) {
  std::int32_t taken[N] = {};
  if constexpr (N > 1) {
    const PhiloxRun<N> blocks = blocks_of_draws<N>(rng, purpose, first);
    in_lanes<N>([&](int i) WS_INLINED {
      const Philox4 block = blocks.of(i);
      const detail::GammaTry made =
          detail::try_gamma(block, shape[i], detail::gamma_power(block, shape[i]));
      number[i] = made.number;
      taken[i] = made.is_taken(block) ? 1 : 0;
    });
  }
  for (int i = 0; i < N; ++i) {
    if (taken[i] == 0) number[i] = draw_gamma(rng, purpose, first[i], stride, shape[i]);
  }
}

}  // namespace wellspring
