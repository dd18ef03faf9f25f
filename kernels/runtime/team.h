// Teams: a group of threads that makes one sample together, with shared scratch memory. A team
// functor is written against the members below and runs unchanged on the host, in CUDA blocks and,
// where it states kSharesWarps (launch_bound.h), in parts of a warp:
//
//     template <class Team> WS_HD void operator()(Team& team, std::int64_t league_rank) const;
//
//     team.rank(), team.size()      this thread, of how many
//     team.sync()                   barrier; all members meet, or none
//     team.scratch<T>(n)            n shared, uninitialised T; the same call order in every member
//     team.atomic_add(&i, v)        integer atomics on scratch or device memory; return the old
//     team.atomic_max(&i, v)        value
//     team.atomic_or(&i, v)
//
// The atomics hold within the team and, on device memory, between the teams of a launch. Bytes
// produced must not depend on team.size(). Model: Kokkos' TeamPolicy. Host and device.
//
// A type of team that has never more than one member may say so, `static constexpr bool kIsAlone =
// true`, for algorithms that are then simpler.
#pragma once

#include "kernels/runtime/macros.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace wellspring {

/// Teams of one member, known when a functor is compiled.
template <class Team>
concept LoneTeam = Team::kIsAlone;

/// All members: copies *from to *to, word by word; whole after the next barrier.
template <class Team, class T>
WS_INLINE void copy_together(Team& team, const T* from, T* to) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint32_t) == 0);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(from);
  auto* const copies = reinterpret_cast<std::uint32_t*>(to);
  constexpr int kWords = sizeof(T) / sizeof(std::uint32_t);
  for (int i = team.rank(); i < kWords; i += team.size()) copies[i] = words[i];
}

/// Carves scratch out of one block, in call order.
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
