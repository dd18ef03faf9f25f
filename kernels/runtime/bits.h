// Bit counting. Host and device.
//
// Device code must not call std::popcount, countl_zero, countr_zero and similar functions: of the
// builtins in libstdc++'s versions, nvcc 13.0 knows only __builtin_popcount and __builtin_clz. It
// treats the others (64-bit versions, and counts from the low end) as undefined and silently drops
// code that depends on them.
#pragma once

#include "kernels/runtime/macros.h"

#include <bit>
#include <cstdint>

namespace wellspring {

/// Number of set bits.
WS_INLINE int bits_set(std::uint32_t bits) {
#if WS_DEVICE_CODE
  return __popc(bits);
#else
  return std::popcount(bits);
#endif
}
WS_INLINE int bits_set(std::uint64_t bits) {
#if WS_DEVICE_CODE
  return __popcll(bits);
#else
  return std::popcount(bits);
#endif
}

/// Position of the lowest set bit; the width of the word if no bit is set.
template <class Word>
WS_INLINE int lowest_bit(Word bits) {
#if WS_DEVICE_CODE
  return bits_set(static_cast<Word>(~bits & (bits - 1)));
#else
  return std::countr_zero(bits);
#endif
}

/// Position of the highest set bit; -1 if no bit is set.
WS_INLINE int highest_bit(std::uint32_t bits) {
#if WS_DEVICE_CODE
  return 31 - __clz(static_cast<int>(bits));
#else
  return 31 - std::countl_zero(bits);
#endif
}

}  // namespace wellspring
