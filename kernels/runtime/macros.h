// Annotations that let one source serve host and device. Host and device.
#pragma once

#if defined(__CUDACC__)
/// Callable on host and device.
#define WS_HD __host__ __device__
/// Callable on host and device, always inlined: for code inside pixel loops. In every build: what
/// reads WS_RUN_LENGTH must never become a function that two files with other lengths share.
#define WS_INLINE __host__ __device__ __forceinline__
#else
#define WS_HD
#define WS_INLINE inline __attribute__((always_inline))
#endif

/// Defined while the device pass of nvcc compiles; host-only shortcuts stay outside.
#if defined(__CUDA_ARCH__)
#define WS_DEVICE_CODE 1
#else
#define WS_DEVICE_CODE 0
#endif

/// In a loop of a device: from here on memory is read again, so that what the loop's turns read is
/// not held in registers from the first turn to the last.
#if WS_DEVICE_CODE
#define WS_READ_AGAIN() asm volatile("" ::: "memory")
#else
#define WS_READ_AGAIN() static_cast<void>(0)
#endif

/// Before a loop with a constant count, of `n` at most: unrolls it, in each compiler's words.
#if WS_DEVICE_CODE
#define WS_UNROLL(n) _Pragma("unroll")
#elif defined(__CUDACC__)
#define WS_UNROLL(n)
#else
#define WS_UNROLL(n) WS_UNROLL_TEXT(GCC unroll n)
#define WS_UNROLL_TEXT(text) _Pragma(#text)
#endif
