// A picture while it is drawn, and what stands on top of every picture. Used by previews; host
// only.
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

/// Draws on an image; whatever lies outside of it is left out.
class Painter {
 public:
  Painter(int width, int height);

  RgbImage take() { return std::move(image_); }
  /// Mixes `colour` into a pixel by `share`.
  void put(int x, int y, RgbColour colour, double share = 1);
  void fill(int x, int y, int width, int height, RgbColour colour, double share = 1);
  /// The top left corner of the text at (x, y).
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

/// As much of the text as fits into `width` pixels, with dots where it is cut.
std::string fit(const std::string& text, int width);

/// A sample heading in lines that fit into a picture: broken, not cut.
class HeadingBlock {
 public:
  /// `width`: of the picture, pixels.
  HeadingBlock(const SampleHeading& heading, int width);
  /// Pixels from the top of the picture to what stands under it.
  int height() const;
  void draw(Painter& painter) const;

 private:
  std::vector<std::string> title_, small_;
  bool beside_ = false;  ///< the first small line stands right of the title
};

/// Names of classes as a picture writes them: in the font's letters, or as their number, "#3",
/// where those cannot tell it or would write it like another one of its source.
class PictureNames {
 public:
  explicit PictureNames(const std::vector<SampleOrigin>& origins);
  /// The class of a sample, with its source where there are several. A label without a class is its
  /// number.
  std::string of(std::size_t origin, std::int32_t label) const;
  /// What numbers stand for: "pictures have Latin letters alone: of photos, #3 is 'кот'", a line a
  /// source that has any; the first 40 of each.
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
