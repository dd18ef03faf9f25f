// Writing memory as fast as a device can: functor of the ceiling of generators. Host and device.
#pragma once

#include "kernels/runtime/macros.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wellspring::bench {

/// Team functor: random words, the same few again and again. Zeros, and one word all over, are
/// compressed on their way by some devices.
struct WriteWords {
  struct alignas(16) Words {
    std::uint32_t word[4];
  };
  /// What a team writes: few enough to lie in each core's nearest cache, where reading them costs
  /// little beside writing.
  static constexpr std::int64_t kTile = 1024;

  const Words* tile;  ///< [kTile]
  Words* to;
  std::int64_t count;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t i) const {
    const std::int64_t begin = i * kTile, left = count - begin;
    Words* const part = to + begin;
    const std::int64_t here = left < kTile ? left : kTile;
#if WS_DEVICE_CODE
    for (std::int64_t k = team.rank(); k < here; k += team.size()) part[k] = tile[k];
#else
    if (team.rank() == 0) std::memcpy(part, tile, static_cast<std::size_t>(here) * sizeof *tile);
#endif
  }
};

}  // namespace wellspring::bench
