// Range checks of parameters. Called by the reader of their texts; host only.
#pragma once

#include "core/config/params.h"

#include <string>

namespace wellspring::detail {

/// The largest double below which every integer is one: 2^53.
inline constexpr double kExactIntegers = 9007199254740992.0;

/// The bounds, narrowed to what a member of this type can hold and text is parsed to: int64 or
/// double.
Bounds within_type(Bounds bounds, MemberType type);

/// Rejects a value beyond `end` of its range. Prints the limit of a type only if it is the reason.
[[noreturn]] void fail_range(const ParamRow& row, double end, const std::string& text,
                             const ConfigLocation& place);

template <class Number>
void check_range(const ParamRow& row, Number value, const std::string& text,
                 const ConfigLocation& place) {
  if (value < row.low) fail_range(row, row.low, text, place);
  if (value > row.high) fail_range(row, row.high, text, place);
}

}  // namespace wellspring::detail
