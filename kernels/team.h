// Teams: a group of threads that makes one sample together, with shared scratch memory. A team
// functor is written against the members below and runs unchanged on the host and in CUDA blocks:
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
// Bytes produced must not depend on team.size(). Model: Kokkos' TeamPolicy. Host and device.
#pragma once

#include "core/error.h"
#include "kernels/macros.h"

#include <cstddef>
#include <cstdint>

namespace wellspring {

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

/// The host team: one member, so barriers are nothing and atomics are plain.
class SoloTeam {
 public:
  explicit SoloTeam(ScratchCursor scratch) : scratch_(scratch) {}
  int rank() const { return 0; }
  int size() const { return 1; }
  void sync() const {}
  template <class T>
  T* scratch(std::size_t count) {
    T* block = scratch_.take<T>(count);
    WS_EXPECT(scratch_.used <= scratch_.capacity);
    return block;
  }
  template <class I>
  I atomic_add(I* target, I value) const {
    const I old = *target;
    *target = old + value;
    return old;
  }
  template <class I>
  I atomic_max(I* target, I value) const {
    const I old = *target;
    if (value > old) *target = value;
    return old;
  }
  template <class I>
  I atomic_or(I* target, I value) const {
    const I old = *target;
    *target = old | value;
    return old;
  }

 private:
  ScratchCursor scratch_;
};

}  // namespace wellspring
