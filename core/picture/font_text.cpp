#include "core/picture/font_text.h"

#include "core/picture/font.h"
#include "core/text/unicode.h"

#include <array>
#include <utility>

namespace wellspring {
namespace {

constexpr char32_t kFirstLetter = 0xC0, kLastLetter = 0x17F;
/// Base letters of the blocks Latin-1 Supplement and Latin Extended-A, U+00C0 to U+017F, by their
/// names in The Unicode Standard 15.0 ("LATIN SMALL LETTER E WITH ACUTE").
// clang-format off
constexpr std::array<const char*, kLastLetter - kFirstLetter + 1> kLetters = {
    "A", "A", "A", "A", "A", "A", "AE", "C", "E", "E", "E", "E", "I", "I", "I", "I", "D", "N",
    "O", "O", "O", "O", "O", "x", "O", "U", "U", "U", "U", "Y", "Th", "ss", "a", "a", "a", "a",
    "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i", "d", "n", "o", "o", "o", "o",
    "o", "/", "o", "u", "u", "u", "u", "y", "th", "y", "A", "a", "A", "a", "A", "a", "C", "c",
    "C", "c", "C", "c", "C", "c", "D", "d", "D", "d", "E", "e", "E", "e", "E", "e", "E", "e",
    "E", "e", "G", "g", "G", "g", "G", "g", "G", "g", "H", "h", "H", "h", "I", "i", "I", "i",
    "I", "i", "I", "i", "I", "i", "IJ", "ij", "J", "j", "K", "k", "k", "L", "l", "L", "l", "L",
    "l", "L", "l", "L", "l", "N", "n", "N", "n", "N", "n", "'n", "N", "n", "O", "o", "O", "o",
    "O", "o", "OE", "oe", "R", "r", "R", "r", "R", "r", "S", "s", "S", "s", "S", "s", "S", "s",
    "T", "t", "T", "t", "T", "t", "U", "u", "U", "u", "U", "u", "U", "u", "U", "u", "U", "u",
    "W", "w", "Y", "y", "Y", "Z", "z", "Z", "z", "Z", "z", "s"};
// clang-format on

constexpr std::array<std::pair<char32_t, const char*>, 17> kSigns = {{{0xA0, " "},
                                                                      {0xB0, "deg"},
                                                                      {0xB1, "+-"},
                                                                      {0xB2, "2"},
                                                                      {0xB3, "3"},
                                                                      {0xB5, "u"},
                                                                      {0xB7, "."},
                                                                      {0xB9, "1"},
                                                                      {0x3BC, "u"},
                                                                      {0x2010, "-"},
                                                                      {0x2013, "-"},
                                                                      {0x2014, "-"},
                                                                      {0x2018, "'"},
                                                                      {0x2019, "'"},
                                                                      {0x201C, "\""},
                                                                      {0x201D, "\""},
                                                                      {0x2212, "-"}}};

/// Similar text in the font, or null.
const char* like(char32_t code) {
  if (code >= kFirstLetter && code <= kLastLetter) return kLetters[code - kFirstLetter];
  if (code >= 0x300 && code <= 0x36F) return "";  // combining marks follow their letter
  for (const auto& [sign, text] : kSigns)
    if (sign == code) return text;
  return nullptr;
}

}  // namespace

FontText font_text(std::string_view utf8) {
  FontText out;
  while (!utf8.empty()) {
    const auto character = first_character(utf8);
    const char32_t code = character ? character->code : 0;
    const char* const replacement = like(code);
    if (code >= 0x20 && code < 0x7F) {
      out.text += static_cast<char>(code);
    } else if (replacement != nullptr) {
      out.text += replacement;
    } else {
      out.text += font::kUnknown;
      out.complete = false;
    }
    utf8.remove_prefix(character ? character->bytes : 1);
  }
  return out;
}

}  // namespace wellspring
