// Views of arrays as bytes, little-endian numbers, and the byte sink of all file formats. Called by
// the format writers; host only.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace wellspring {

static_assert(std::endian::native == std::endian::little,
              "the file formats are little-endian and arrays are written without conversion");

using Bytes = std::span<const std::byte>;

template <class T>
Bytes bytes_of(std::span<const T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(values);
}
template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  return bytes_of(std::span<const T>(values));
}
inline Bytes bytes_of(std::string_view text) {
  return bytes_of(std::span<const char>(text.data(), text.size()));
}

inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Appends a number, little-endian.
template <class Number>
void append_number(std::string& out, Number value) {
  static_assert(std::is_arithmetic_v<Number>);
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  out.append(raw, sizeof value);
}
/// Reads a number; the caller has checked the size.
template <class Number>
Number number_at(Bytes bytes, std::size_t offset) {
  static_assert(std::is_arithmetic_v<Number>);
  Number value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Takes bytes in order. Throws runtime errors if they cannot be written.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(Bytes bytes) = 0;
  void write(std::string_view text) { write(bytes_of(text)); }
};

}  // namespace wellspring
