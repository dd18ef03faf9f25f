// Blocks of a matrix [rows, columns] for element-wise work that depends on the row or on the
// column. A team takes some rows or, if they are long, a part of one. Called by functors of
// kernels/ops; host and device.
#pragma once

#include "kernels/ops/channel_loop.h"
#include "kernels/ops/team_loop.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/team.h"

#include <cstdint>

namespace wellspring::ops {

struct RowBlocks {
  std::int64_t rows, columns;
  bool packed;           ///< all rows are whole packs and aligned to 16 bytes
  int each;              ///< rows per block
  std::int64_t per_row;  ///< blocks that share a row

  static constexpr RowBlocks of(std::int64_t rows, std::int64_t columns, bool packed) {
    const std::int64_t fitting = 0 < columns && columns < kChunk ? kChunk / columns : 1;
    return {rows, columns, packed, static_cast<int>(fitting), chunks(columns)};
  }
  constexpr std::int64_t teams() const { return (rows + each - 1) / each * per_row; }

  /// Calls body(Width<n>, begin(row), column) for the packs or elements of block `index`.
  template <class Team, class Begin, class Body>
  WS_INLINE void visit(Team& team, std::int64_t index, Begin begin, Body body) const {
    const std::int64_t first_row = index / per_row * each, left = rows - first_row;
    const int height = left < each ? static_cast<int>(left) : each;
    const ChunkRange range(index % per_row, columns);
    if constexpr (LoneTeam<Team>) {
      for (int r = 0; r < height; ++r) {
        const auto row = begin(first_row + r);
        const auto turn = [=](std::int64_t column) WS_INLINED { body(Width<1>(), row, column); };
        WS_SIMD
        for (std::int64_t column = range.begin; column < range.end; ++column) turn(column);
      }
    } else {
      const int width = static_cast<int>(range.end - range.begin);
      decide(packed, [&]<class Packed>(Packed) WS_INLINED {
        constexpr int n = Packed::value ? kPack : 1;
        const int units = width / n;
        for (int slot = team.rank(); slot < height * units; slot += team.size()) {
          body(Width<n>(), begin(first_row + slot / units), range.begin + slot % units * n);
        }
      });
    }
  }
};

}  // namespace wellspring::ops
