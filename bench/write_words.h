// Functor that writes memory at the device's full rate, as an upper bound for generators. Called by
// MemoryTraffic; host and device.
#pragma once

#include "kernels/runtime/macros.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wellspring::bench {

/// Team functor: writes a short block of random words repeatedly. Random, because some devices
/// compress zeros and constant words.
struct WriteWords {
  struct alignas(16) Words {
    std::uint32_t word[4];
  };
  /// Words per team: small enough for the L1 cache, so that reading costs little compared with
  /// writing.
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
