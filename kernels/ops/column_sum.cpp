#include "kernels/ops/column_sum.h"

#include "kernels/runtime/launch.h"

#include <algorithm>
#include <string_view>

namespace wellspring::ops {
namespace {

/// At least four rows for each lane of a team, but at most 1024 chunks, which are four for each
/// lane of the second pass.
std::int64_t rows_per_chunk(std::int64_t rows) {
  return std::max<std::int64_t>(1024, (rows + 1023) / 1024);
}

std::int64_t chunk_count(std::int64_t rows) {
  return (rows + rows_per_chunk(rows) - 1) / rows_per_chunk(rows);
}

/// Launches the sums of all chunks.
template <class T>
void sum_chunks(Stream& stream, std::string_view name, const ColumnSum<T>& sum) {
  const std::int64_t chunks = (sum.rows + sum.rows_per_chunk - 1) / sum.rows_per_chunk;
  const int groups = (sum.columns + kPack - 1) / kPack;
  const int lanes = reduce_lanes(std::min(sum.rows, sum.rows_per_chunk));
  league(stream, name, chunks * groups,
         {std::max(lanes, kWarp), static_cast<std::size_t>(lanes) * sizeof(Pack)}, sum);
}

}  // namespace

std::size_t column_sum_partials(const ColumnSumSpec& spec) {
  return static_cast<std::size_t>(chunk_count(spec.rows)) * static_cast<std::size_t>(spec.columns);
}

void column_sum(Stream& stream, const ColumnSumSpec& spec, const void* values, float* partials,
                float* sums) {
  const std::int64_t chunks = chunk_count(spec.rows);
  visit_float(spec.dtype, [&]<class T>(T) {
    sum_chunks(stream, "column_sum",
               ColumnSum<T>{static_cast<const T*>(values), chunks == 1 ? sums : partials, spec.rows,
                            rows_per_chunk(spec.rows), spec.columns});
  });
  if (chunks > 1)
    sum_chunks(stream, "column_total",
               ColumnSum<float>{partials, sums, chunks, chunks, spec.columns});
}

}  // namespace wellspring::ops
