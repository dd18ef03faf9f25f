#include "core/picture/font_text.h"

#include "core/picture/drawing.h"
#include "core/picture/font.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace wellspring {
namespace {

const std::string kBox(1, font::kUnknown);

TEST(FontText, DropsDiacriticsOfLatinLetters) {
  EXPECT_EQ(font_text("Hörnchen, Öl, Straße").text, "Hornchen, Ol, Strasse");
  EXPECT_EQ(font_text("éàçñøåÆœŁódź").text, "eacnoaAEoeLodz");
  EXPECT_EQ(font_text("ſŸŽž").text, "sYZz");  // these are at the end of the table
  EXPECT_EQ(font_text("e\u0301te\u0301").text, "ete")
      << "combining marks, which some file systems use";
  EXPECT_EQ(font_text("5 µm ± 2 – “x”").text, "5 um +- 2 - \"x\"");
  EXPECT_TRUE(font_text("Hörnchen").complete);
}

TEST(FontText, ReplacesUnknownCharactersWithBoxes) {
  const FontText cat = font_text("猫 cat");
  EXPECT_EQ(cat.text, kBox + " cat");
  EXPECT_FALSE(cat.complete);
  EXPECT_EQ(font_text("кот").text, kBox + kBox + kBox);
  EXPECT_EQ(font_text("\xff"
                      "a")
                .text,
            kBox + "a")
      << "this text is not UTF-8";
  EXPECT_EQ(font_text("a\tb").text, "a" + kBox + "b");
}

// Every printable ASCII character must have its own glyph; only the space is blank.
TEST(Font, HasAGlyphForEveryAsciiCharacter) {
  for (char c = 0x20; c < 0x7F; ++c) {
    const font::Glyph& glyph = font::glyph(c);
    EXPECT_EQ(glyph.character, c);
    const bool blank = std::ranges::all_of(glyph.rows, [](std::uint8_t row) { return row == 0; });
    EXPECT_EQ(blank, c == ' ') << c;
    for (char other = 0x20; other < c; ++other)
      EXPECT_FALSE(std::ranges::equal(glyph.rows, font::glyph(other).rows)) << c << other;
  }
  EXPECT_EQ(font::glyph('\xc3').character, font::kUnknown);
}

}  // namespace
}  // namespace wellspring
