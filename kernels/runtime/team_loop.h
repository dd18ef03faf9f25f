// Loops of a team over contiguous elements: interleaved members on CUDA, so that accesses are
// coalesced; one vectorised loop on the host. Host and device.
#pragma once

#include "kernels/runtime/macros.h"
#include "kernels/runtime/team.h"

#include <cstdint>

/// The following iterations touch different elements. Only for the host compiler: nvcc uses threads
/// instead.
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

/// Calls body(row, column) for row in [0, rows), column in [0, columns), columns fastest. Members
/// share the elements, not the rows: few columns would leave most of a block idle.
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
