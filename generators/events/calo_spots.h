// Distributes the energy spots of a shower's slices among cells; a team's members share the work.
// Used by generator `calo_gflash`; host and device.
#pragma once

#include "generators/events/calo_geometry.h"
#include "kernels/emission/event_run.h"
#include "kernels/random/philox.h"
#include "kernels/random/philox_run.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <cstdint>

namespace wellspring {

/// Part of a layer's depth. `unit`: energy of a spot or, in mode mean, of the slice. The first
/// `more` spots have one unit more.
struct CaloSlice {
  std::uint64_t unit;
  std::uint64_t upto;  ///< end of the slice in spots; in mode gflash_lite, in energy units
  std::uint32_t more, spots;
  float core_squared, tail_squared, core_share;  ///< mm^2
  std::int32_t layer;
};

/// Up to N spots of one slice.
template <int N>
struct CaloSpots {
  int count;
  const CaloSlice* slice;
  PhiloxRun<N> words;
};

/// Adds spots to their cells; drops spots outside all cells. energy(i), a WS_INLINE function,
/// returns the energy of spot i in units.
template <int N, class Team, class Energy>
WS_INLINE void drop_spots(Team& team, const CaloSpots<N>& spots, const Energy& energy,
                          const Calorimeter& calorimeter, std::uint64_t* cells) {
  const CaloSlice slice = *spots.slice;
  const CaloLayer layer = calorimeter.layer[slice.layer];
  float squared[N];
  std::int32_t ring[N], sector[N];
  in_lanes<N>([&](int i) WS_INLINED {
    const Philox4 words = spots.words.of(i);
    const bool core = unit_float(words.word[0]) < slice.core_share;
    const float v = unit_float(words.word[1]);
    squared[i] = (core ? slice.core_squared : slice.tail_squared) * (v / (1 - v));
    ring[i] = 0;
    sector[i] =
        static_cast<std::int32_t>(below(words.word[2], static_cast<std::uint32_t>(layer.sectors)));
  });
  const float* const edges = calorimeter.edge_squared + layer.first_edge + 1;
  for (int k = 0; k < layer.rings; ++k) {
    const float edge = edges[k];
    in_lanes<N>([&](int i) WS_INLINED { ring[i] += squared[i] < edge ? 0 : 1; });
    if (N == 1 && ring[0] == k) break;  // most spots are in the first rings
  }
  if (N == 1 && ring[0] == layer.rings) return;
  // With SIMD, a spot outside all cells adds 0 to a cell; a branch would often be mispredicted.
  alignas(N * sizeof(std::uint64_t)) std::uint64_t units[N];
  in_lanes<N>([&](int i) WS_INLINED {
    const bool inside = ring[i] < layer.rings;
    const std::uint64_t whole = energy(i);
    units[i] = inside ? whole : 0;
    sector[i] = inside ? sector[i] * layer.rings + ring[i] : 0;
  });
  for (int i = 0; i < spots.count; ++i)
    team.atomic_add(&cells[layer.first_cell + sector[i]], units[i]);
}

/// Called by all members: scatters `count` spots, slice by slice. Spot s uses texture block s.
template <class Team>
WS_INLINE void scatter_spots(Team& team, const SampleRng& rng, const Calorimeter& calorimeter,
                             std::uint32_t count, const CaloSlice* slices, std::uint64_t* cells) {
  constexpr std::uint32_t kRun = WS_EVENT_LANES;
  const std::uint32_t stride = kRun * static_cast<std::uint32_t>(team.size());
  const CaloSlice* slice = slices;
  for (auto run = kRun * static_cast<std::uint32_t>(team.rank()); run < count; run += stride) {
    const std::uint32_t past = run + kRun < count ? run + kRun : count;
    for (std::uint32_t s = run; s < past;) {
      while (s >= slice->upto) ++slice;
      const auto end = static_cast<std::uint32_t>(slice->upto);
      const std::uint32_t stop = past < end ? past : end;
      const std::uint32_t heavier = end - slice->spots + slice->more;
      CaloSpots<kRun> spots;
      spots.count = static_cast<int>(stop - s);
      spots.slice = slice;
      spots.words = consecutive_blocks<kRun>(rng, Purpose::texture, s);
      const auto energy = [&](int i) WS_INLINED {
        return slice->unit + (s + static_cast<std::uint32_t>(i) < heavier ? 1 : 0);
      };
      drop_spots(team, spots, energy, calorimeter, cells);
      s = stop;
    }
  }
}

/// Called by all members: scatters `count` spots over `all` slices at random. Each spot gets an
/// equal share of the `visible` units.
template <class Team>
WS_INLINE void scatter_equal_spots(Team& team, const SampleRng& rng, const Calorimeter& calorimeter,
                                   std::uint32_t count, std::uint64_t visible,
                                   const CaloSlice* slices, int all, std::uint64_t* cells) {
  const std::uint64_t unit = visible / count, more = visible % count;
  const auto stride = static_cast<std::uint32_t>(team.size());
  for (auto s = static_cast<std::uint32_t>(team.rank()); s < count; s += stride) {
    const Philox4 words = rng.block(Purpose::texture, s);
    // The slice that contains this fraction of the visible energy.
    const std::uint64_t place = (std::uint64_t{words.word[3] >> 8} * visible) >> 24;
    int low = 0, high = all;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (place < slices[middle].upto) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (low == all) continue;
    CaloSpots<1> spot;
    spot.count = 1;
    spot.slice = slices + low;
    spot.words.put(0, words);
    const auto energy = [&](int) WS_INLINED { return unit + (s < more ? 1 : 0); };
    drop_spots(team, spot, energy, calorimeter, cells);
  }
}

}  // namespace wellspring
