// Loops over the pixels of a run: SIMD loops on a host, unrolled registers on a device. For code
// that shades, colours or mixes pixels; host and device.
//
//   WS_LANES          before a loop whose turns are independent of each other
//   WS_LANES_SUM(n)   the same for a loop that adds to the integer n
#pragma once

#include "kernels/macros.h"

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
