// The number types that arrays in files are made of. Called by the array file formats; host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace wellspring {

enum class ElementType { u8, i32, i64, bf16, f32, f64 };

constexpr std::size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::u8:
      return 1;
    case ElementType::bf16:
      return 2;
    case ElementType::i32:
    case ElementType::f32:
      return 4;
    case ElementType::i64:
    case ElementType::f64:
      return 8;
  }
  return 0;
}

/// "F32", as safetensors and our messages write it.
constexpr std::string_view element_name(ElementType type) {
  switch (type) {
    case ElementType::u8:
      return "U8";
    case ElementType::i32:
      return "I32";
    case ElementType::i64:
      return "I64";
    case ElementType::bf16:
      return "BF16";
    case ElementType::f32:
      return "F32";
    case ElementType::f64:
      return "F64";
  }
  return "";
}

template <class T>
constexpr ElementType element_type_of() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return ElementType::u8;
  if constexpr (std::is_same_v<T, std::int32_t>) return ElementType::i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return ElementType::i64;
  if constexpr (std::is_same_v<T, float>) return ElementType::f32;
  if constexpr (std::is_same_v<T, double>) return ElementType::f64;
}

}  // namespace wellspring
