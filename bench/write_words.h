// Writing memory as fast as a device can: functor of the ceiling of generators. Host and device.
#pragma once

#include "kernels/macros.h"

#include <cstdint>

namespace wellspring::bench {

/// Map functor: random words, the same few again and again. Zeros, and one word all over, are
/// compressed on their way by some devices.
struct WriteWords {
  struct alignas(16) Words {
    std::uint32_t word[4];
  };
  /// In each core's nearest caches, where reading costs nothing beside writing.
  static constexpr std::int64_t kTile = 1024;

  const Words* tile;  ///< [kTile]
  Words* to;

  WS_HD void operator()(std::int64_t i) const { to[i] = tile[i & (kTile - 1)]; }
};

}  // namespace wellspring::bench
