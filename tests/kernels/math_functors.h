// Functors that apply all functions of kernels/random/math.h to an array: a map functor to compare
// host and device, and SIMD loops to compare vector and scalar code. For the kernel tests. Host and
// device.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::test {

inline constexpr int kMathFunctions = 14;

/// Function `index` at x; the second argument, if any, is a number derived from x.
template <int index>
WS_INLINE float evaluate(float x) {
  if constexpr (index == 0) return math::sin_turns(x);
  if constexpr (index == 1) return math::cos_turns(x);
  if constexpr (index == 2) return math::sin(x);
  if constexpr (index == 3) return math::cos(x);
  if constexpr (index == 4) return math::atan2(x, 2.5f - x);
  if constexpr (index == 5) return math::acos(x);
  if constexpr (index == 6) return math::exp(x);
  if constexpr (index == 7) return math::exp2(x);
  if constexpr (index == 8) return math::log(x);
  if constexpr (index == 9) return math::log2(x);
  if constexpr (index == 10) return math::pow(math::abs(x), 3.3f - x);
  if constexpr (index == 11) return math::cbrt(x);
  if constexpr (index == 12) return math::sqrt(x);
  if constexpr (index == 13) return math::fract(x);
  return 0;
}

/// out[k, i] = function k at x[i].
struct MathEvaluator {
  const float* x;
  std::int64_t n;
  float* out;  ///< [kMathFunctions, n]

  WS_HD void operator()(std::int64_t i) const { all<0>(i); }

 private:
  template <int index>
  WS_INLINE void all(std::int64_t i) const {
    if constexpr (index < kMathFunctions) {
      out[index * n + i] = evaluate<index>(x[i]);
      all<index + 1>(i);
    }
  }
};

/// The same results, computed one function at a time in loops that the compiler vectorises.
template <int index = 0>
void evaluate_in_simd_loops(const float* x, std::int64_t n, float* out) {
  if constexpr (index < kMathFunctions) {
    float* const row = out + index * n;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) row[i] = evaluate<index>(x[i]);
    evaluate_in_simd_loops<index + 1>(x, n, out);
  }
}

}  // namespace wellspring::test
