// Loops of a team over contiguous elements. On CUDA, members interleave, so that accesses are
// coalesced; on the host, it is one vectorised loop. Host and device.
#pragma once

#include "kernels/runtime/macros.h"
#include "kernels/runtime/team.h"

#include <cstdint>

/// The iterations of the following loop touch different elements. Only for the host compiler,
/// because nvcc uses threads instead.
#if defined(__CUDACC__)
#define WS_SIMD
#else
#define WS_SIMD _Pragma("omp simd")
#endif

namespace wellspring {

/// Calls body(i) for i in [begin, end).
template <class Team, class Body>
WS_INLINE void team_for(Team& team, std::int64_t begin, std::int64_t end, Body body) {
  if constexpr (LoneTeam<Team>) {
    WS_SIMD
    for (std::int64_t i = begin; i < end; ++i) body(i);
  } else {
    for (std::int64_t i = begin + team.rank(); i < end; i += team.size()) body(i);
  }
}

/// Calls body(row, column) for row in [0, rows), column in [0, columns); columns vary fastest.
/// Elements are divided among the members, not rows: otherwise a small number of columns would
/// leave most of a block idle.
template <class Team, class Body>
WS_INLINE void team_for_grid(Team& team, int rows, int columns, Body body) {
  if constexpr (LoneTeam<Team>) {
    for (int row = 0; row < rows; ++row) {
      WS_SIMD
      for (int column = 0; column < columns; ++column) body(row, column);
    }
  } else {
    const int n = rows * columns;
    for (int i = team.rank(); i < n; i += team.size()) body(i / columns, i % columns);
  }
}

}  // namespace wellspring
