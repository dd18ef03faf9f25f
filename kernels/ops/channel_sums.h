// Sums over the rows of a matrix [rows, channels], for all channels at once, in a fixed order.
// Called by the normalisation and pooling functors; host and device.
//
// Row r belongs to lane r % lanes, where lanes is a power of two, so that the lanes and packs of
// channels occupy about 256 members (kernels/ops/channel_loop.h). A lane adds its rows in order.
// Then 16 lanes are added onto one, in order, until one is left. The bits do not depend on the
// team's size or on the device. The error of a sum of n terms grows like n / lanes + 30 roundings.
#pragma once

#include "kernels/ops/channel_loop.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/reduce.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/team.h"

#include <cstdint>

namespace wellspring::ops {

WS_INLINE constexpr int channel_lanes(int rows, int channels) {
  const int units = channel_units(channels);
  int lanes = 1;
  while (2 * lanes <= rows && 2 * lanes * units <= kReduceLanes) lanes *= 2;
  return lanes;
}
/// Floats of scratch that channel_sums needs per sum; not fewer for more rows.
WS_INLINE constexpr int channel_slots(int rows, int channels) {
  return channel_lanes(rows, channels) * channels;
}

namespace detail {

/// Adds the lanes of slots [lanes, channels] onto the first.
template <class Team>
WS_HD void fold_lanes(Team& team, float* slots, int lanes, int channels) {
  constexpr int kFold = 16;
  for (int left = lanes; left > 1;) {
    const int kept = left > kFold ? left / kFold : 1;
    const int n = kept * channels, end = left * channels;
    if constexpr (LoneTeam<Team>) {
      for (int other = n; other < end; other += n) {
        WS_SIMD
        for (int i = 0; i < n; ++i) slots[i] += slots[other + i];
      }
    } else {
      for (int i = team.rank(); i < n; i += team.size()) {
        float sum = slots[i];
        WS_UNROLL_SOME
        for (int other = n; other < end; other += n) sum += slots[other + i];
        slots[i] = sum;
      }
      team.sync();
    }
    left = kept;
  }
}

}  // namespace detail

/// Computes `count` sums per channel. For channel k, load(Width<n>, k)(row, sums) adds the terms of
/// a row to the Values<n> sums[0] to sums[count - 1]. Afterwards sum s of channel k is in
/// slots[s * channel_slots(rows, channels) + k]. All members call it and may then read the sums.
template <int count, class Team, class Load>
WS_HD void channel_sums(Team& team, float* slots, int rows, int channels, Load load) {
  const int lanes = channel_lanes(rows, channels), stride = lanes * channels;
  if constexpr (LoneTeam<Team>) {
    for (int i = 0; i < count * stride; ++i) slots[i] = 0;
    for (int row = 0; row < rows; ++row) {
      float* lane = slots + (row & (lanes - 1)) * channels;
      const auto add = [=](int k) WS_INLINED {
        Values<1> sums[count];
        for (int s = 0; s < count; ++s) sums[s].v[0] = lane[s * stride + k];
        load(Width<1>(), k)(row, sums);
        for (int s = 0; s < count; ++s) lane[s * stride + k] = sums[s].v[0];
      };
      WS_SIMD
      for (int k = 0; k < channels; ++k) add(k);
    }
  } else {
    team.sync();  // all members have read the previous contents of the slots
    for_own_channels(team, lanes, channels, [=]<int n>(Width<n> width, int lane, int k) {
      const auto add = load(width, k);
      Values<n> sums[count] = {};
      WS_UNROLL_SOME
      for (int row = lane; row < rows; row += lanes) add(row, sums);
      for (int s = 0; s < count; ++s)
        store_values(slots + s * stride + lane * channels + k, sums[s]);
    });
    team.sync();
  }
  for (int s = 0; s < count; ++s) detail::fold_lanes(team, slots + s * stride, lanes, channels);
}

/// Sets sums[k] to the sum over the rows of x. `sums` has channel_slots floats.
template <class Team, class T>
WS_HD void add_rows(Team& team, float* sums, const T* x, int rows, int channels) {
  channel_sums<1>(team, sums, rows, channels, [=]<int n>(Width<n>, int k) {
    return [=](int row, Values<n>* sum) {
      const Values<n> value = load_values<n>(x + std::int64_t{row} * channels + k);
      for (int j = 0; j < n; ++j) sum->v[j] += value.v[j];
    };
  });
}

/// Sets each row of y to from / divisor.
template <class Team, class T>
WS_HD void spread_row(Team& team, const T* from, float divisor, int rows, int channels, T* y) {
  team_for_channels(
      team, rows, channels,
      [=]<int n>(Width<n>, int k) {
        Values<n> value = load_values<n>(from + k);
        for (int j = 0; j < n; ++j) value.v[j] /= divisor;
        return [=](std::int64_t) { return value; };
      },
      [=]<int n>(Width<n>, std::int64_t i, const Values<n>& value) { store_values(y + i, value); });
}

}  // namespace wellspring::ops
