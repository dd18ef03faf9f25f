// Sums over the rows of a matrix [rows, channels], for all channels at once, in a fixed order.
// Called by the normalisation and pooling functors; host and device.
//
// Row r belongs to lane r % lanes, where lanes is a power of two, so that the lanes and packs of
// channels occupy about 256 members (kernels/ops/channel_loop.h). A lane adds its rows in order.
// Then lanes are added in order, 16 onto one, until one is left. The bits do not depend on the
// team's size or on the device. A sum of n terms incurs about n / lanes + 30 rounding errors.
#pragma once

#include "kernels/ops/channel_loop.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/reduce.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/team.h"

#include <cstdint>
#include <type_traits>

namespace wellspring::ops {

WS_INLINE constexpr int channel_lanes(int rows, int channels) {
  const int units = channel_units(channels);
  int lanes = 1;
  while (2 * lanes <= rows && 2 * lanes * units <= kReduceLanes) lanes *= 2;
  return lanes;
}
/// Floats of scratch that channel_sums needs per sum; does not decrease with the number of rows.
WS_INLINE constexpr int channel_slots(int rows, int channels) {
  return channel_lanes(rows, channels) * channels;
}

namespace detail {

/// Calls f(i) for i = begin, begin + step, ... below end. Unrolled by four, then by two, so that
/// the loads of several calls are in flight together.
template <class F>
WS_INLINE void for_strided(int begin, int end, int step, F f) {
  int i = begin;
  for (; i + 3 * step < end; i += 4 * step) {
    f(i);
    f(i + step);
    f(i + 2 * step);
    f(i + 3 * step);
  }
  for (; i + step < end; i += 2 * step) {
    f(i);
    f(i + step);
  }
  if (i < end) f(i);
}

/// Adds the lanes of the sums [count, lanes, channels] onto their first lane.
template <int count, class Team>
WS_HD void fold_lanes(Team& team, float* slots, int lanes, int channels) {
  constexpr int kFold = 16;
  const int stride = lanes * channels;
  for (int left = lanes; left > 1;) {
    const int kept = left > kFold ? left / kFold : 1;
    const int n = kept * channels, end = left * channels;
    if constexpr (LoneTeam<Team>) {
      for (int s = 0; s < count; ++s) {
        float* sums = slots + s * stride;
        for (int other = n; other < end; other += n) {
          WS_SIMD
          for (int i = 0; i < n; ++i) sums[i] += sums[other + i];
        }
      }
    } else {
      for (int i = team.rank(); i < n; i += team.size()) {
        float sums[count];
        for (int s = 0; s < count; ++s) sums[s] = slots[s * stride + i];
        const auto add = [&](int other) WS_INLINED {
          for (int s = 0; s < count; ++s) sums[s] += slots[s * stride + other];
        };
        if (left >= kFold) {
          WS_UNROLL(16)
          for (int l = 1; l < kFold; ++l) add(i + l * n);
        } else {
          for_strided(i + n, end, n, add);
        }
        for (int s = 0; s < count; ++s) slots[s * stride + i] = sums[s];
      }
      team.sync();
    }
    left = kept;
  }
}

}  // namespace detail

/// Computes `count` sums per channel. For channel k, add(Width<n>, parameters, row, k, sums) adds
/// the terms of a row to the Values<n> sums[0] to sums[count - 1]; prepare(Width<n>, k) returns the
/// parameters. Afterwards slots[s * channel_slots(rows, channels) + k] is sum s of channel k. All
/// members call it and may then read the sums.
template <int count, class Team, class Prepare, class Add>
WS_HD void channel_sums(Team& team, float* slots, int rows, int channels, Prepare prepare,
                        Add add) {
  const int lanes = channel_lanes(rows, channels), stride = lanes * channels;
  if constexpr (LoneTeam<Team>) {
    // Adds one or two rows of a lane, starting at `row`, to its slots. Each lane has a row or more.
    const auto add_rows = [=]<class Two>(int row, Two) WS_INLINED {
      float* lane = slots + (row & (lanes - 1)) * channels;
      decide(row >= lanes, [=]<class Continued>(Continued) WS_INLINED {
        const auto turn = [=](int k) WS_INLINED {
          const Width<1> width;
          Values<1> sums[count] = {};
          if constexpr (Continued::value) {
            for (int s = 0; s < count; ++s) sums[s].v[0] = lane[s * stride + k];
          }
          const auto parameters = prepare(width, k);
          add(width, parameters, row, k, sums);
          if constexpr (Two::value) add(width, parameters, row + lanes, k, sums);
          for (int s = 0; s < count; ++s) lane[s * stride + k] = sums[s].v[0];
        };
        WS_SIMD
        for (int k = 0; k < channels; ++k) turn(k);
      });
    };
    for (int i = 0; rows == 0 && i < count * stride; ++i) slots[i] = 0;
    for (int first = 0; first < rows; first += 2 * lanes) {
      for (int row = first; row < first + lanes; ++row) {
        if (row + lanes < rows) {
          add_rows(row, std::true_type());
        } else if (row < rows) {
          add_rows(row, std::false_type());
        }
      }
    }
  } else {
    team.sync();  // all members have read the previous contents of the slots
    for_own_channels(team, lanes, channels, [=]<int n>(Width<n> width, int lane, int k) WS_INLINED {
      const auto parameters = prepare(width, k);
      Values<n> sums[count] = {};
      detail::for_strided(lane, rows, lanes,
                          [&](int row) WS_INLINED { add(width, parameters, row, k, sums); });
      for (int s = 0; s < count; ++s)
        store_values(slots + s * stride + lane * channels + k, sums[s]);
    });
    team.sync();
  }
  detail::fold_lanes<count>(team, slots, lanes, channels);
}

/// For sums without parameters.
struct NoParameters {
  template <int n>
  WS_INLINE Parameters<n, 1> operator()(Width<n>, int) const {
    return {};
  }
};

/// Sets sums[k] to the sum over the rows of x. `sums` has channel_slots floats.
template <class Team, class T>
WS_HD void add_rows(Team& team, float* sums, const T* x, int rows, int channels) {
  channel_sums<1>(team, sums, rows, channels, NoParameters(),
                  [=]<int n>(Width<n>, const auto&, int row, int k, Values<n>* sum) WS_INLINED {
                    const Values<n> value = load_values<n>(x + std::int64_t{row} * channels + k);
                    for (int j = 0; j < n; ++j) sum->v[j] += value.v[j];
                  });
}

/// Sets y [channels] to the mean over the rows of x. `slots`: channel_slots floats.
template <class Team, class T>
WS_HD void average_rows(Team& team, float* slots, const T* x, int rows, int channels, T* y) {
  add_rows(team, slots, x, rows, channels);
  const float count = static_cast<float>(rows);
  for (int c = team.rank(); c < channels; c += team.size()) y[c] = T(slots[c] / count);
}

/// Sets each row of y to `from` divided by `divisor`.
template <class Team, class T>
WS_HD void spread_row(Team& team, const T* from, float divisor, int rows, int channels, T* y) {
  team_for_channels(
      team, rows, channels,
      [=]<int n>(Width<n>, int k) WS_INLINED {
        Values<n> value = load_values<n>(from + k);
        for (int j = 0; j < n; ++j) value.v[j] /= divisor;
        return value;
      },
      [=]<int n>(Width<n>, const Values<n>& value, std::int64_t) WS_INLINED { return value; },
      [=]<int n>(Width<n>, std::int64_t i, const Values<n>& value)
          WS_INLINED { store_values(y + i, value); });
}

}  // namespace wellspring::ops
