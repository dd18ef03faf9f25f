// Reads numbers from text, without a locale. For all parsers of text; host only.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace wellspring {

/// nullopt unless the whole text is one number of this type.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace wellspring
