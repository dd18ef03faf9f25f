// Loops of a team over a matrix [rows, channels], such as the pixels of a sample. A member takes
// neighbouring channels, reads their parameters once, and visits some of the rows. If the number of
// channels is a multiple of kPack, the member takes a pack of them and accesses 16 bytes at a time;
// otherwise it takes one channel. A host team vectorises over the channels. Called by the
// normalisation and pooling functors; host and device.
#pragma once

#include "kernels/ops/team_loop.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/team.h"

#include <cstdint>
#include <type_traits>

namespace wellspring::ops {

/// Number of neighbouring channels that a member takes.
WS_INLINE constexpr int channel_width(int channels) {
  return channels % kPack == 0 ? kPack : 1;
}
/// Number of members that share a row.
WS_INLINE constexpr int channel_units(int channels) {
  return channels / channel_width(channels);
}

/// Threads of a team for a matrix: one per pack, up to kChunkTeam.
constexpr int channel_team(std::int64_t rows, int channels) {
  const std::int64_t members = rows * channel_units(channels);
  return members >= kChunkTeam ? kChunkTeam
                               : static_cast<int>((members + kWarp - 1) / kWarp) * kWarp;
}

/// Calls f(0), ..., f(n - 1) without a loop: host compilers vectorise only innermost loops.
template <int n, class F>
WS_INLINE void for_values(const F& f) {
  if constexpr (n > 0) {
    for_values<n - 1>(f);
    f(n - 1);
  }
}

/// Values of n neighbouring channels from each of several arrays.
template <int n, int arrays>
struct Parameters {
  Values<n> of[arrays];
};
template <int n, class... T>
WS_INLINE Parameters<n, sizeof...(T)> load_parameters(int channel, const T*... from) {
  return {{load_values<n>(from + channel)...}};
}

/// Calls f(std::true_type) or f(std::false_type), so that loops in f contain no branch.
template <class F>
WS_INLINE void decide(bool condition, F f) {
  if (condition) {
    f(std::true_type());
  } else {
    f(std::false_type());
  }
}

/// Calls f(Width<n>, lane, channel) for this member's share of the packs (or single channels) of
/// all lanes. Neighbouring members have neighbouring channels.
template <class Team, class F>
WS_INLINE void for_own_channels(Team& team, int lanes, int channels, F f) {
  const int units = channel_units(channels);
  for (int slot = team.rank(); slot < lanes * units; slot += team.size()) {
    const int lane = slot / units, unit = slot % units;
    if (channels % kPack == 0) {
      f(Width<kPack>(), lane, unit * kPack);
    } else {
      f(Width<1>(), lane, unit);
    }
  }
}

/// The element of channel k in a row has the index i = row * channels + k. For n elements at a
/// time, calls store(Width<n>, i, result) with the result of compute(Width<n>, parameters, i),
/// where prepare(Width<n>, k) returns the parameters. A device computes two results before it
/// stores the first, so that it waits once for the inputs of both.
template <class Team, class Prepare, class Compute, class Store>
WS_INLINE void team_for_channels(Team& team, int rows, int channels, Prepare prepare,
                                 Compute compute, Store store) {
  const std::int64_t all = std::int64_t{rows} * channels;
  if constexpr (LoneTeam<Team>) {
    for (std::int64_t first = 0; first < all; first += channels) {
      const auto turn = [=](int k) WS_INLINED {
        const Width<1> width;
        store(width, first + k, compute(width, prepare(width, k), first + k));
      };
      WS_SIMD
      for (int k = 0; k < channels; ++k) turn(k);
    }
  } else {
    const int fitting = team.size() / channel_units(channels);
    const int lanes = fitting > 0 ? fitting : 1;
    const std::int64_t step = std::int64_t{lanes} * channels;
    for_own_channels(team, lanes, channels, [=]<int n>(Width<n> width, int lane, int k) WS_INLINED {
      const auto parameters = prepare(width, k);
      std::int64_t i = std::int64_t{lane} * channels + k;
      for (; i + step < all; i += 2 * step) {
        const auto one = compute(width, parameters, i), two = compute(width, parameters, i + step);
        store(width, i, one);
        store(width, i + step, two);
      }
      if (i < all) store(width, i, compute(width, parameters, i));
    });
  }
}

/// Some rows of all samples' images, for one team: enough to give each member one pack.
struct ImageRows {
  std::int64_t all;  ///< rows of all samples
  int height;        ///< rows of one sample
  int columns, channels;
  int each;  ///< rows per team

  static constexpr ImageRows of(std::int64_t samples, int height, int columns, int channels) {
    const std::int64_t packs = std::int64_t{columns} * channel_units(channels);
    const std::int64_t fitting = 0 < packs && packs < kChunkTeam ? kChunkTeam / packs : 1;
    return {samples * height, height, columns, channels, static_cast<int>(fitting)};
  }
  constexpr std::int64_t teams() const { return (all + each - 1) / each; }

  /// Calls body(Width<n>, sample, row, column, channel) for the packs of team `index`.
  template <class Team, class Body>
  WS_INLINE void visit(Team& team, std::int64_t index, Body body) const {
    const std::int64_t first = index * each, left = all - first;
    const int rows = left < each ? static_cast<int>(left) : each;
    const std::int64_t first_sample = first / height;
    const int first_row = static_cast<int>(first % height);
    if constexpr (LoneTeam<Team>) {
      for (int r = first_row; r < first_row + rows; ++r) {
        const std::int64_t sample = first_sample + r / height;
        const int row = r % height;
        for (int column = 0; column < columns; ++column) {
          const auto turn = [=](int k) WS_INLINED { body(Width<1>(), sample, row, column, k); };
          WS_SIMD
          for (int k = 0; k < channels; ++k) turn(k);
        }
      }
    } else {
      for_own_channels(team, rows * columns, channels,
                       [=, this]<int n>(Width<n> width, int place, int k) WS_INLINED {
                         const int r = first_row + place / columns;
                         body(width, first_sample + r / height, r % height, place % columns, k);
                       });
    }
  }
};

}  // namespace wellspring::ops
