#include "export/picture.h"

#include "core/picture/font.h"
#include "core/picture/font_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace wellspring {
namespace {

constexpr int kTitleScale = 2;
constexpr int kTitleLine = 10 * kTitleScale, kSmallLine = 12;  // pixels
constexpr std::size_t kMostSmallLines = 12;
constexpr std::size_t kMostInLegend = 40;  // classes per source

std::size_t letters_in(int width, int scale) {
  return static_cast<std::size_t>(std::max(1, width / ((font::kWidth + 1) * scale)));
}

/// Lines of at most `room` characters, broken at separators. A part that is longer than a line is
/// broken anywhere.
std::vector<std::string> wrapped(const std::string& text, std::size_t room,
                                 std::string_view separator) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    std::string part = text.substr(begin, end - begin);
    begin = std::min(end + separator.size(), text.size());
    if (!line.empty() && line.size() + separator.size() + part.size() > room) {
      lines.push_back(std::move(line));
      line.clear();
    }
    line += (line.empty() ? "" : std::string(separator)) + part;
    for (; line.size() > room; line.erase(0, room)) lines.push_back(line.substr(0, room));
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

/// Separates the parts of remarks and parameters.
constexpr std::string_view kBetweenParts = "   ";

}  // namespace

Painter::Painter(int width, int height) : image_{width, height, {}} {
  image_.pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  fill(0, 0, width, height, kPaper);
}

void Painter::put(int x, int y, RgbColour colour, double share) {
  if (x < 0 || y < 0 || x >= image_.width || y >= image_.height) return;
  std::uint8_t* const p = &image_.pixels[(static_cast<std::size_t>(y) * image_.width + x) * 3];
  for (std::size_t c = 0; c < 3; ++c)
    p[c] = static_cast<std::uint8_t>(std::lround(p[c] + share * (colour[c] - p[c])));
}

void Painter::fill(int x, int y, int width, int height, RgbColour colour, double share) {
  for (int j = y; j < y + height; ++j)
    for (int i = x; i < x + width; ++i) put(i, j, colour, share);
}

std::string fit(const std::string& text, int width) {
  const auto room = static_cast<std::size_t>(std::max(0, width / (font::kWidth + 1)));
  if (text.size() <= room) return text;
  if (room <= 2) return text.substr(0, room);
  return text.substr(0, room - 2) + "..";
}

HeadingBlock::HeadingBlock(const SampleHeading& heading, int width) {
  const int inner = width - 2 * kMargin;
  title_ = wrapped(font_text(heading.title).text, letters_in(inner, kTitleScale), " ");
  if (title_.empty()) title_.emplace_back();
  const std::string remark = font_text(heading.remark).text;
  const int after = text_width(title_.front(), kTitleScale) + 12;
  remark_beside_title_ =
      title_.size() == 1 && !remark.empty() && after + text_width(remark) <= inner;
  if (remark_beside_title_) small_.push_back(remark);
  const auto add = [&](const std::string& text) {
    for (std::string& line : wrapped(text, letters_in(inner, 1), kBetweenParts))
      small_.push_back(std::move(line));
  };
  if (!remark_beside_title_) add(remark);
  add(font_text(heading.line).text);
  if (small_.size() > kMostSmallLines) {  // for example, hundreds of parameters
    small_.resize(kMostSmallLines);
    small_.back() = fit(small_.back() + std::string(letters_in(inner, 1), ' '), inner);
  }
}

int HeadingBlock::height() const {
  const auto below = static_cast<int>(small_.size()) - (remark_beside_title_ ? 1 : 0);
  return kMargin + kTitleLine * static_cast<int>(title_.size()) + kSmallLine * std::max(1, below) +
         10;
}

void HeadingBlock::draw(Painter& painter) const {
  int y = kMargin;
  for (const std::string& line : title_) {
    painter.text(kMargin, y, line, kInk, kTitleScale);
    y += kTitleLine;
  }
  for (std::size_t i = 0; i < small_.size(); ++i) {
    if (i == 0 && remark_beside_title_) {
      painter.text(kMargin + text_width(title_.front(), kTitleScale) + 12, kMargin + 6, small_[i],
                   kPale);
      continue;
    }
    painter.text(kMargin, y, small_[i], kPale);
    y += kSmallLine;
  }
}

PictureNames::PictureNames(const std::vector<SampleOrigin>& origins) {
  for (std::size_t k = 0; k < origins.size(); ++k) {
    Origin drawn;
    const FontText source = font_text(origins[k].name);
    drawn.name = source.complete ? source.text : fmt::format("source {}", k);
    std::map<std::string, int> uses;
    for (const std::string& name : origins[k].info.classes) ++uses[font_text(name).text];
    std::size_t numbered = 0;
    for (std::size_t c = 0; c < origins[k].info.classes.size(); ++c) {
      const std::string& name = origins[k].info.classes[c];
      FontText text = font_text(name);
      const bool clear = text.complete && (text.text == name || uses[text.text] == 1);
      drawn.classes.push_back(clear ? text.text : fmt::format("#{}", c));
      if (clear || ++numbered > kMostInLegend) continue;
      drawn.legend += fmt::format("{}#{} is '{}'", numbered == 1 ? "" : ", ", c, name);
    }
    if (numbered > kMostInLegend)
      drawn.legend += fmt::format(", and {} more", numbered - kMostInLegend);
    if (numbered > 0)
      drawn.legend =
          fmt::format("pictures can only show Latin letters: {}{}",
                      origins.size() > 1 ? "in " + origins[k].name + ", " : "", drawn.legend);
    origins_.push_back(std::move(drawn));
  }
}

std::string PictureNames::of(std::size_t origin, std::int32_t label) const {
  const Origin& drawn = origins_.at(origin);
  const auto index = static_cast<std::size_t>(label);
  const std::string name =
      label >= 0 && index < drawn.classes.size() ? drawn.classes[index] : std::to_string(label);
  return origins_.size() > 1 ? drawn.name + ": " + name : name;
}

std::vector<std::string> PictureNames::legend() const {
  std::vector<std::string> lines;
  for (const Origin& origin : origins_)
    if (!origin.legend.empty()) lines.push_back(origin.legend);
  return lines;
}

}  // namespace wellspring
