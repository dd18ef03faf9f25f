// The element type of x in host code, chosen when values are stored instead of at compile time.
// Used by the forms of emission; host and device.
//
// Each kernel is compiled for one type of x, so stores need no branch. Host code computes in f32
// and checks the type of the batch when it stores. This halves the code that must be compiled. The
// bytes are identical, because bf16 is f32 rounded once.
#pragma once

#include "kernels/runtime/device.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/neighbours.h"

#include <cstdint>
#include <type_traits>

namespace wellspring {

/// Tag that replaces the type of x and means "the type of the batch".
struct HostFloat {};

namespace detail {

/// Writes elements of x.
template <class T>
struct Elements {
  T* first;

  WS_INLINE Elements(void* x, DType, std::int64_t offset) : first(static_cast<T*>(x) + offset) {}
  WS_INLINE void set(std::int64_t i, float value) const { first[i] = static_cast<T>(value); }
  /// Sets N neighbouring elements.
  template <int N>
  WS_INLINE void set(std::int64_t i, const float (&values)[N]) const {
    store_neighbours(first + i, values);
  }
  /// Sets elements [begin, end) to 0; called by each member `rank` of `size`.
  WS_INLINE void clear(std::int64_t begin, std::int64_t end, int rank, int size) const {
    store_zeros(first + begin, end - begin, rank, size);
  }
  WS_INLINE const void* at(std::int64_t i) const { return first + i; }
};
template <>
struct Elements<HostFloat> {
  void* x;
  bool narrow;  ///< true: bf16
  std::int64_t offset;

  WS_INLINE Elements(void* all, DType dtype, std::int64_t begin)
      : x(all), narrow(dtype == DType::bf16), offset(begin) {}
  WS_INLINE void set(std::int64_t i, float value) const {
    if (narrow) {
      static_cast<bf16*>(x)[offset + i] = bf16(value);
    } else {
      static_cast<float*>(x)[offset + i] = value;
    }
  }
  template <int N>
  WS_INLINE void set(std::int64_t i, const float (&values)[N]) const {
    for (int k = 0; k < N; ++k) set(i + k, values[k]);
  }
  WS_INLINE void clear(std::int64_t begin, std::int64_t end, int rank, int size) const {
    for (std::int64_t i = begin + rank; i < end; i += size) set(i, 0);
  }
  WS_INLINE const void* at(std::int64_t i) const {
    return static_cast<const char*>(x) + (offset + i) * (narrow ? 2 : 4);
  }
};

/// The side, host or device, on which functors with this type of x run.
template <class T>
inline constexpr RunsOn kRunsOn = std::is_same_v<T, HostFloat> ? RunsOn::host : RunsOn::device;

/// True if functor F makes the dense labels of another functor (plane.h).
template <class F>
inline constexpr bool kIsPlane = false;

/// Calls visit(T{}) with the type of x in the launches of functor F: HostFloat on a host, f32 or
/// bf16 on a device. Dense labels are always f32, because depths need the precision.
template <class F, class Visit>
void visit_x([[maybe_unused]] Device device, [[maybe_unused]] DType dtype, const Visit& visit) {
#if WELLSPRING_CUDA
  if (device.is_cuda()) {
    if constexpr (kIsPlane<F>) {
      visit(float{});
    } else {
      visit_float(dtype, visit);
    }
    return;
  }
#endif
  visit(HostFloat{});
}

}  // namespace detail
}  // namespace wellspring
