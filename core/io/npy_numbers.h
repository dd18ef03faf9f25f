// Types of numbers in NumPy's files and what they become here: big-endian ones, halves and further
// whole numbers become those of an ElementType that holds them. Used by core/io/npy.cpp; host only.
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
  std::string_view kind;  ///< "f4": what a descriptor says behind the order of the bytes
  std::size_t bytes;      ///< of a number in the file
  ElementType type;       ///< what holds all of them
  std::vector<std::byte> (*convert)(Bytes data, bool swapped);
  bool swapped = false;  ///< the largest byte of a number comes first

  /// "<f4".
  std::string descriptor() const;
  /// The file has them as they are in memory.
  bool is_plain() const;
  /// The numbers of a file as those of `type`.
  std::vector<std::byte> converted(Bytes data) const;
};

/// Of a descriptor, "<f4", ">i2" or "|b1"; nothing for what is no number of up to 64 bits, and for
/// u8, which no ElementType holds.
std::optional<NpyNumbers> npy_numbers(std::string_view descriptor);
/// As a type is written; nothing for bf16, which NumPy does not have.
std::optional<NpyNumbers> npy_numbers(ElementType type);

}  // namespace wellspring
