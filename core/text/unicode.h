// Characters of UTF-8 text. Called by messages, exports and pictures; host only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace wellspring {

struct Character {
  char32_t code;
  std::size_t bytes;
};

/// The first character of a non-empty text; empty if its bytes are not UTF-8 (The Unicode Standard
/// 15.0, tables 3-6 and 3-7).
std::optional<Character> first_character(std::string_view text);

/// All characters. Throws a data error if the bytes are not UTF-8.
std::u32string to_utf32(std::string_view utf8);
/// The inverse of to_utf32. Throws a data error for a code that is not a character.
std::string to_utf8(std::u32string_view text);

}  // namespace wellspring
