#include "export/histogram_sheet.h"

#include "core/picture/axis.h"
#include "core/picture/font.h"
#include "core/picture/font_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wellspring {
namespace {

// Pixels.
constexpr int kPanelWidth = 460, kPanelHeight = 300;
constexpr int kAxisWidth = 56, kAxisHeight = 44;  // left of and below a panel
constexpr int kPanelGap = 24, kCaptionHeight = 16;
constexpr int kLegendLine = 14, kSwatch = 22;
constexpr int kPanelsInARow = 3;
constexpr int kMostPanels = 36;  // if there are more features, only the first are drawn
constexpr int kLeastSheetWidth = 2 * kMargin + kAxisWidth + kPanelWidth;

constexpr int kBins = 50;
constexpr std::size_t kFirstEntries = std::size_t{1} << 18;
constexpr std::size_t kMostNames = 60;
constexpr int kMostFilled = 3;  // up to this many lines get a tinted area

/// Colours for all types of colour vision: M. Okabe, K. Ito, "Color Universal Design" (2008).
constexpr RgbColour kColours[] = {{0, 114, 178}, {213, 94, 0},   {0, 158, 115}, {204, 121, 167},
                                  {230, 159, 0}, {86, 180, 233}, {0, 0, 0}};
/// Solid, dashed, dotted: drawn pixels and period. With the colours, they give 21 different lines.
constexpr int kStyles[][2] = {{1, 1}, {5, 9}, {2, 5}};

RgbColour colour_of(std::size_t line) {
  return kColours[line % std::size(kColours)];
}

bool is_drawn(std::size_t line, int along) {
  const auto& style = kStyles[line / std::size(kColours) % std::size(kStyles)];
  return along % style[1] < style[0];
}

/// The legend, broken into rows that fit into `width`.
std::vector<std::vector<std::size_t>> legend_rows(const std::vector<std::string>& names,
                                                  int width) {
  std::vector<std::vector<std::size_t>> rows(1);
  int used = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int wanted = kSwatch + text_width(names[i]) + 16;
    if (used > 0 && used + wanted > width) {
      rows.emplace_back();
      used = 0;
    }
    rows.back().push_back(i);
    used += wanted;
  }
  return rows;
}

}  // namespace

HistogramSheet::HistogramSheet(const std::vector<SampleOrigin>& origins, const SampleLayout& layout)
    : origins_(origins), names_(origins), layout_(layout) {
  for (std::size_t k = 0; k < origins_.size(); ++k) {
    const SampleOrigin& origin = origins_[k];
    first_line_.push_back(lines_.size());
    for (std::size_t c = 0; c < std::max<std::size_t>(1, origin.info.classes.size()); ++c)
      lines_.push_back(names_.of(k, static_cast<std::int32_t>(c)));
    if (!origin.has_range) continue;
    range_ = range_ ? Range{std::min<double>(range_->low, origin.info.low),
                            std::max<double>(range_->high, origin.info.high)}
                    : Range{origin.info.low, origin.info.high};
  }
  bins_.assign(features(), std::vector(lines_.size(), std::vector<Bin>(kBins)));
  added_.assign(features() * kBins, 0);
}

/// Labels beyond the classes, as in regressions, count as the last class.
std::size_t HistogramSheet::line_of(std::size_t origin, std::int32_t label) const {
  const std::size_t classes = std::max<std::size_t>(1, origins_.at(origin).info.classes.size());
  return first_line_[origin] + std::min(static_cast<std::size_t>(std::max(0, label)), classes - 1);
}

void HistogramSheet::add(const HostSamples& samples) {
  const auto width = static_cast<std::size_t>(layout_.elements());
  for (std::size_t i = 0; i < static_cast<std::size_t>(samples.count()); ++i) {
    const std::size_t items =
        samples.items().empty() ? 1 : static_cast<std::size_t>(samples.items()[i]);
    const float weight = samples.rows.weight == nullptr ? 1 : samples.weight()[i];
    weighted_ = weighted_ || weight != 1;
    const std::size_t begin = entries_.size();
    for (std::size_t v = 0; v < items * features(); ++v)
      entries_.push_back({v % features(), samples.x()[i * width + v], weight});
    samples_.push_back(
        {line_of(samples.slots[i].source, samples.label()[i]), begin, entries_.size()});
    if (range_ || entries_.size() >= kFirstEntries) settle();
  }
}

void HistogramSheet::settle() {
  if (!range_) {
    range_ = Range{0, 1};
    const auto [low, high] = std::ranges::minmax_element(entries_, {}, &Entry::value);
    if (low != entries_.end() && low->value < high->value) range_ = {low->value, high->value};
  }
  for (const Sample& sample : samples_) count(sample);
  samples_.clear();
  entries_.clear();
}

void HistogramSheet::count(const Sample& sample) {
  const auto each = [&](auto use) {
    for (std::size_t i = sample.begin; i < sample.end; ++i) {
      const Entry& entry = entries_[i];
      const double place = (entry.value - range_->low) / (range_->high - range_->low) * kBins;
      if (std::isnan(place)) continue;
      const auto bin = static_cast<std::size_t>(std::clamp(place, 0.0, kBins - 1.0));
      use(entry, bin, added_[entry.feature * kBins + bin]);
    }
  };
  each([](const Entry& entry, std::size_t, double& added) { added += entry.weight; });
  each([&](const Entry& entry, std::size_t bin, double& added) {
    Bin& total = bins_[entry.feature][sample.line][bin];
    total.sum += added;  // later entries in the same bin find 0 and add nothing
    total.variance += added * added;
    added = 0;
  });
}

const std::vector<std::vector<std::vector<HistogramSheet::Bin>>>& HistogramSheet::bins() {
  settle();
  return bins_;
}

std::string HistogramSheet::feature_name(std::size_t feature) const {
  for (const SampleOrigin& origin : origins_) {
    if (feature >= origin.info.features.size()) continue;
    const ValueInfo& info = origin.info.features[feature];
    return font_text(info.unit.empty() ? info.name : info.name + " [" + info.unit + "]").text;
  }
  return fmt::format("feature {}", feature);
}

double HistogramSheet::highest(std::size_t feature) const {
  double most = 0;
  for (const std::vector<Bin>& line : bins_[feature])
    for (const Bin& bin : line) most = std::max(most, bin.sum + std::sqrt(bin.variance));
  return most;
}

void HistogramSheet::draw_line(Painter& painter, int left, int bottom, std::size_t feature,
                               std::size_t line, double scale) const {
  const RgbColour colour = colour_of(line);
  const auto height = [&](double value) { return static_cast<int>(std::lround(value * scale)); };
  const auto of = static_cast<int>(lines_.size());
  int before = bottom;
  for (int bin = 0; bin < kBins; ++bin) {
    const Bin& content = bins_[feature][line][static_cast<std::size_t>(bin)];
    const int x0 = left + bin * kPanelWidth / kBins, x1 = left + (bin + 1) * kPanelWidth / kBins;
    const int y = bottom - height(content.sum);
    if (of <= kMostFilled) painter.fill(x0, y, x1 - x0, bottom - y, colour, 0.10);
    for (int x = x0; x <= x1; ++x)
      if (is_drawn(line, x - left)) painter.fill(x, y - 1, 1, 2, colour);
    for (int j = std::min(y, before); j <= std::max(y, before); ++j)
      if (is_drawn(line, j - bottom + kPanelHeight)) painter.fill(x0, j, 2, 1, colour);
    before = y;
    // Error bars of several lines are drawn next to each other.
    const int error = height(std::sqrt(content.variance));
    if (error == 0) continue;
    const int x = x0 + (x1 - x0) * (2 * static_cast<int>(line) + 1) / (2 * of);
    painter.fill(x, y - error, 1, 2 * error + 1, colour, of <= kMostFilled ? 1 : 0.4);
  }
}

void HistogramSheet::draw_panel(Painter& painter, int left, int top, std::size_t feature) const {
  const int bottom = top + kPanelHeight;
  const double most = highest(feature);
  const std::vector<double> heights = axis_ticks(0, most > 0 ? most : 1, 5);
  const double scale = kPanelHeight / heights.back();
  const char* const what = layout_.kind == SampleKind::set ? "items" : "samples";
  painter.text(left, top - kCaptionHeight,
               weighted_ ? fmt::format("weight of {} / bin", what) : fmt::format("{} / bin", what),
               kPale);
  for (const double tick : heights) {
    const int y = bottom - static_cast<int>(std::lround(tick * scale));
    painter.fill(left - 4, y, kPanelWidth + 4, 1, tick == 0 ? kPale : kGrid);
    painter.text_right(left - 7, y - font::kHeight / 2, tick_text(tick, heights[1]), kInk);
  }
  const std::vector<double> values = axis_ticks(range_->low, range_->high, 5);
  const double pixels = kPanelWidth / (range_->high - range_->low);
  for (const double tick : values) {
    const int x = left + static_cast<int>(std::lround((tick - range_->low) * pixels));
    if (x < left || x > left + kPanelWidth) continue;
    painter.fill(x, top, 1, kPanelHeight + 4, kGrid);
    painter.text_centred(x, bottom + 8, tick_text(tick, values[1] - values[0]), kInk);
  }
  painter.fill(left, top, 1, kPanelHeight, kPale);
  for (std::size_t line = 0; line < lines_.size(); ++line)
    draw_line(painter, left, bottom, feature, line, scale);
  painter.text_centred(left + kPanelWidth / 2, bottom + 24, feature_name(feature), kInk);
}

Preview HistogramSheet::draw(const SampleHeading& heading) {
  settle();
  const int panels = std::min(static_cast<int>(features()), kMostPanels);
  const int columns = panels == 4 ? 2 : std::min(panels, kPanelsInARow),
            rows = (panels + columns - 1) / columns;
  const int panel = kAxisWidth + kPanelWidth;
  const int width =
      std::max(kLeastSheetWidth, 2 * kMargin + columns * panel + (columns - 1) * kPanelGap);
  const HeadingBlock block(heading, width);

  std::vector<std::string> names = lines_;
  const std::size_t shown = std::min(names.size(), kMostNames);
  names.resize(shown);
  if (shown < lines_.size()) names.push_back(fmt::format("and {} more", lines_.size() - shown));
  names.emplace_back("bars: one standard deviation");
  if (panels < static_cast<int>(features()))
    names.push_back(fmt::format("the first {} of {} features", panels, features()));
  const auto legend = legend_rows(names, width - 2 * kMargin);
  const int legend_height = static_cast<int>(legend.size()) * kLegendLine;
  const int row_height = kCaptionHeight + kPanelHeight + kAxisHeight;

  Painter painter(width, block.height() + legend_height + 8 + rows * row_height + kMargin);
  block.draw(painter);
  for (std::size_t row = 0; row < legend.size(); ++row) {
    int x = kMargin;
    const int y = block.height() + static_cast<int>(row) * kLegendLine;
    for (const std::size_t line : legend[row]) {
      if (line < shown) {
        for (int i = 0; i < kSwatch - 6; ++i)
          if (is_drawn(line, i)) painter.fill(x + i, y + 2, 1, 4, colour_of(line));
      }
      const int indent = line < shown ? kSwatch : 0;
      painter.text(x + indent, y, names[line], line < shown ? kInk : kPale);
      x += indent + text_width(names[line]) + 16;
    }
  }
  const int top = block.height() + legend_height + 8 + kCaptionHeight;
  for (int f = 0; f < panels; ++f)
    draw_panel(painter, kMargin + kAxisWidth + f % columns * (panel + kPanelGap),
               top + f / columns * row_height, static_cast<std::size_t>(f));
  Preview result;
  result.image = painter.take();
  result.legend = names_.legend();
  return result;
}

}  // namespace wellspring
