// Teams: groups of threads that make one sample together, with shared scratch memory. A team
// functor uses the members below and runs unchanged on the host, in CUDA blocks and, if it states
// kSharesWarps (launch_bound.h), in parts of a warp:
//
//     template <class Team> WS_HD void operator()(Team& team, std::int64_t league_rank) const;
//
//     team.rank(), team.size()      index of this thread, number of threads
//     team.sync()                   barrier; called by all members or none
//     team.scratch<T>(n)            n shared, uninitialised T; same call order in all members
//     team.atomic_add(&i, v)        integer atomics on scratch or device memory; return the old
//     team.atomic_max(&i, v)        value
//     team.atomic_or(&i, v)
//
// Atomics are atomic within the team and, on device memory, between the teams of a launch. Results
// must not depend on team.size(). Model: Kokkos' TeamPolicy. Host and device.
//
// A team type that always has one member may declare `static constexpr bool kIsAlone = true`, for
// simpler algorithms.
#pragma once

#include "kernels/runtime/macros.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace wellspring {

/// True for team types that always have one member.
template <class Team>
concept LoneTeam = Team::kIsAlone;

/// Called by all members: copies *from to *to, word by word; the copy is valid after the next
/// barrier.
template <class Team, class T>
WS_INLINE void copy_together(Team& team, const T* from, T* to) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint32_t) == 0);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(from);
  auto* const copies = reinterpret_cast<std::uint32_t*>(to);
  constexpr int kWords = sizeof(T) / sizeof(std::uint32_t);
  for (int i = team.rank(); i < kWords; i += team.size()) copies[i] = words[i];
}

/// Hands out scratch from one block, in the order of the calls.
struct ScratchCursor {
  std::byte* base = nullptr;
  std::size_t capacity = 0;
  std::size_t used = 0;

  template <class T>
  WS_INLINE T* take(std::size_t count) {
    used = (used + alignof(T) - 1) / alignof(T) * alignof(T);
    T* result = reinterpret_cast<T*>(base + used);
    used += count * sizeof(T);
    return result;
  }
};

}  // namespace wellspring
