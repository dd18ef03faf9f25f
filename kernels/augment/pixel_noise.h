// Per-pixel normal numbers, for noise and for filling an erased box. Only for the passes after
// emission: in the generators' kernels they would cost registers even if unused. Host and device.
#pragma once

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

namespace detail {

/// Three independent standard normal numbers of output pixel (x, y). Each pixel has one Philox
/// block, each sample its own stream. x and y must be below 2^16.
WS_INLINE void pixel_normals(const std::uint32_t (&key)[2], int x, int y, float (&normal)[3]) {
  const std::uint32_t place = static_cast<std::uint32_t>(y) << 16 | static_cast<std::uint32_t>(x);
  const SampleRng rng{key[0] | std::uint64_t{key[1]} << 32, 0};
  const Philox4 block = rng.block(Purpose::augment, place);
  const math::NormalPair pair = math::box_muller(block.word[0], block.word[1]);
  normal[0] = pair.first;
  normal[1] = pair.second;
  normal[2] = math::box_muller(block.word[2], block.word[3]).first;
}

/// Calls visit(lane, normal numbers) for the lanes in [from, to) of the run that starts at (x, y).
template <class Visit>
WS_INLINE void for_noise(const std::uint32_t (&key)[2], int x, int y, int from, int to,
                         const Visit& visit) {
#if WS_DEVICE_CODE
#pragma unroll 1  // long code, rarely executed
#endif
  for (int i = from; i < to; ++i) {
    float normal[3];
    pixel_normals(key, x + i, y, normal);
    visit(i, normal);
  }
}

}  // namespace detail
}  // namespace wellspring
