// Range checks of parameters. Called by the reader of their texts; host only.
#pragma once

#include "core/config/params.h"

#include <string>

namespace wellspring::detail {

/// 2^53: every integer up to this one is exactly representable as a double.
inline constexpr double kExactIntegers = 9007199254740992.0;

/// The bounds, narrowed to values that fit both a member of this type and the type that text is
/// parsed to (int64 or double).
Bounds within_type(Bounds bounds, MemberType type);

/// Rejects a value beyond `end` of its range. Prints a type's limit only if the value exceeds it.
[[noreturn]] void fail_range(const ParamRow& row, double end, const std::string& text,
                             const ConfigLocation& place);

template <class Number>
void check_range(const ParamRow& row, Number value, const std::string& text,
                 const ConfigLocation& place) {
  if (value < row.low) fail_range(row, row.low, text, place);
  if (value > row.high) fail_range(row, row.high, text, place);
}

}  // namespace wellspring::detail
