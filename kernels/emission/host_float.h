// How the functors of an emission are compiled for hosts: once, for both types of x. Used by the
// forms of emission. Host and device.
//
// A kernel is compiled for one type of x, so that storing takes no branch. A host's code computes
// in f32 and looks at the batch's type where it stores: half as much code to compile, and equal
// bytes, since bf16 is f32 rounded once.
#pragma once

#include "kernels/runtime/device.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"

#include <cstdint>
#include <type_traits>

namespace wellspring {

/// In place of the type of x: whatever the batch has.
struct HostFloat {};

namespace detail {

/// Elements of x, to be written.
template <class T>
struct Elements {
  T* first;

  WS_INLINE Elements(void* x, DType, std::int64_t offset) : first(static_cast<T*>(x) + offset) {}
  WS_INLINE void set(std::int64_t i, float value) const { first[i] = static_cast<T>(value); }
  WS_INLINE const void* at(std::int64_t i) const { return first + i; }
};
template <>
struct Elements<HostFloat> {
  void* x;
  bool narrow;  ///< bf16
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
  WS_INLINE const void* at(std::int64_t i) const {
    return static_cast<const char*>(x) + (offset + i) * (narrow ? 2 : 4);
  }
};

/// Whether functors of this type of x run on devices alone.
template <class T>
inline constexpr bool kOnlyOnDevice = !std::is_same_v<T, HostFloat>;

/// Whether functor F makes the plane of truth of another (plane.h).
template <class F>
inline constexpr bool kIsPlane = false;

/// visit(T{}) with the type that x has in the launches of functor F: on a host HostFloat, on a
/// device f32 or bf16. Planes are f32 alone, since depths need it.
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
