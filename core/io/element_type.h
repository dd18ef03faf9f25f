// Element types of arrays in files. Called by the array file formats; host only.
#pragma once

#include <cstddef>
#include <string_view>

namespace wellspring {

/// Advice for errors about arrays of strings.
inline constexpr const char* kStringsAdvice =
    "turn class names into class indices: names, y = np.unique(y, return_inverse=True); "
    "class_names: takes a text file of the names, one per line";

enum class ElementType { u8, i32, i64, f16, bf16, f32, f64 };

constexpr std::size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::u8:
      return 1;
    case ElementType::f16:
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

/// "F32", as in safetensors files and our messages.
constexpr std::string_view element_name(ElementType type) {
  switch (type) {
    case ElementType::u8:
      return "U8";
    case ElementType::i32:
      return "I32";
    case ElementType::i64:
      return "I64";
    case ElementType::f16:
      return "F16";
    case ElementType::bf16:
      return "BF16";
    case ElementType::f32:
      return "F32";
    case ElementType::f64:
      return "F64";
  }
  return "";
}

}  // namespace wellspring
