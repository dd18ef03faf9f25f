#include "generators/preview.h"

#include "core/drawing.h"
#include "core/error.h"
#include "core/font.h"
#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {
namespace {

struct Colour {
  std::uint8_t r, g, b;
};
constexpr Colour kPaper = {255, 255, 255}, kInk = {38, 38, 38}, kPale = {140, 140, 140};
constexpr Colour kGrid = {232, 232, 232};
/// Told apart also by the colour-blind: M. Okabe, K. Ito, "Color Universal Design" (2008).
constexpr Colour kLines[] = {{0, 114, 178}, {213, 94, 0},   {0, 158, 115}, {204, 121, 167},
                             {230, 159, 0}, {86, 180, 233}, {0, 0, 0}};

/// Draws on an image; whatever lies outside of it is left out.
class Painter {
 public:
  Painter(int width, int height) : image_{width, height, {}} {
    image_.pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
    fill(0, 0, width, height, kPaper);
  }

  RgbImage take() { return std::move(image_); }

  /// Mixes `colour` into a pixel by `share`.
  void put(int x, int y, Colour colour, double share = 1) {
    if (x < 0 || y < 0 || x >= image_.width || y >= image_.height) return;
    std::uint8_t* const p = &image_.pixels[(static_cast<std::size_t>(y) * image_.width + x) * 3];
    const auto mix = [share](std::uint8_t below, std::uint8_t above) {
      return static_cast<std::uint8_t>(std::lround(below + share * (above - below)));
    };
    p[0] = mix(p[0], colour.r);
    p[1] = mix(p[1], colour.g);
    p[2] = mix(p[2], colour.b);
  }

  void fill(int x, int y, int width, int height, Colour colour, double share = 1) {
    for (int j = y; j < y + height; ++j) {
      for (int i = x; i < x + width; ++i) put(i, j, colour, share);
    }
  }

  /// The top left corner of the text at (x, y).
  void text(int x, int y, std::string_view words, Colour colour, int scale = 1) {
    draw_text(image_, x, y, words, {colour.r, colour.g, colour.b}, scale);
  }
  void text_centred(int x, int y, std::string_view words, Colour colour, int scale = 1) {
    text(x - text_width(words, scale) / 2, y, words, colour, scale);
  }

 private:
  RgbImage image_;
};

constexpr int kMargin = 16;
constexpr int kTitleScale = 2;
constexpr int kHeaderHeight = kMargin + 10 * kTitleScale + 14 + 8;

/// As much of the text as fits, with dots where it is cut.
std::string fit(std::string text, int width, int scale) {
  const auto room = static_cast<std::size_t>(std::max(0, width / ((font::kWidth + 1) * scale)));
  if (text.size() <= room) return text;
  if (room <= 2) return text.substr(0, room);
  return text.substr(0, room - 2) + "..";
}

/// "a: 1, b: 2" of YAML lines.
std::string one_line(const std::string& yaml) {
  std::string line;
  for (const char character : yaml) {
    if (character != '\n') {
      line += character;
    } else if (!line.empty() && line.back() != '\n') {
      line += "   ";
    }
  }
  return std::string(trim(line));
}

void draw_header(Painter& painter, const Generator& generator, const SampleRange& range, int width,
                 const std::string& remark) {
  const std::string& name = generator.info().name;
  const int room = width - 2 * kMargin;
  painter.text(kMargin, kMargin, name, kInk, kTitleScale);
  const int after = kMargin + text_width(name, kTitleScale) + 12;
  const std::string ids = fmt::format("seed {}   ids {} to {}   {}", range.seed, range.first,
                                      range.first + range.count - 1, remark);
  painter.text(after, kMargin + 6, fit(ids, width - kMargin - after, 1), kPale);
  painter.text(kMargin, kMargin + 10 * kTitleScale,
               fit(one_line(generator.parameters_yaml()), room, 1), kPale);
}

std::string class_name(const SampleInfo& info, std::int32_t label) {
  const auto index = static_cast<std::size_t>(label);
  return index < info.classes.size() ? info.classes[index] : std::to_string(label);
}

// ---- images -------------------------------------------------------------------------------------

constexpr int kGap = 8;
constexpr int kLabelHeight = 14;
constexpr int kLeastTile = 96;  // pixels: smaller images are enlarged to at least this

struct Sheet {
  int columns, rows, factor, tile_width, tile_height;

  Sheet(std::uint64_t count, SampleShape shape)
      : columns(static_cast<int>(std::ceil(std::sqrt(static_cast<double>(count))))),
        rows(static_cast<int>((count + columns - 1) / columns)),
        factor((kLeastTile + shape.width - 1) / shape.width),
        tile_width(shape.width * factor),
        tile_height(shape.height * factor) {}

  int width() const { return 2 * kMargin + columns * (tile_width + kGap) - kGap; }
  int height() const { return kHeaderHeight + rows * (tile_height + kLabelHeight) + kMargin; }
  int left(std::uint64_t index) const {
    return kMargin + static_cast<int>(index % columns) * (tile_width + kGap);
  }
  int top(std::uint64_t index) const {
    return kHeaderHeight + static_cast<int>(index / columns) * (tile_height + kLabelHeight);
  }
};

std::uint8_t byte_of(float value) {
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0f, 1.0f) * 255));
}

/// Errors (config) where the picture would be larger than viewers take.
void expect_drawable(const SampleRange& range, SampleShape shape) {
  constexpr double kMostPixels = 1 << 28;
  const auto side = static_cast<double>(std::max(shape.width, kLeastTile));
  if (static_cast<double>(range.count) * side * side <= kMostPixels) return;
  fail(ErrorKind::config, {fmt::format("a preview of {} images of {}x{} pixels is too large",
                                       range.count, shape.width, shape.height),
                           "it would have more than 2^28 pixels",
                           "lower --count or --size; export writes any number of samples"});
}

RgbImage contact_sheet(Generator& generator, const SampleRange& range, const SampleMaking& making) {
  const SampleShape shape = generator.layout().shape();
  expect_drawable(range, shape);
  const Sheet sheet(range.count, shape);
  Painter painter(sheet.width(), sheet.height());
  draw_header(painter, generator, range, sheet.width(),
              fmt::format("{} x {}", shape.width, shape.height));
  SampleMaker maker(generator, making, range.count);
  maker.make(range, [&](const HostSamples& samples) {
    for (std::int64_t i = 0; i < samples.count(); ++i) {
      const std::uint64_t index = samples.first + static_cast<std::uint64_t>(i) - range.first;
      const int left = sheet.left(index), top = sheet.top(index);
      const float* const x = samples.x().data() + i * shape.elements();
      for (int row = 0; row < shape.height; ++row) {
        for (int column = 0; column < shape.width; ++column) {
          const float* const p = x + (row * shape.width + column) * shape.channels;
          const Colour colour = {byte_of(p[0]), byte_of(p[shape.channels == 3 ? 1 : 0]),
                                 byte_of(p[shape.channels == 3 ? 2 : 0])};
          painter.fill(left + column * sheet.factor, top + row * sheet.factor, sheet.factor,
                       sheet.factor, colour);
        }
      }
      const std::string name =
          class_name(generator.info(), samples.label()[static_cast<std::size_t>(i)]);
      painter.text_centred(left + sheet.tile_width / 2, top + sheet.tile_height + 3,
                           fit(name, sheet.tile_width, 1), kInk);
    }
  });
  return painter.take();
}

// ---- events -------------------------------------------------------------------------------------

constexpr int kPanelWidth = 460, kPanelHeight = 300, kPanelGap = 56, kBins = 50;
constexpr int kAxisHeight = 40;

/// Sums of weights, by class and bin.
using Histogram = std::vector<std::array<double, kBins>>;

void draw_panel(Painter& painter, int left, int top, const std::string& name,
                const SampleInfo& info, const Histogram& histogram) {
  double highest = 0;
  for (const auto& bins : histogram) highest = std::max(highest, *std::ranges::max_element(bins));
  const double scale = highest > 0 ? 0.92 * kPanelHeight / highest : 0;
  const int bottom = top + kPanelHeight;
  for (int tick = 0; tick <= 4; ++tick) {
    const int x = left + tick * kPanelWidth / 4;
    painter.fill(x, top, 1, kPanelHeight + 4, tick == 0 ? kPale : kGrid);
    const double value = info.low + (info.high - info.low) * tick / 4;
    painter.text_centred(x, bottom + 8, fmt::format("{:g}", value), kInk);
  }
  for (std::size_t c = 0; c < histogram.size(); ++c) {
    const Colour colour = kLines[c % std::size(kLines)];
    int before = bottom;
    for (int bin = 0; bin < kBins; ++bin) {
      const int x0 = left + bin * kPanelWidth / kBins, x1 = left + (bin + 1) * kPanelWidth / kBins;
      const int y = bottom - static_cast<int>(std::lround(histogram[c][bin] * scale));
      painter.fill(x0, y, x1 - x0, bottom - y, colour, 0.12);
      painter.fill(x0, y - 1, x1 - x0 + 1, 2, colour);
      painter.fill(x0, std::min(y, before) - 1, 2, std::abs(y - before) + 2, colour);
      before = y;
    }
  }
  painter.fill(left, bottom, kPanelWidth, 1, kPale);
  painter.text_centred(left + kPanelWidth / 2, bottom + 24, name, kInk);
}

void draw_legend(Painter& painter, int left, int top, const SampleInfo& info) {
  for (std::size_t c = 0; c < info.classes.size(); ++c) {
    painter.fill(left, top + 2, 14, 4, kLines[c % std::size(kLines)]);
    painter.text(left + 20, top, info.classes[c], kInk);
    left += 20 + text_width(info.classes[c], 1) + 16;
  }
}

RgbImage histograms(Generator& generator, const SampleRange& range, const SampleMaking& making) {
  const SampleInfo& info = generator.info();
  const std::size_t features = info.features.size();
  std::vector<Histogram> histogram(features, Histogram(info.classes.size()));
  SampleMaker maker(generator, making, range.count);
  maker.make(range, [&](const HostSamples& samples) {
    const auto width = static_cast<std::size_t>(samples.rows.layout.elements());
    for (std::size_t i = 0; i < static_cast<std::size_t>(samples.count()); ++i) {
      const auto label = static_cast<std::size_t>(samples.label()[i]);
      const std::size_t items =
          samples.items().empty() ? 1 : static_cast<std::size_t>(samples.items()[i]);
      for (std::size_t v = 0; v < items * features; ++v) {
        const float value = samples.x()[i * width + v];
        const auto bin = static_cast<int>((value - info.low) / (info.high - info.low) * kBins);
        histogram[v % features][label][static_cast<std::size_t>(std::clamp(bin, 0, kBins - 1))] +=
            samples.weight()[i];
      }
    }
  });
  const int panels = static_cast<int>(features);
  const int width = 2 * kMargin + panels * kPanelWidth + (panels - 1) * kPanelGap + 2 * kMargin;
  const int top = kHeaderHeight + 24;
  Painter painter(width, top + kPanelHeight + kAxisHeight + kMargin);
  const auto best = generator.best_accuracy();
  draw_header(painter, generator, range, width,
              best ? fmt::format("best possible accuracy {:.4f}", *best) : std::string());
  draw_legend(painter, 2 * kMargin, kHeaderHeight, info);
  for (int f = 0; f < panels; ++f) {
    const auto index = static_cast<std::size_t>(f);
    draw_panel(painter, 2 * kMargin + f * (kPanelWidth + kPanelGap), top, info.features[index].name,
               info, histogram[index]);
  }
  return painter.take();
}

}  // namespace

RgbImage preview(Generator& generator, const SampleRange& range, const SampleMaking& making) {
  if (generator.layout().kind != SampleKind::image) return histograms(generator, range, making);
  return contact_sheet(generator, range, making);
}

}  // namespace wellspring
