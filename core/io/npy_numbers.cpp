#include "core/io/npy_numbers.h"

#include "core/io/half.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace wellspring {
namespace {

/// Converts numbers of type From to type To.
template <class From, class To>
std::vector<std::byte> convert(Bytes data, bool swapped) {
  std::vector<std::byte> out(data.size() / sizeof(From) * sizeof(To));
  for (std::size_t i = 0; i < data.size() / sizeof(From); ++i) {
    std::array<std::byte, sizeof(From)> bytes;
    std::memcpy(bytes.data(), data.data() + i * sizeof(From), sizeof(From));
    if (swapped) std::ranges::reverse(bytes);
    const auto value = static_cast<To>(std::bit_cast<From>(bytes));
    std::memcpy(out.data() + i * sizeof(To), &value, sizeof(To));
  }
  return out;
}

template <class Stored, class Held = Stored>
NpyNumbers numbers(std::string_view kind, ElementType type) {
  return {kind, sizeof(Stored), type, convert<Stored, Held>};
}

/// All number types; the ones that can be written come first.
const std::array<NpyNumbers, 11>& all_numbers() {
  static const std::array<NpyNumbers, 11> all = {
      {numbers<std::uint8_t>("u1", ElementType::u8), numbers<std::int32_t>("i4", ElementType::i32),
       numbers<std::int64_t>("i8", ElementType::i64), numbers<float>("f4", ElementType::f32),
       numbers<double>("f8", ElementType::f64),
       numbers<std::uint8_t, std::int32_t>("b1", ElementType::i32),
       numbers<std::int8_t, std::int32_t>("i1", ElementType::i32),
       numbers<std::int16_t, std::int32_t>("i2", ElementType::i32),
       numbers<std::uint16_t, std::int32_t>("u2", ElementType::i32),
       numbers<std::uint32_t, std::int64_t>("u4", ElementType::i64),
       numbers<Half, float>("f2", ElementType::f32)}};
  return all;
}

}  // namespace

std::string NpyNumbers::descriptor() const {
  return (bytes == 1 ? '|' : swapped ? '>' : '<') + std::string(kind);
}

bool NpyNumbers::is_plain() const {
  return !swapped && npy_numbers(type)->kind == kind;
}

std::vector<std::byte> NpyNumbers::converted(Bytes data) const {
  if (is_plain()) return {data.begin(), data.end()};
  return convert(data, swapped);
}

std::optional<NpyNumbers> npy_numbers(std::string_view descriptor) {
  for (const NpyNumbers& known : all_numbers()) {
    NpyNumbers found = known;
    found.swapped = known.bytes > 1 && descriptor.starts_with('>');
    if (found.descriptor() == descriptor) return found;
  }
  return std::nullopt;
}

std::optional<NpyNumbers> npy_numbers(ElementType type) {
  for (const NpyNumbers& known : all_numbers()) {
    if (known.type == type) return known;
  }
  return std::nullopt;
}

}  // namespace wellspring
