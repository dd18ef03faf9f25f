#include "kernels/ops/broadcast.h"

#include "core/error.h"
#include "kernels/ops/column_sum.h"
#include "kernels/runtime/launch.h"

#include <fmt/format.h>

#include <string_view>

namespace wellspring::ops {
namespace {

template <Broadcast operation>
void broadcast(Stream& stream, std::string_view name, DType dtype, std::int64_t rows,
               std::int64_t columns, const void* x, const float* values, void* y) {
  const RowBlocks blocks = RowBlocks::of(rows, columns, columns % kPack == 0);
  visit_float(dtype, [&]<class T>(T) {
    league(stream, name, blocks.teams(), {kChunkTeam},
           BroadcastToRows<T, operation>{static_cast<const T*>(x), values, static_cast<T*>(y),
                                         blocks});
  });
}

/// Chunks of the sums: 8 packs per team member.
NormShape product_shape(std::int64_t rows, int columns) {
  return norm_shape(rows, columns, 1, 16384);
}

ColumnSumSpec total_of(const NormShape& shape) {
  return {shape.chunks, shape.channels, DType::f32};
}

void check_columns(int columns) {
  if (columns >= 1 && columns <= kMaxScaledColumns) return;
  fail(ErrorKind::config,
       {fmt::format("column scaling: {} columns", columns),
        fmt::format("1 to {} columns can have trainable factors", kMaxScaledColumns),
        "choose a narrower layer"});
}

}  // namespace

void add_to_rows(Stream& stream, DType dtype, std::int64_t rows, std::int64_t columns,
                 const void* x, const float* values, void* y) {
  broadcast<Broadcast::add>(stream, "add_to_rows", dtype, rows, columns, x, values, y);
}

void scale_columns(Stream& stream, DType dtype, std::int64_t rows, int columns, const void* x,
                   const float* factors, void* y) {
  broadcast<Broadcast::scale>(stream, "scale_columns", dtype, rows, columns, x, factors, y);
}

std::size_t scale_columns_partials(std::int64_t rows, int columns) {
  const NormShape shape = product_shape(rows, columns);
  return static_cast<std::size_t>(shape.chunks) * static_cast<std::size_t>(columns) +
         column_sum_partials(total_of(shape));
}

void scale_columns_backward(Stream& stream, DType dtype, std::int64_t rows, int columns,
                            const void* x, const void* dy, const float* factors, void* dx,
                            float* dfactors, float* partials) {
  // The sums come first, because dx may replace dy.
  if (dfactors != nullptr) {
    check_columns(columns);
    const NormShape shape = product_shape(rows, columns);
    visit_float(dtype, [&]<class T>(T) {
      league(
          stream, "scale_columns_products", shape.chunks,
          {channel_team(shape.rows_per_chunk, columns),
           norm_scratch(shape.rows_per_chunk, columns, 1, 0) * sizeof(float)},
          ColumnProducts<T>{static_cast<const T*>(x), static_cast<const T*>(dy), partials, shape});
    });
    column_sum(stream, total_of(shape), partials, partials + std::int64_t{shape.chunks} * columns,
               dfactors);
  }
  if (dx == nullptr) return;
  broadcast<Broadcast::scale>(stream, "scale_columns_backward", dtype, rows, columns, dy, factors,
                              dx);
}

}  // namespace wellspring::ops
