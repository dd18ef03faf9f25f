// Loops over the pixels of a run: SIMD loops on a host, unrolled loops in registers on a device.
// For code that shades, colours or mixes pixels; host and device.
//
//   WS_LANES          before a loop with independent iterations
//   WS_LANES_SUM(n)   the same, for a loop that sums into the integer n
//   WS_INLINED        before the body of a lambda called in such a loop
#pragma once

#include "kernels/runtime/macros.h"

#define WS_INLINED __attribute__((always_inline))

#if WS_DEVICE_CODE
#define WS_LANES _Pragma("unroll")
#define WS_LANES_SUM(...) _Pragma("unroll")
#elif defined(__CUDACC__)
#define WS_LANES
#define WS_LANES_SUM(...)
#else
#define WS_LANES _Pragma("omp simd")
#define WS_LANES_SUM(...) WS_LANES_TEXT(omp simd reduction(+ : __VA_ARGS__))
#define WS_LANES_TEXT(...) _Pragma(#__VA_ARGS__)
#endif

namespace wellspring {

/// Calls turn(i), a WS_INLINED lambda, for i in [0, N) in a vectorised loop. For loop bodies that
/// declare arrays or structs, because compilers keep those in memory inside a SIMD loop.
template <int N, class Turn>
WS_INLINE void in_lanes(const Turn& turn) {
  WS_LANES
  for (int i = 0; i < N; ++i) turn(i);
}
/// The same for i in [0, n).
template <class Turn>
WS_INLINE void in_lanes(int n, const Turn& turn) {
#if !WS_DEVICE_CODE
  WS_LANES
#endif
  for (int i = 0; i < n; ++i) turn(i);
}

/// Returns values[index]. A device compares `index` with all indices, because an array with a
/// variable index would be copied to memory.
template <int N>
WS_INLINE float pick(const float (&values)[N], int index) {
#if WS_DEVICE_CODE
  float value = values[0];
#pragma unroll
  for (int i = 1; i < N; ++i) value = i == index ? values[i] : value;
  return value;
#else
  return values[index];
#endif
}

}  // namespace wellspring
