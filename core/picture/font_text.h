// What the bitmap font of core/picture/font.h, which is ASCII, can write of a text in any script. Used by
// pictures; host only.
#pragma once

#include <string>
#include <string_view>

namespace wellspring {

struct FontText {
  std::string text;      ///< ASCII, with font::kUnknown for each character that has no like there
  bool complete = true;  ///< there is no such character
};

/// Latin letters with marks become their base letters, ligatures and special ones two ("Straße":
/// "Strasse"); combining marks are dropped; dashes, quotes and the signs of units become their
/// like. Bytes that are not UTF-8 are unknown characters.
FontText font_text(std::string_view utf8);

}  // namespace wellspring
