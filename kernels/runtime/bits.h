// Counting the bits of words. Host and device.
//
// Device code must not call std::popcount, countl_zero, countr_zero and their like: of what those
// of libstdc++ call, nvcc 13.0 knows __builtin_popcount and __builtin_clz alone. The others, of 64
// bits or from the lower end, it takes for undefined, and drops what depends on them without a
// word.
#pragma once

#include "kernels/runtime/macros.h"

#include <bit>
#include <cstdint>

namespace wellspring {

/// How many bits are set.
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

/// Place of the lowest bit that is set; the width of the word where none is.
template <class Word>
WS_INLINE int lowest_bit(Word bits) {
#if WS_DEVICE_CODE
  return bits_set(static_cast<Word>(~bits & (bits - 1)));
#else
  return std::countr_zero(bits);
#endif
}

/// Place of the highest bit that is set; -1 where none is.
WS_INLINE int highest_bit(std::uint32_t bits) {
#if WS_DEVICE_CODE
  return 31 - __clz(static_cast<int>(bits));
#else
  return 31 - std::countl_zero(bits);
#endif
}

}  // namespace wellspring
