// Operations of networks on sets: pooling over existing items, and concatenation. Called by
// train/network; host only. The functors run on host and device.
#pragma once

#include "kernels/ops/channel_sums.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/stream.h"

#include <cstdint>

namespace wellspring::ops {

/// x [rows, items, features]. Only the first count[r] items of row r exist; others are not read.
struct ItemPoolSpec {
  std::int64_t rows = 1;
  int items = 1, features = 1;
  bool mean = true;  ///< false: sum
  DType compute = DType::f32;
};
/// y [rows, features]: mean or sum over the existing items, 0 for an empty set.
void item_pool_forward(Stream& stream, const ItemPoolSpec& spec, const std::int32_t* count,
                       const void* x, void* y);
/// dx [rows, items, features]; 0 for items that do not exist.
void item_pool_backward(Stream& stream, const ItemPoolSpec& spec, const std::int32_t* count,
                        const void* dy, void* dx);

struct ConcatenateSpec {
  std::int64_t rows = 1;
  int first = 1, second = 1;  ///< columns of a and of b
  DType compute = DType::f32;
};
/// y [rows, first + second] contains a [rows, first] and then b [rows, second] in each row.
void concatenate(Stream& stream, const ConcatenateSpec& spec, const void* a, const void* b,
                 void* y);
/// da and db from dy; either may be null.
void concatenate_backward(Stream& stream, const ConcatenateSpec& spec, const void* dy, void* da,
                          void* db);

/// Number of existing items of a row.
WS_INLINE constexpr int existing_items(const std::int32_t* count, std::int64_t row, int items) {
  return count[row] < 0 ? 0 : count[row] < items ? count[row] : items;
}

/// One team pools one set.
template <class T>
struct ItemPoolForward {
  const T* x;
  const std::int32_t* count;
  T* y;
  int items, features;
  bool mean;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    const int f = features;
    float* sums = team.template scratch<float>(channel_slots(items, f));
    const int n = existing_items(count, row, items);
    add_rows(team, sums, x + row * items * f, n, f);
    const float divisor = mean && n > 0 ? static_cast<float>(n) : 1.0f;
    T* to = y + row * f;
    for (int k = team.rank(); k < f; k += team.size()) to[k] = T(sums[k] / divisor);
  }
};

/// One team distributes the gradient of one set.
template <class T>
struct ItemPoolBackward {
  const T* dy;
  const std::int32_t* count;
  T* dx;
  int items, features;
  bool mean;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    const int f = features, n = existing_items(count, row, items);
    const float divisor = mean && n > 0 ? static_cast<float>(n) : 1.0f;
    T* to = dx + row * items * f;
    spread_row(team, dy + row * f, divisor, n, f, to);
    T* absent = to + std::int64_t{n} * f;
    team_for_channels(
        team, items - n, f, NoParameters(),
        [=]<int w>(Width<w>, const auto&, std::int64_t) WS_INLINED { return Values<w>(); },
        [=]<int w>(Width<w>, std::int64_t i, const Values<w>& zero)
            WS_INLINED { store_values(absent + i, zero); });
  }
};

}  // namespace wellspring::ops
