// Prefix sums computed by a team. Used by generators of sets to place counted items; host and
// device.
#pragma once

#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Replaces the counts in cells[0] ... cells[n - 1] with their exclusive prefix sums and sets
/// cells[n] to the total. `sums`: one element per member. Synchronises before and after.
template <class Team>
WS_INLINE void add_up(Team& team, std::uint32_t* cells, int n, std::uint32_t* sums) {
  team.sync();
  const int share = (n + team.size() - 1) / team.size();
  const int from = share * team.rank(), past = from + share < n ? from + share : n;
  std::uint32_t sum = 0;
  for (int i = from; i < past; ++i) sum += cells[i];
  sums[team.rank()] = sum;
  team.sync();
  std::uint32_t before = 0;
  for (int i = 0; i < team.rank(); ++i) before += sums[i];
  for (int i = from; i < past; ++i) {
    const std::uint32_t items = cells[i];
    cells[i] = before;
    before += items;
  }
  if (team.rank() == team.size() - 1) cells[n] = before;
  team.sync();
}

}  // namespace wellspring
