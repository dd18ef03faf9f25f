// Packs: eight neighbouring values that a thread reads or writes with accesses of 16 bytes, and
// loops of a team over them. If a memory-bound kernel accesses only two bytes at a time, latency
// limits it long before memory bandwidth does. Host and device.
#pragma once

#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/team.h"
#include "kernels/runtime/team_loop.h"

#include <cstdint>

/// Before a loop: a device keeps the loads of several iterations in flight.
#if WS_DEVICE_CODE
#define WS_UNROLL_LOADS _Pragma("unroll 8")
#else
#define WS_UNROLL_LOADS
#endif

namespace wellspring {

/// Values per pack: one access in bf16, two in f32.
inline constexpr int kPack = 8;

/// Neighbouring values in f32, the type in which all operations compute.
template <int n>
struct alignas(n == kPack ? 16 : alignof(float)) Values {
  float v[n];
};
using Pack = Values<kPack>;

/// Tells a generic lambda how many neighbouring values it processes at once: kPack or 1.
template <int n>
struct Width {};

WS_INLINE Pack operator+(const Pack& a, const Pack& b) {
  Pack sum;
  for (int k = 0; k < kPack; ++k) sum.v[k] = a.v[k] + b.v[k];
  return sum;
}

namespace detail {
/// One access of a thread.
template <class T>
struct alignas(16) Access {
  static constexpr int kValues = 16 / sizeof(T);
  T v[kValues];
};
}  // namespace detail

/// Reads kPack values; `from` is aligned to 16 bytes.
template <class T>
WS_INLINE Pack load_pack(const T* from) {
  using Access = detail::Access<T>;
  Pack pack;
  for (int i = 0; i < kPack; i += Access::kValues) {
    const Access part = *reinterpret_cast<const Access*>(from + i);
    for (int k = 0; k < Access::kValues; ++k) pack.v[i + k] = static_cast<float>(part.v[k]);
  }
  return pack;
}

/// Reads `count` values one by one and sets the rest to 0; needs no alignment.
template <class T>
WS_INLINE Pack load_part_of_pack(const T* from, std::int64_t count) {
  Pack pack;
  for (int k = 0; k < kPack; ++k) pack.v[k] = k < count ? static_cast<float>(from[k]) : 0.0f;
  return pack;
}

/// Writes kPack values; `to` is aligned to 16 bytes.
template <class T>
WS_INLINE void store_pack(T* to, const Pack& pack) {
  using Access = detail::Access<T>;
  for (int i = 0; i < kPack; i += Access::kValues) {
    Access part;
    for (int k = 0; k < Access::kValues; ++k) part.v[k] = T(pack.v[i + k]);
    *reinterpret_cast<Access*>(to + i) = part;
  }
}

/// Reads or writes a pack, or a single value at any address.
template <int n, class T>
WS_INLINE Values<n> load_values(const T* from) {
  static_assert(n == kPack || n == 1);
  if constexpr (n == kPack) {
    return load_pack(from);
  } else {
    return {{static_cast<float>(*from)}};
  }
}
template <int n, class T>
WS_INLINE void store_values(T* to, const Values<n>& values) {
  static_assert(n == kPack || n == 1);
  if constexpr (n == kPack) {
    store_pack(to, values);
  } else {
    *to = T(values.v[0]);
  }
}

/// Calls packed(i) for the first element of every whole pack in [begin, end), where i is a multiple
/// of kPack, and single(i) for the elements that belong to no whole pack. On a host, calls
/// single(i) for all elements, in one loop that the compiler vectorises.
template <class Team, class Packed, class Single>
WS_INLINE void team_for_packs(Team& team, std::int64_t begin, std::int64_t end, Packed packed,
                              Single single) {
  if constexpr (LoneTeam<Team>) {
    team_for(team, begin, end, single);
  } else {
    const std::int64_t last = end - end % kPack;
    std::int64_t first = begin + (kPack - begin % kPack) % kPack;
    if (first > last) first = end;  // no whole pack
    for (std::int64_t i = begin + team.rank(); i < first; i += team.size()) single(i);
    for (std::int64_t i = first + std::int64_t{kPack} * team.rank(); i < last;
         i += std::int64_t{kPack} * team.size()) {
      packed(i);
    }
    for (std::int64_t i = (first < last ? last : first) + team.rank(); i < end; i += team.size()) {
      single(i);
    }
  }
}

/// to[i] = f(from[i]...) for i in [begin, end), computed in f32. All pointers are aligned to 16
/// bytes; `to` may be one of the others.
template <class Team, class To, class F, class... From>
WS_INLINE void team_transform(Team& team, std::int64_t begin, std::int64_t end, To* to, F f,
                              const From*... from) {
  const auto on_packs = [=](std::int64_t i, const auto&... packs) {
    Pack result;
    for (int k = 0; k < kPack; ++k) result.v[k] = f(packs.v[k]...);
    store_pack(to + i, result);
  };
  team_for_packs(
      team, begin, end, [=](std::int64_t i) { on_packs(i, load_pack(from + i)...); },
      [=](std::int64_t i) { to[i] = To(f(static_cast<float>(from[i])...)); });
}

}  // namespace wellspring
