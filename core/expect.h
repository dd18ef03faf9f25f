// Contracts between our own functions. Host and device: code for a device compiles them away.
#pragma once

namespace wellspring::detail {
/// Throws std::logic_error with the expression and its place.
[[noreturn]] void contract_failed(const char* expression, const char* file, int line);
}  // namespace wellspring::detail

/// An internal contract, checked in debug and sanitizer builds of host code only; never for input
/// from outside, and never with a side effect.
#if (!defined(NDEBUG) || defined(WELLSPRING_SANITIZED)) && !defined(__CUDA_ARCH__)
#define WS_EXPECT(condition)          \
  ((condition) ? static_cast<void>(0) \
               : ::wellspring::detail::contract_failed(#condition, __FILE__, __LINE__))
#else
#define WS_EXPECT(condition) static_cast<void>(sizeof(!(condition)))
#endif
