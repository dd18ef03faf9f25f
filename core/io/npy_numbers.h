// Number types in NumPy files and their conversion: big-endian numbers, halves and further integers
// are converted to an ElementType that represents them. Called by core/io/npy.cpp; host only.
#pragma once

#include "core/io/bytes.h"
#include "core/io/element_type.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

struct NpyNumbers {
  std::string_view kind;  ///< "f4": the descriptor without byte order
  std::size_t bytes;      ///< per number in the file
  ElementType type;       ///< represents all values
  std::vector<std::byte> (*convert)(Bytes data, bool swapped);
  bool swapped = false;  ///< big-endian

  /// "<f4".
  std::string descriptor() const;
  /// True if no conversion is needed.
  bool is_plain() const;
  /// Converts numbers from the file to `type`.
  std::vector<std::byte> converted(Bytes data) const;
};

/// Parses a descriptor, "<f4", ">i2" or "|b1". Empty for anything but numbers of up to 64 bits, and
/// for NumPy's u8 (64-bit unsigned), which no ElementType can represent.
std::optional<NpyNumbers> npy_numbers(std::string_view descriptor);
/// The type to write; empty for bf16, which NumPy lacks.
std::optional<NpyNumbers> npy_numbers(ElementType type);

}  // namespace wellspring
