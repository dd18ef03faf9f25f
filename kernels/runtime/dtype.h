// Element types of device arrays, and bf16 with round-to-nearest-even. Host and device.
#pragma once

#include "kernels/runtime/macros.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace wellspring {

enum class DType : std::uint8_t { f32, bf16, u8, i32, i64 };

constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::bf16:
      return 2;
    case DType::u8:
      return 1;
    case DType::i32:
      return 4;
    case DType::i64:
      return 8;
  }
  return 0;
}

constexpr const char* to_string(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::u8:
      return "u8";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
  }
  return "?";
}

/// The upper half of an IEEE-754 binary32. Conversion rounds to nearest, ties to even; every NaN
/// becomes 0x7fff. Bit-identical to CUDA's __nv_bfloat16 (tested).
struct bf16 {
  std::uint16_t bits = 0;

  constexpr bf16() = default;
  WS_INLINE constexpr explicit bf16(float value) : bits(round(value)) {}
  WS_INLINE constexpr explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  WS_INLINE static constexpr std::uint16_t round(float value) {
    const auto u = std::bit_cast<std::uint32_t>(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fffu;
    return static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
};
static_assert(sizeof(bf16) == 2);

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};

/// Calls f(T{}) with the floating-point type that `dtype` names (f32 or bf16).
template <class F>
decltype(auto) visit_float(DType dtype, F&& f) {
  if (dtype == DType::bf16) return f(bf16{});
  return f(float{});
}

}  // namespace wellspring
