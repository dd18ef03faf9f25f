#include "core/config/ranges.h"

#include "core/error.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

namespace wellspring {
namespace detail {
namespace {

bool counts_in_integers(const ParamRow& row) {
  return row.type == ParamType::integer || row.type == ParamType::integer_list ||
         row.type == ParamType::size;
}

/// True if an end of a range is merely the limit of the type.
bool is_open(const ParamRow& row, double end) {
  const double limit = counts_in_integers(row)
                           ? kExactIntegers
                           : static_cast<double>(std::numeric_limits<float>::max());
  return std::abs(end) >= limit;
}

std::string number_text(const ParamRow& row, double value) {
  if (!counts_in_integers(row)) return shortest(value);
  // 2^63 stands for the largest int64, which no double equals.
  if (value >= 0x1p63) return std::to_string(std::numeric_limits<std::int64_t>::max());
  return fmt::format("{:.0f}", value);
}

/// Help text without its optional leading settings in brackets: "(sgd, lars) momentum".
std::string meaning(const std::string& help) {
  const std::size_t end = help.starts_with('(') ? help.find(") ") : std::string::npos;
  return end == std::string::npos ? help : help.substr(end + 2);
}

}  // namespace

Bounds within_type(Bounds bounds, MemberType type) {
  const auto within = [&]<class Number>(Number) -> Bounds {
    using Limits = std::numeric_limits<Number>;
    const double high =
        std::is_integral_v<Number>
            ? std::min(static_cast<double>(Limits::max()),
                       static_cast<double>(std::numeric_limits<std::int64_t>::max()))
            : static_cast<double>(Limits::max());
    return {std::max(bounds.low, static_cast<double>(Limits::lowest())),
            std::min(bounds.high, high)};
  };
  switch (type) {
    case MemberType::f32:
      return within(float{});
    case MemberType::f64:
    case MemberType::reals:
      return within(double{});
    case MemberType::i8:
      return within(std::int8_t{});
    case MemberType::u8:
      return within(std::uint8_t{});
    case MemberType::i16:
      return within(std::int16_t{});
    case MemberType::u16:
      return within(std::uint16_t{});
    case MemberType::i32:
    case MemberType::integers_i32:
    case MemberType::size:
      return within(std::int32_t{});
    case MemberType::u32:
      return within(std::uint32_t{});
    case MemberType::i64:
    case MemberType::integers_i64:
      return within(std::int64_t{});
    case MemberType::u64:
      return within(std::uint64_t{});
    case MemberType::flag:
    case MemberType::text:
    case MemberType::texts:
      break;
  }
  return bounds;
}

void fail_range(const ParamRow& row, double end, const std::string& text,
                const ConfigLocation& place) {
  std::string range = row.range_text();
  if (is_open(row, end)) {
    range = fmt::format("[{}, {}]", number_text(row, row.low), number_text(row, row.high));
  }
  if (!row.unit.empty()) range += " " + row.unit;
  fail(ErrorKind::config,
       {fmt::format("{}{} = {} is out of range {}", place.prefix(), row.name, trim(text), range),
        meaning(row.help)});
}

}  // namespace detail

std::string ParamRow::range_text() const {
  if (type == ParamType::choice) return "one of " + join(choices);
  if (type == ParamType::flag || type == ParamType::text || type == ParamType::text_list) return "";
  const bool open_low = detail::is_open(*this, low);
  const bool open_high = detail::is_open(*this, high);
  const std::string low_text = detail::number_text(*this, low);
  const std::string high_text = detail::number_text(*this, high);
  if (open_low && open_high) return "";
  if (open_low) return "<= " + high_text;
  if (open_high) return ">= " + low_text;
  return fmt::format("[{}, {}]", low_text, high_text);
}

}  // namespace wellspring
