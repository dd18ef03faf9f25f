// Sums over the rows of a row-major matrix: the gradient of a bias. Called by the operations with a
// bias; host only. The functors run on host and device.
//
// A team sums eight columns over a chunk of rows in the order of kernels/runtime/reduce.h. If there
// are several chunks, a second pass sums their sums in the same way. The order does not depend on
// team size, thread count or device.
#pragma once

#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/reduce.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

struct ColumnSumSpec {
  std::int64_t rows = 1;
  int columns = 1;
  DType dtype = DType::f32;  ///< type of the matrix; sums are f32
};

/// Floats of scratch that column_sum needs.
std::size_t column_sum_partials(const ColumnSumSpec& spec);
/// Overwrites sums [columns] with the sums over the rows of values [rows, columns].
void column_sum(Stream& stream, const ColumnSumSpec& spec, const void* values, float* partials,
                float* sums);

/// sums [chunks, columns] of values [rows, columns]. A league over chunks and groups of kPack
/// columns; groups vary fastest.
template <class T>
struct ColumnSum {
  const T* values;
  float* sums;
  std::int64_t rows;
  std::int64_t rows_per_chunk;
  int columns;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t task) const {
    const int groups = (columns + kPack - 1) / kPack;
    const std::int64_t chunk = task / groups;
    const int first = static_cast<int>(task % groups) * kPack;
    const int own = columns - first < kPack ? columns - first : kPack;
    const std::int64_t begin = chunk * rows_per_chunk;
    const std::int64_t end = begin + rows_per_chunk < rows ? begin + rows_per_chunk : rows;
    const T* from = values + begin * columns + first;
    const int stride = columns;
    Pack* lanes = team.template scratch<Pack>(reduce_lanes(end - begin));
    const Pack total = team_sum<Team, Pack>(team, lanes, end - begin, [=](std::int64_t row) {
      const T* place = from + row * stride;
      return stride % kPack == 0 ? load_pack(place) : load_part_of_pack(place, own);
    });
    float* to = sums + chunk * columns + first;
    if (team.rank() == 0) {
      for (int k = 0; k < own; ++k) to[k] = total.v[k];
    }
  }
};

}  // namespace wellspring::ops
