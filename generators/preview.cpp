#include "generators/preview.h"

#include "core/drawing.h"
#include "core/error.h"
#include "core/font.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
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

void draw_heading(Painter& painter, const SampleHeading& heading, int width) {
  painter.text(kMargin, kMargin, heading.title, kInk, kTitleScale);
  const int after = kMargin + text_width(heading.title, kTitleScale) + 12;
  painter.text(after, kMargin + 6, fit(heading.remark, width - kMargin - after, 1), kPale);
  painter.text(kMargin, kMargin + 10 * kTitleScale, fit(heading.line, width - 2 * kMargin, 1),
               kPale);
}

/// The class of a sample, with its source where there are several.
std::string class_name(const std::vector<SampleOrigin>& origins, std::size_t origin,
                       std::int32_t label) {
  const std::vector<std::string>& classes = origins.at(origin).info.classes;
  const auto index = static_cast<std::size_t>(label);
  const std::string name = index < classes.size() ? classes[index] : std::to_string(label);
  return origins.size() > 1 ? origins[origin].name + ": " + name : name;
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

/// Errors (config) where the picture would be larger than viewers take.
void expect_drawable(std::uint64_t count, SampleShape shape) {
  constexpr double kMostPixels = 1 << 28;
  const auto side = static_cast<double>(std::max(shape.width, kLeastTile));
  if (static_cast<double>(count) * side * side <= kMostPixels) return;
  fail(ErrorKind::config, {fmt::format("a preview of {} images of {}x{} pixels is too large", count,
                                       shape.width, shape.height),
                           "it would have more than 2^28 pixels",
                           "lower --count or the size; export writes any number of samples"});
}

/// A contact sheet while it is drawn.
class ContactSheet {
 public:
  ContactSheet(const SampleHeading& heading, const std::vector<SampleOrigin>& origins,
               SampleShape shape, std::uint64_t count)
      : origins_(origins),
        shape_(shape),
        sheet_(count, shape),
        painter_(sheet_.width(), sheet_.height()) {
    draw_heading(painter_, heading, sheet_.width());
  }

  void draw(const HostSamples& samples) {
    for (std::int64_t i = 0; i < samples.count(); ++i, ++drawn_) {
      const auto row = static_cast<std::size_t>(i);
      const std::size_t origin = samples.slots[row].source;
      draw_image(samples.x().data() + i * shape_.elements(), origins_.at(origin).augmentation);
      const std::string name = class_name(origins_, origin, samples.label()[row]);
      painter_.text_centred(sheet_.left(drawn_) + sheet_.tile_width / 2,
                            sheet_.top(drawn_) + sheet_.tile_height + 3,
                            fit(name, sheet_.tile_width, 1), kInk);
    }
  }

  Preview take() {
    result_.image = painter_.take();
    return std::move(result_);
  }

 private:
  void draw_image(const float* x, const AugmentationPlan& plan) {
    const int left = sheet_.left(drawn_), top = sheet_.top(drawn_);
    for (int row = 0; row < shape_.height; ++row) {
      for (int column = 0; column < shape_.width; ++column, x += shape_.channels) {
        std::array<std::uint8_t, 3> colour{};
        for (int c = 0; c < std::min(3, shape_.channels); ++c)
          colour[static_cast<std::size_t>(c)] = byte_of(x[c] / plan.inv_std[c] + plan.mean[c]);
        if (shape_.channels < 3) colour[1] = colour[2] = colour[0];
        painter_.fill(left + column * sheet_.factor, top + row * sheet_.factor, sheet_.factor,
                      sheet_.factor, {colour[0], colour[1], colour[2]});
      }
    }
  }

  std::uint8_t byte_of(float intensity) {
    const float value = 255 * intensity;
    ++result_.values;
    if (!(value >= -0.5f && value <= 255.5f)) ++result_.clamped;  // what is no number, too
    return static_cast<std::uint8_t>(value > 0 ? std::lround(std::min(value, 255.f)) : 0);
  }

  const std::vector<SampleOrigin>& origins_;
  SampleShape shape_;
  Sheet sheet_;
  Painter painter_;
  std::uint64_t drawn_ = 0;
  Preview result_;
};

// ---- events -------------------------------------------------------------------------------------

constexpr int kPanelWidth = 460, kPanelHeight = 300, kPanelGap = 56, kBins = 50;
constexpr int kAxisHeight = 40;

/// Sums of weights, by class and bin.
using Histogram = std::vector<std::array<double, kBins>>;

/// Of the values of all features.
struct ValueRange {
  double low = 0, high = 0;
};

void draw_panel(Painter& painter, int left, int top, const std::string& name,
                const ValueRange& range, const Histogram& histogram) {
  double highest = 0;
  for (const auto& bins : histogram) highest = std::max(highest, *std::ranges::max_element(bins));
  const double scale = highest > 0 ? 0.92 * kPanelHeight / highest : 0;
  const int bottom = top + kPanelHeight;
  for (int tick = 0; tick <= 4; ++tick) {
    const int x = left + tick * kPanelWidth / 4;
    painter.fill(x, top, 1, kPanelHeight + 4, tick == 0 ? kPale : kGrid);
    const double value = range.low + (range.high - range.low) * tick / 4;
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

/// Histograms of all features while they are filled. Where no origin says in which range its values
/// lie, that of the first ones is taken; values beyond are counted at its ends.
class Histograms {
 public:
  explicit Histograms(const SampleFeed& feed) : origins_(feed.origins()), layout_(feed.layout()) {
    for (const SampleOrigin& origin : origins_) {
      first_line_.push_back(lines_.size());
      const auto source = first_line_.size() - 1;
      for (std::size_t c = 0; c < origin.info.classes.size(); ++c)
        lines_.push_back(class_name(origins_, source, static_cast<std::int32_t>(c)));
      if (!origin.has_range) continue;
      range_ = range_ ? ValueRange{std::min<double>(range_->low, origin.info.low),
                                   std::max<double>(range_->high, origin.info.high)}
                      : ValueRange{origin.info.low, origin.info.high};
    }
    histogram_.assign(features(), Histogram(lines_.size()));
  }

  void add(const HostSamples& samples) {
    const auto width = static_cast<std::size_t>(layout_.elements());
    for (std::size_t i = 0; i < static_cast<std::size_t>(samples.count()); ++i) {
      const std::size_t line =
          first_line_.at(samples.slots[i].source) + static_cast<std::size_t>(samples.label()[i]);
      const std::size_t items =
          samples.items().empty() ? 1 : static_cast<std::size_t>(samples.items()[i]);
      for (std::size_t v = 0; v < items * features(); ++v)
        add({v % features(), line, samples.x()[i * width + v], samples.weight()[i]});
    }
  }

  RgbImage draw(const SampleHeading& heading) {
    settle();
    const int panels = static_cast<int>(features());
    const int width = 2 * kMargin + panels * kPanelWidth + (panels - 1) * kPanelGap + 2 * kMargin;
    const int top = kHeaderHeight + 24;
    Painter painter(width, top + kPanelHeight + kAxisHeight + kMargin);
    draw_heading(painter, heading, width);
    draw_legend(painter, 2 * kMargin, kHeaderHeight);
    for (int f = 0; f < panels; ++f) {
      const auto index = static_cast<std::size_t>(f);
      draw_panel(painter, 2 * kMargin + f * (kPanelWidth + kPanelGap), top, feature_name(index),
                 *range_, histogram_[index]);
    }
    return painter.take();
  }

 private:
  struct Entry {
    std::size_t feature, line;
    float value, weight;
  };
  static constexpr std::size_t kFirstEntries = std::size_t{1} << 18;

  std::size_t features() const { return static_cast<std::size_t>(layout_.features); }

  std::string feature_name(std::size_t feature) const {
    for (const SampleOrigin& origin : origins_)
      if (feature < origin.info.features.size()) return origin.info.features[feature].name;
    return fmt::format("feature {}", feature);
  }

  void add(const Entry& entry) {
    if (range_) {
      count(entry);
      return;
    }
    first_.push_back(entry);
    if (first_.size() == kFirstEntries) settle();
  }

  /// Takes the range of what came so far, where none is known.
  void settle() {
    if (range_) return;
    range_ = ValueRange{0, 1};
    const auto [low, high] = std::ranges::minmax_element(first_, {}, &Entry::value);
    if (low != first_.end() && low->value < high->value) range_ = {low->value, high->value};
    for (const Entry& entry : first_) count(entry);
    first_.clear();
  }

  void count(const Entry& entry) {
    const double place = (entry.value - range_->low) / (range_->high - range_->low) * kBins;
    const auto bin = static_cast<std::size_t>(std::clamp(place, 0.0, kBins - 1.0));
    histogram_[entry.feature][entry.line][bin] += entry.weight;
  }

  void draw_legend(Painter& painter, int left, int top) const {
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      painter.fill(left, top + 2, 14, 4, kLines[line % std::size(kLines)]);
      painter.text(left + 20, top, lines_[line], kInk);
      left += 20 + text_width(lines_[line], 1) + 16;
    }
  }

  const std::vector<SampleOrigin>& origins_;
  SampleLayout layout_;
  std::optional<ValueRange> range_;
  std::vector<std::size_t> first_line_;  ///< of each origin: a line a class
  std::vector<std::string> lines_;
  std::vector<Histogram> histogram_;  ///< of each feature
  std::vector<Entry> first_;          ///< until the range is known
};

}  // namespace

Preview contact_sheet(const SampleHeading& heading, const std::vector<SampleOrigin>& origins,
                      const HostSamples& samples) {
  ContactSheet sheet(heading, origins, samples.rows.layout.shape(),
                     static_cast<std::uint64_t>(samples.count()));
  sheet.draw(samples);
  return sheet.take();
}

Preview preview(SampleFeed& feed, const std::function<void(std::uint64_t)>& progress) {
  std::uint64_t done = 0;
  const auto each = [&](auto draw) {
    feed.make([&](const HostSamples& samples) {
      draw(samples);
      done += static_cast<std::uint64_t>(samples.count());
      if (progress) progress(done);
    });
  };
  if (feed.layout().kind == SampleKind::image) {
    const SampleShape shape = feed.layout().shape();
    expect_drawable(feed.count(), shape);
    ContactSheet sheet(feed.heading(), feed.origins(), shape, feed.count());
    each([&](const HostSamples& samples) { sheet.draw(samples); });
    return sheet.take();
  }
  Histograms histograms(feed);
  each([&](const HostSamples& samples) { histograms.add(samples); });
  return {histograms.draw(feed.heading()), 0, 0};
}

RgbImage preview(Generator& generator, const SampleRange& range) {
  GeneratorFeed feed(generator, range);
  return preview(feed).image;
}

}  // namespace wellspring
