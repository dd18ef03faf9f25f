// Internal contracts. Called by all code on host and device; checks nothing on devices.
#pragma once

namespace wellspring::detail {
/// Throws std::logic_error with the expression and its location.
[[noreturn]] void contract_failed(const char* expression, const char* file, int line);
}  // namespace wellspring::detail

/// An internal contract, checked only in debug and sanitizer builds of host code. Not for external
/// input; the condition must not have side effects.
#if (!defined(NDEBUG) || defined(WELLSPRING_SANITIZED)) && !defined(__CUDA_ARCH__)
#define WS_EXPECT(condition)          \
  ((condition) ? static_cast<void>(0) \
               : ::wellspring::detail::contract_failed(#condition, __FILE__, __LINE__))
#else
#define WS_EXPECT(condition) static_cast<void>(sizeof(!(condition)))
#endif
