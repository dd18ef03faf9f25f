// Sums over the rows of a row-major matrix: the gradient of a bias. Called by the operations that
// have a bias; host; functors for host and device.
//
// Two passes with a fixed order: first each chunk of rows is summed serially, then 128 lanes and a
// tree add the chunks. The order does not depend on team size, thread count or device.
#pragma once

#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
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

/// partials [chunks, columns]: the sum of one chunk of one column. A map over chunks * columns, so
/// neighbouring threads read neighbouring columns.
template <class T>
struct ColumnChunkSum {
  const T* values;
  float* partials;
  std::int64_t rows;
  std::int64_t rows_per_chunk;
  int columns;

  WS_HD void operator()(std::int64_t i) const {
    const std::int64_t chunk = i / columns;
    const std::int64_t column = i % columns;
    const std::int64_t begin = chunk * rows_per_chunk;
    const std::int64_t end = begin + rows_per_chunk < rows ? begin + rows_per_chunk : rows;
    float sum = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      sum += static_cast<float>(values[row * columns + column]);
    }
    partials[i] = sum;
  }
};

/// sums [columns] from the partial sums; a league over columns.
struct ColumnTotal {
  const float* partials;
  float* sums;
  std::int64_t chunks;
  int columns;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t column) const {
    float* lanes = team.template scratch<float>(kReduceLanes);
    const float sum = team_sum(team, lanes, chunks, [&](std::int64_t chunk) {
      return partials[chunk * columns + column];
    });
    if (team.rank() == 0) sums[column] = sum;
  }
};

}  // namespace wellspring::ops
