// Operations on a matrix [rows, columns] with one f32 value per column: addition (position
// embeddings) and scaling (layer scale). Called by train/network; host only. The functors run on
// host and device.
//
// Layer scale: H. Touvron et al., "Going deeper with Image Transformers", ICCV 2021, eq. 4.
#pragma once

#include "kernels/ops/channel_sums.h"
#include "kernels/ops/normalised.h"
#include "kernels/ops/row_blocks.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

/// y = x + values[column]; y may be x. column_sum computes the gradient of the values.
void add_to_rows(Stream& stream, DType dtype, std::int64_t rows, std::int64_t columns,
                 const void* x, const float* values, void* y);

/// y = x factors[column]; y may be x.
void scale_columns(Stream& stream, DType dtype, std::int64_t rows, int columns, const void* x,
                   const float* factors, void* y);
/// Computes dx, which may be dy or null, and dfactors, which may be null. dfactors needs
/// scale_columns_partials(rows, columns) floats and at most kMaxScaledColumns columns.
void scale_columns_backward(Stream& stream, DType dtype, std::int64_t rows, int columns,
                            const void* x, const void* dy, const float* factors, void* dx,
                            float* dfactors, float* partials);
std::size_t scale_columns_partials(std::int64_t rows, int columns);
/// Maximum number of columns whose sums fit into the scratch of a team on every GPU.
inline constexpr int kMaxScaledColumns = 16384;

enum class Broadcast : std::uint8_t { add, scale };

/// One team per block.
template <class T, Broadcast operation>
struct BroadcastToRows {
  const T* x;
  const float* values;
  T* y;
  RowBlocks blocks;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const BroadcastToRows of = *this;
    blocks.visit(
        team, index,
        [columns = blocks.columns](std::int64_t row) WS_INLINED { return row * columns; },
        [=]<int n>(Width<n>, std::int64_t row, std::int64_t k) WS_INLINED {
          Values<n> value = load_values<n>(of.x + row + k);
          const Values<n> other = load_values<n>(of.values + k);
          for (int j = 0; j < n; ++j) {
            value.v[j] =
                operation == Broadcast::add ? value.v[j] + other.v[j] : value.v[j] * other.v[j];
          }
          store_values(of.y + row + k, value);
        });
  }
};

/// parts [chunks, channels]: the sums of x dy over a chunk of rows; one team per chunk.
template <class T>
struct ColumnProducts {
  const T* x;
  const T* dy;
  float* parts;
  NormShape shape;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const int c = shape.channels;
    float* slots = team.template scratch<float>(norm_scratch(shape.rows_per_chunk, c, 1, 0));
    const NormChunk chunk(shape, index);
    const T *values = x + chunk.offset, *arriving = dy + chunk.offset;
    channel_sums<1>(team, slots, chunk.rows, c, NoParameters(),
                    [=]<int n>(Width<n>, const auto&, int row, int k, Values<n>* sum) WS_INLINED {
                      const std::int64_t i = std::int64_t{row} * c + k;
                      const auto value = load_values<n>(values + i),
                                 gradient = load_values<n>(arriving + i);
                      for (int j = 0; j < n; ++j) sum->v[j] += value.v[j] * gradient.v[j];
                    });
    for (int k = team.rank(); k < c; k += team.size()) parts[index * c + k] = slots[k];
  }
};

}  // namespace wellspring::ops
