#include "core/text/unicode.h"

#include "core/error.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <cstdint>

namespace wellspring {

std::optional<Character> first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return Character{lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return std::nullopt;
  char32_t code = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return std::nullopt;
    code = code << 6 | (byte(i) & 0x3F);
  }
  const char32_t smallest = bytes == 4 ? 0x10000 : bytes == 3 ? 0x800 : 0x80;
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < smallest || surrogate || code > 0x10FFFF) return std::nullopt;
  return Character{code, bytes};
}

std::u32string to_utf32(std::string_view utf8) {
  std::u32string out;
  while (!utf8.empty()) {
    const auto character = first_character(utf8);
    if (!character)
      fail(ErrorKind::data,
           {fmt::format("not UTF-8: '{}'", printable(utf8)), "", "all text must be UTF-8"});
    out += character->code;
    utf8.remove_prefix(character->bytes);
  }
  return out;
}

std::string to_utf8(std::u32string_view text) {
  std::string out;
  for (const char32_t code : text) {
    const std::size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    std::string character(bytes, '\0');
    for (std::size_t i = bytes; i-- > 0;)
      character[i] = static_cast<char>(0x80 | (code >> (6 * (bytes - 1 - i)) & 0x3F));
    const char32_t lead = code >> (6 * (bytes - 1));
    character[0] = static_cast<char>(bytes == 1 ? code : (0xF00u >> bytes & 0xFF) | lead);
    if (first_character(character).value_or(Character{~code, 0}).code != code)
      fail(ErrorKind::data,
           {fmt::format("{:#x} is not a Unicode character", static_cast<std::uint32_t>(code)), "",
            "all text must be Unicode"});
    out += character;
  }
  return out;
}

}  // namespace wellspring
