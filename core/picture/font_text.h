// Converts text in any script to the ASCII of the bitmap font in core/picture/font.h. Called by
// pictures; host only.
#pragma once

#include <string>
#include <string_view>

namespace wellspring {

struct FontText {
  std::string text;      ///< ASCII; font::kUnknown for each character without a similar one
  bool complete = true;  ///< true: there are no unknown characters
};

/// Latin letters lose their marks, ligatures and special letters become two letters ("Straße":
/// "Strasse"), combining marks are dropped, and dashes, quotes and unit signs become similar ASCII.
/// Bytes that are not UTF-8 are unknown characters.
FontText font_text(std::string_view utf8);

}  // namespace wellspring
