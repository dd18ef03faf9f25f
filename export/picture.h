// A picture being drawn, and its heading. Called by previews; host only.
#pragma once

#include "core/picture/drawing.h"
#include "export/sample_reader.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

inline constexpr RgbColour kPaper = {255, 255, 255}, kInk = {38, 38, 38}, kPale = {110, 110, 110};
inline constexpr RgbColour kGrid = {232, 232, 232};
inline constexpr int kMargin = 16;  ///< pixels around everything

/// Draws on an image; clips at its borders.
class Painter {
 public:
  Painter(int width, int height);

  RgbImage take() { return std::move(image_); }
  /// Mixes `colour` into a pixel by `share`.
  void put(int x, int y, RgbColour colour, double share = 1);
  void fill(int x, int y, int width, int height, RgbColour colour, double share = 1);
  /// Draws text with its top left corner at (x, y).
  void text(int x, int y, std::string_view words, RgbColour colour, int scale = 1) {
    draw_text(image_, x, y, words, colour, scale);
  }
  void text_centred(int x, int y, std::string_view words, RgbColour colour) {
    text(x - text_width(words, 1) / 2, y, words, colour);
  }
  void text_right(int x, int y, std::string_view words, RgbColour colour) {
    text(x - text_width(words, 1), y, words, colour);
  }

 private:
  RgbImage image_;
};

/// The text; if it is wider than `width` pixels, it is cut off and ends in dots.
std::string fit(const std::string& text, int width);

/// A sample heading, broken into lines that fit the picture.
class HeadingBlock {
 public:
  /// `width`: picture width, pixels.
  HeadingBlock(const SampleHeading& heading, int width);
  /// Pixels from the top of the picture to the end of the heading.
  int height() const;
  void draw(Painter& painter) const;

 private:
  std::vector<std::string> title_, small_;
  bool remark_beside_title_ = false;  ///< the first small line is to the right of the title
};

/// Class names as pictures show them: in the font's letters, or as a number ("#3") if the font
/// lacks a letter or the result would equal the name of another class of the same source.
class PictureNames {
 public:
  explicit PictureNames(const std::vector<SampleOrigin>& origins);
  /// The class of a sample, with its source if there are several sources. A label
  /// without a class is shown as a number.
  std::string of(std::size_t origin, std::int32_t label) const;
  /// Meaning of the numbers: "pictures can only show Latin letters: in photos, #3 is 'кот'". One
  /// line per source that has such numbers, with the first 40.
  std::vector<std::string> legend() const;

 private:
  struct Origin {
    std::string name;                  ///< as drawn
    std::vector<std::string> classes;  ///< as drawn
    std::string legend;
  };
  std::vector<Origin> origins_;
};

}  // namespace wellspring
