// Headers of NumPy files, and the conversion of their number types: big-endian numbers, halves and
// other integers become an ElementType that can represent them. Called by core/io/npy.cpp and
// core/io/stored_array.cpp; host only.
#pragma once

#include "core/io/bytes.h"
#include "core/io/element_type.h"
#include "core/io/npy.h"

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
/// The type to write; empty for bf16, which NumPy does not support.
std::optional<NpyNumbers> npy_numbers(ElementType type);

/// Longest accepted header; the header of a numeric array has about a hundred bytes.
inline constexpr std::size_t kLongestNpyHeader = 0xFFFF;

/// The header of a .npy file as stored (numpy/lib/format.py, versions 1.0 to 3.0).
struct NpyText {
  std::string descriptor;  ///< "'<f4'"
  std::vector<std::int64_t> shape;
  bool fortran = false;
  std::uint64_t data_offset = 0;  ///< bytes from the start of the file
};
/// `file`: the beginning of the file, including the whole header; `name`: used in data errors.
NpyText parse_npy_text(Bytes file, const std::string& name);

/// The same for an array of numbers.
struct NpyHeader {
  ArraySpec spec;      ///< after the conversion
  NpyNumbers numbers;  ///< as stored
  std::uint64_t data_offset = 0;
  bool fortran = false;  ///< the first index varies fastest; false for fewer than two dimensions
};
/// Checks type, shape and the file's `size`. Throws data errors.
NpyHeader parse_npy_header(Bytes file, std::uint64_t size, const std::string& name);

/// Throws a data error.
[[noreturn]] void fail_npy(const std::string& name, const std::string& why,
                           const std::string& advice = "");

}  // namespace wellspring
