// cuRAND's device generator at scattered counters, for comparison with kernels/random/philox.h. For
// the kernel tests. Host and device; the cuRAND part is device only.
#pragma once

#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

#if defined(__CUDACC__)
#include <curand_kernel.h>
#endif

namespace wellspring::test {

/// out[i] = the four words of curand_init(seed, sample, 4 * draw) for scattered samples and draws.
struct CurandWords {
  std::uint64_t seed;
  std::uint32_t* out;  ///< [n, 4]

  WS_HD std::uint64_t sample(std::int64_t i) const {
    return static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ull;
  }
  /// Below 2^38, so that 4 * draw fits in cuRAND's 64-bit offset. The high word is our purpose tag.
  WS_HD std::uint64_t draw(std::int64_t i) const { return sample(i + 1) >> 26; }

  WS_HD Philox4 ours(std::int64_t i) const {
    return SampleRng{seed, sample(i)}.block(static_cast<Purpose>(draw(i) >> 32),
                                            static_cast<std::uint32_t>(draw(i)));
  }

  WS_HD void operator()([[maybe_unused]] std::int64_t i) const {
#if WS_DEVICE_CODE
    curandStatePhilox4_32_10_t state;
    curand_init(seed, sample(i), 4 * draw(i), &state);
    for (int k = 0; k < 4; ++k) out[4 * i + k] = curand(&state);
#endif
  }
};

}  // namespace wellspring::test
