// Annotations for code that compiles for host and device. Host and device.
#pragma once

#if defined(__CUDACC__)
/// Callable on host and device.
#define WS_HD __host__ __device__
/// Callable on host and device, and always inlined: for code inside pixel loops. It is inlined even
/// in debug builds, because two files with different values of WS_RUN_LENGTH must never share a
/// function that reads it.
#define WS_INLINE __host__ __device__ __forceinline__
#else
#define WS_HD
#define WS_INLINE inline __attribute__((always_inline))
#endif

/// 1 during nvcc's device pass, for host-only shortcuts.
#if defined(__CUDA_ARCH__)
#define WS_DEVICE_CODE 1
#else
#define WS_DEVICE_CODE 0
#endif

/// In a device loop: reads memory again after this point, so that values are not kept in registers
/// across iterations.
#if WS_DEVICE_CODE
#define WS_READ_AGAIN() asm volatile("" ::: "memory")
#else
#define WS_READ_AGAIN() static_cast<void>(0)
#endif

/// Before a loop with a constant count of at most `n`: unrolls it with the compiler's own pragma.
#if WS_DEVICE_CODE
#define WS_UNROLL(n) _Pragma("unroll")
#elif defined(__CUDACC__)
#define WS_UNROLL(n)
#else
#define WS_UNROLL(n) WS_UNROLL_TEXT(GCC unroll n)
#define WS_UNROLL_TEXT(text) _Pragma(#text)
#endif
