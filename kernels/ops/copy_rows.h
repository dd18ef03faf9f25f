// Copies rows between arrays with different row strides. Called by kernels/ops/sets and tokens;
// host only. The functor runs on host and device.
#pragma once

#include "kernels/ops/row_blocks.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/stream.h"

#include <cstdint>
#include <string_view>

namespace wellspring::ops {

/// Row r begins at element offset + r * stride of the array. Stride 0: every row is the same row.
struct StridedRows {
  DType type;
  std::int64_t offset, stride;
};

/// Copies `rows` rows of `columns` values and converts their type.
void copy_rows(Stream& stream, std::string_view name, std::int64_t rows, std::int64_t columns,
               const void* from, const StridedRows& from_rows, void* to,
               const StridedRows& to_rows);

template <class From, class To>
struct CopyRows {
  const From* from;
  To* to;
  std::int64_t from_stride, to_stride;
  RowBlocks blocks;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    struct Row {
      const From* from;
      To* to;
    };
    const CopyRows rows = *this;
    blocks.visit(
        team, index,
        [=](std::int64_t r) WS_INLINED {
          return Row{rows.from + r * rows.from_stride, rows.to + r * rows.to_stride};
        },
        [=]<int n>(Width<n>, const Row& row, std::int64_t k)
            WS_INLINED { store_values(row.to + k, load_values<n>(row.from + k)); });
  }
};

}  // namespace wellspring::ops
