#include "kernels/ops/copy_rows.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {

void copy_rows(Stream& stream, std::string_view name, std::int64_t rows, std::int64_t columns,
               const void* from, const StridedRows& from_rows, void* to,
               const StridedRows& to_rows) {
  bool packed = columns % kPack == 0;
  for (const StridedRows& array : {from_rows, to_rows}) {
    packed = packed && array.offset % kPack == 0 && array.stride % kPack == 0;
  }
  const RowBlocks blocks = RowBlocks::of(rows, columns, packed);
  visit_float(from_rows.type, [&]<class From>(From) {
    visit_float(to_rows.type, [&]<class To>(To) {
      league(stream, name, blocks.teams(), {kChunkTeam},
             CopyRows<From, To>{static_cast<const From*>(from) + from_rows.offset,
                                static_cast<To*>(to) + to_rows.offset, from_rows.stride,
                                to_rows.stride, blocks});
    });
  });
}

}  // namespace wellspring::ops
