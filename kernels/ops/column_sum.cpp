#include "kernels/ops/column_sum.h"

#include "kernels/runtime/launch.h"

#include <algorithm>

namespace wellspring::ops {
namespace {

/// At least 64 rows per chunk, so that the partial sums are small compared with the matrix. At most
/// 1024 chunks, eight for each lane of the second pass.
std::int64_t rows_per_chunk(std::int64_t rows) {
  return std::max<std::int64_t>(64, (rows + 1023) / 1024);
}

std::int64_t chunk_count(std::int64_t rows) {
  return (rows + rows_per_chunk(rows) - 1) / rows_per_chunk(rows);
}

}  // namespace

std::size_t column_sum_partials(const ColumnSumSpec& spec) {
  return static_cast<std::size_t>(chunk_count(spec.rows)) * static_cast<std::size_t>(spec.columns);
}

void column_sum(Stream& stream, const ColumnSumSpec& spec, const void* values, float* partials,
                float* sums) {
  const std::int64_t chunks = chunk_count(spec.rows);
  visit_float(spec.dtype, [&]<class T>(T) {
    map(stream, "column_chunk_sum", chunks * spec.columns,
        ColumnChunkSum<T>{static_cast<const T*>(values), partials, spec.rows,
                          rows_per_chunk(spec.rows), spec.columns});
  });
  league(stream, "column_total", spec.columns, {kReduceLanes, kReduceLanes * sizeof(float)},
         ColumnTotal{partials, sums, chunks, spec.columns});
}

}  // namespace wellspring::ops
