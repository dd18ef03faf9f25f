// Chunks of long arrays: a team takes one chunk and loops over it with kernels/runtime/team_loop.h.
// Called by the functors of kernels/ops; host and device.
#pragma once

#include "kernels/runtime/macros.h"
#include "kernels/runtime/team_loop.h"

#include <cstdint>

namespace wellspring::ops {

/// Elements per chunk: one pack (kernels/runtime/pack.h) for each of 256 threads, so that small
/// arrays still spread over many multiprocessors. On the host, the cost of handing out a task is
/// negligible for a chunk of this size.
inline constexpr std::int64_t kChunk = 2048;
inline constexpr int kChunkTeam = 256;

constexpr std::int64_t chunks(std::int64_t n) {
  return (n + kChunk - 1) / kChunk;
}

/// The elements [begin, end) of chunk `index` of `n`.
struct ChunkRange {
  WS_INLINE ChunkRange(std::int64_t index, std::int64_t n)
      : begin(index * kChunk), end(begin + kChunk < n ? begin + kChunk : n) {}
  std::int64_t begin, end;
};

/// False for NaN and both infinities.
WS_INLINE constexpr bool is_finite(float x) {
  return x - x == 0.0f;
}

}  // namespace wellspring::ops
