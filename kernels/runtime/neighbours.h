// Writes neighbouring elements of an array with accesses of up to 16 bytes. If each
// thread of a warp writes a row of its own, every access takes a sector of 32 bytes per thread,
// however few bytes it writes. Called by the forms of emission; host and device.
#pragma once

#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

namespace detail {

/// n neighbouring elements, written at once.
template <class T, int n>
struct alignas(n * sizeof(T)) Neighbours {
  T v[n];
};

/// Elements per access of 16 bytes.
template <class T>
inline constexpr int kWidest = 16 / static_cast<int>(sizeof(T));

/// Elements per access if n elements are written: the largest power of two that divides n, at least 2
/// and at most 16 bytes.
template <class T>
constexpr int access_width(int n) {
  int width = kWidest<T>;
  while (width > 2 && n % width != 0) width /= 2;
  return width;
}

/// Position of `to` among the elements of an access: 0 if it is aligned.
template <int n, class T>
WS_INLINE int misaligned(const T* to) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(T) % n);
}

/// Writes elements [first, N) with accesses of `width` elements, as far as they fit, and the others
/// one by one. to + first is aligned to an access.
template <int first, int width, class T, int N>
WS_INLINE void store_from(T* to, const T (&v)[N]) {
  constexpr int kPast = N - (N - first) % width;
  WS_UNROLL(32)  // constant indices keep the values in registers
  for (int k = 0; k < N; ++k) {
    if (k < first || k >= kPast) to[k] = v[k];
  }
  WS_UNROLL(16)
  for (int k = first; k < kPast; k += width) {
    Neighbours<T, width> part;
    WS_UNROLL(8)
    for (int i = 0; i < width; ++i) part.v[i] = v[k + i];
    *reinterpret_cast<Neighbours<T, width>*>(to + k) = part;
  }
}

}  // namespace detail

/// Writes N neighbouring elements at any address.
template <class T, int N>
WS_INLINE void store_neighbours(T* to, const float (&values)[N]) {
  T v[N];
  WS_UNROLL(32)
  for (int k = 0; k < N; ++k) v[k] = static_cast<T>(values[k]);
  if constexpr (N == 1) {
    to[0] = v[0];
  } else {
    constexpr int kWidth = detail::access_width<T>(N);
    if (detail::misaligned<kWidth>(to) == 0) {
      detail::store_from<0, kWidth>(to, v);
    } else if (kWidth > 2 && detail::misaligned<2>(to) == 0) {
      detail::store_from<0, 2>(to, v);
    } else {
      detail::store_from<1, 2>(to, v);
    }
  }
}

/// Sets `count` elements to 0; called by each member `rank` of `size`.
template <class T>
WS_INLINE void store_zeros(T* to, std::int64_t count, int rank, int size) {
  constexpr int n = detail::kWidest<T>;
  const int before = (n - detail::misaligned<n>(to)) % n;  // elements before the first access
  const std::int64_t first = before < count ? before : count;
  const std::int64_t past = count - (count - first) % n;
  for (std::int64_t i = rank; i < first; i += size) to[i] = T{};
  for (std::int64_t i = first + std::int64_t{n} * rank; i < past; i += std::int64_t{n} * size) {
    *reinterpret_cast<detail::Neighbours<T, n>*>(to + i) = {};
  }
  for (std::int64_t i = past + rank; i < count; i += size) to[i] = T{};
}

}  // namespace wellspring
