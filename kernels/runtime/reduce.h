// Reductions in a fixed order, for team functors. They give the same bits for any team size, on
// host and device. Called by operations and generators that sum over pixels or features. Host and
// device.
//
// Element i belongs to lane i % 256. A lane combines its elements in order of i; then the 256
// lanes are folded as a tree: 128 onto 128, 64 onto 64, and so on. It does not matter which
// member processes which lane. Lanes without elements would only combine the identity, so
// skipping them does not change a bit. A sum of n terms incurs about n / 256 + 8 rounding errors
// instead of n.
#pragma once

#include "kernels/runtime/macros.h"
#include "kernels/runtime/team.h"

#include <cstdint>

namespace wellspring {

/// Number of lanes of a reduction. Every result's bits depend on it: never change it.
inline constexpr int kReduceLanes = 256;
/// Lanes that each member of a team folds on its own, which costs less than three barriers.
inline constexpr int kLastLanes = 8;

/// Lanes that a reduction of n elements uses, a power of two. Its scratch has as many elements T.
WS_INLINE constexpr int reduce_lanes(std::int64_t n) {
  int lanes = kReduceLanes;
  while (lanes > kLastLanes && lanes / 2 >= n) lanes /= 2;
  return lanes;
}

/// combine(... combine(identity, load(0)) ..., load(n - 1)) in the fixed order above. Every member
/// gets the result. combine(x, identity) must be x for every x that a lane can hold (a lane begins
/// with the identity, so a sum never holds -0). `lanes`: reduce_lanes(n) T of scratch, which may be
/// reused after the call. Called by all members.
template <class Team, class T, class Load, class Combine>
WS_HD T team_reduce(Team& team, T* lanes, std::int64_t n, T identity, Load load, Combine combine) {
  if constexpr (LoneTeam<Team>) {
    // A lone member reads memory in order and processes all lanes in parallel, which vectorises.
    // The lanes are a local array, so the compiler knows that no load reads a value that was just
    // written.
    T lane[kReduceLanes];
    int used = reduce_lanes(n);
    while (used > 1 && used / 2 >= n) used /= 2;
    for (int l = 0; l < used; ++l) lane[l] = identity;
    const std::int64_t whole = n - n % kReduceLanes;
    for (std::int64_t begin = 0; begin < whole; begin += kReduceLanes) {
      for (int l = 0; l < kReduceLanes; ++l) lane[l] = combine(lane[l], load(begin + l));
    }
    for (std::int64_t i = whole; i < n; ++i) lane[i - whole] = combine(lane[i - whole], load(i));
    for (int half = used / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) lane[l] = combine(lane[l], lane[l + half]);
    }
    return lane[0];
  } else {
    const int used = reduce_lanes(n);
    for (int l = team.rank(); l < used; l += team.size()) {
      T value = identity;
      for (std::int64_t i = l; i < n; i += kReduceLanes) value = combine(value, load(i));
      lanes[l] = value;
    }
    for (int half = used / 2; half >= kLastLanes; half /= 2) {
      team.sync();
      for (int l = team.rank(); l < half; l += team.size()) {
        lanes[l] = combine(lanes[l], lanes[l + half]);
      }
    }
    team.sync();
    T last[kLastLanes];
    for (int l = 0; l < kLastLanes; ++l) last[l] = lanes[l];
    WS_UNROLL(3)
    for (int half = kLastLanes / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) last[l] = combine(last[l], last[l + half]);
    }
    team.sync();  // all members have read the lanes, so the scratch may be reused
    return last[0];
  }
}

namespace detail {
struct Adder {
  template <class T>
  WS_INLINE T operator()(T a, T b) const {
    return a + b;
  }
};
struct Larger {
  template <class T>
  WS_INLINE T operator()(T a, T b) const {
    return b > a ? b : a;
  }
};
}  // namespace detail

/// load(0) + ... + load(n - 1), T{} for n = 0. T is a number or a struct of numbers with operator+.
template <class Team, class T, class Load>
WS_HD T team_sum(Team& team, T* lanes, std::int64_t n, Load load) {
  return team_reduce(team, lanes, n, T{}, load, detail::Adder{});
}

/// The maximum of load(0), ..., load(n - 1) and `lowest`. Ignores NaN.
template <class Team, class T, class Load>
WS_HD T team_max(Team& team, T* lanes, std::int64_t n, T lowest, Load load) {
  return team_reduce(team, lanes, n, lowest, load, detail::Larger{});
}

}  // namespace wellspring
