#include "train/report/chart.h"

#include "core/picture/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace wellspring {
namespace {

// In SVG user units: pixels at natural size. The chart fits a phone screen without shrinking, so
// that its text stays readable.
constexpr double kWidth = 440, kHeight = 240;
constexpr double kLeft = 58, kRight = 14, kTop = 10, kBottom = 40;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr double kPlotHeight = kHeight - kTop - kBottom;

/// The Okabe-Ito palette, which colour-blind readers can distinguish (Wong, Nature Methods 8,
/// 2011), and lighter shades of the same hues for dark pages.
struct Colour {
  const char* on_light;
  const char* on_dark;
};
constexpr std::array<Colour, 7> kColours = {{{"#0072b2", "#4f9fe0"},
                                             {"#d55e00", "#ff8a4a"},
                                             {"#009e73", "#2fc79a"},
                                             {"#cc79a7", "#e6a3c9"},
                                             {"#e69f00", "#ffc04d"},
                                             {"#56b4e9", "#a5dbf7"},
                                             {"#666666", "#b0b0b0"}}};

constexpr const char* kStyle = R"(
.charts { display: grid; gap: 1.5em; grid-template-columns: repeat(auto-fit, minmax(min(400px, 100%), 1fr)); }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; font-size: .9em; }
.legend { list-style: none; margin: .1em 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0 1em; font-size: .8em; }
.legend li { overflow-wrap: anywhere; }
.legend svg { width: 1.8em; height: .7em; margin-right: .35em; }
figure > svg { width: 100%; height: auto; max-width: 640px; font-family: inherit; display: block; }
svg path { fill: none; stroke: var(--line); stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
svg path.thin { stroke-width: .9; }
svg path.dashed { stroke-dasharray: 6 4; stroke-linecap: butt; }
svg path.dotted { stroke-dasharray: 1.5 4; }
svg path.error { stroke-width: 1; }
svg circle { fill: var(--line); }
svg .grid { stroke: currentColor; opacity: .15; }
svg text { fill: currentColor; font-size: 11px; }
.bar { background: var(--line); height: .9em; min-width: 1px; }
.bars { min-width: 12em; }
.histogram { display: flex; align-items: flex-end; gap: 1px; height: 3em; min-width: 14em; }
.histogram > div { flex: 1; background: var(--line); }
.range { font-size: .8em; opacity: .75; }
)";

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  double fraction(double value) const { return (value - low) / (high - low); }
};

bool is_finite(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

std::string style_class(LineStyle style) {
  switch (style) {
    case LineStyle::solid:
      return "";
    case LineStyle::dashed:
      return " dashed";
    case LineStyle::dotted:
      return " dotted";
  }
  return "";
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) {
    for (const ChartSeries& series : chart.series) {
      bool seen = false;
      for (std::size_t i = 0; i < series.points.size(); ++i) {
        if (!is_finite(series.points[i])) continue;
        const double error = i < series.errors.size() ? series.errors[i] : 0;
        x_.include(series.points[i].first);
        y_.include(series.points[i].second - error);
        y_.include(highest(series.points[i].second + error));
        seen = true;
      }
      drawn_.push_back(seen);
      colours_.push_back(colour_of(series));
    }
    if (y_.empty()) return;
    x_.include(0);
    if (chart.from_zero) y_.include(0);
  }

  std::string draw() {
    if (x_.empty())
      return fmt::format("<p class=\"empty\">{}: no data.</p>\n", html_escape(chart_.title));
    if (x_.high == x_.low) x_.high = x_.low + 1;
    const std::vector<double> ticks = axis_ticks(y_.low, y_.high, 5);
    y_.include(ticks.front());
    y_.include(ticks.back());
    out_ = fmt::format("<figure><figcaption>{}</figcaption>\n", html_escape(chart_.title));
    legend();
    out_ += fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kWidth,
                        kHeight, html_escape(chart_.title));
    axes(ticks);
    for (std::size_t i = 0; i < chart_.series.size(); ++i) line(i);
    return out_ + "</svg></figure>\n";
  }

 private:
  /// CSS classes of a series. Groups get colours in order of appearance, and thin lines once the
  /// colours repeat.
  std::string colour_of(const ChartSeries& series) {
    const std::string& group = series.group.empty() ? series.name : series.group;
    const auto found = std::find(groups_.begin(), groups_.end(), group);
    const auto index = static_cast<std::size_t>(found - groups_.begin());
    if (found == groups_.end()) groups_.push_back(group);
    return fmt::format("c{}{}", index % kColours.size(),
                       index / kColours.size() % 2 == 1 ? " thin" : "");
  }
  double highest(double value) const { return chart_.most ? std::min(value, *chart_.most) : value; }
  double px(double x) const { return kLeft + kPlotWidth * x_.fraction(x); }
  double py(double y) const { return kTop + kPlotHeight * (1 - y_.fraction(y)); }

  void axes(const std::vector<double>& ticks) {
    for (const double tick : ticks)
      out_ += fmt::format(
          "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
          "<text text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>\n",
          kLeft, kWidth - kRight, py(tick), py(tick), kLeft - 6, py(tick) + 4,
          tick_text(tick, ticks[1] - ticks[0]));
    const std::vector<double> steps = axis_ticks(x_.low, x_.high, 5);
    for (const double tick : steps)
      if (tick <= x_.high)
        out_ += fmt::format("<text text-anchor=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>\n",
                            px(tick), kHeight - kBottom + 16, tick_text(tick, steps[1] - steps[0]));
    out_ += fmt::format(
        "<text text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>"
        "<text text-anchor=\"middle\" transform=\"translate(12 {}) rotate(-90)\">{}</text>\n",
        kLeft + kPlotWidth / 2, kHeight - 6, html_escape(chart_.x_label), kTop + kPlotHeight / 2,
        html_escape(chart_.y_label));
  }

  void line(std::size_t index) {
    const ChartSeries& series = chart_.series[index];
    if (!drawn_[index]) return;
    std::string path, errors, dots;
    std::size_t run = 0;  // points since the last gap
    const auto end_run = [&] {
      if (run == 1) path += "h0";  // an isolated point: the round line caps draw a dot
      run = 0;
    };
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const auto& point = series.points[i];
      if (!is_finite(point)) {
        end_run();
        continue;
      }
      const double x = px(point.first), y = py(point.second);
      path += fmt::format("{}{:.1f} {:.1f}", run++ == 0 ? "M" : "L", x, y);
      if (series.marked)
        dots += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>",
                            colours_[index], x, y);
      if (i < series.errors.size() && series.errors[i] > 0)
        errors += fmt::format("M{:.1f} {:.1f}V{:.1f}", x, py(point.second - series.errors[i]),
                              py(highest(point.second + series.errors[i])));
    }
    end_run();
    out_ += fmt::format("<path class=\"{}{}\" d=\"{}\"/>{}\n", colours_[index],
                        style_class(series.style), path, dots);
    if (!errors.empty())
      out_ += fmt::format("<path class=\"{} error\" d=\"{}\"/>\n", colours_[index], errors);
  }

  void legend() {
    std::string entries;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const ChartSeries& series = chart_.series[i];
      if (series.name.empty() || !drawn_[i]) continue;
      entries += fmt::format(
          "<li><svg viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path class=\"{}{}\" d=\"M2 5H26\"/>"
          "{}</svg>{}</li>\n",
          colours_[i], style_class(series.style),
          series.marked
              ? fmt::format("<circle class=\"{}\" cx=\"14\" cy=\"5\" r=\"3\"/>", colours_[i])
              : "",
          html_escape(series.name));
    }
    if (!entries.empty()) out_ += "<ul class=\"legend\">\n" + entries + "</ul>\n";
  }

  const Chart& chart_;
  Range x_, y_;
  std::vector<bool> drawn_;  ///< by series: true if it has a point
  std::vector<std::string> groups_, colours_;
  std::string out_;
};

}  // namespace

std::string html_escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string chart_style() {
  std::string light, dark;
  for (std::size_t i = 0; i < kColours.size(); ++i) {
    light += fmt::format(".c{} {{ --line: {}; }}\n", i, kColours[i].on_light);
    dark += fmt::format(".c{} {{ --line: {}; }}\n", i, kColours[i].on_dark);
  }
  return kStyle + light + "@media (prefers-color-scheme: dark) {\n" + dark + "}\n";
}

std::string bar_cell(double share) {
  return fmt::format("<td><div class=\"bar c0\" style=\"width:{:.1f}%\"></div></td>",
                     100 * std::clamp(share, 0.0, 1.0));
}

std::string histogram_html(const std::vector<double>& heights, const std::string& range) {
  const double most = heights.empty() ? 0 : std::ranges::max(heights);
  std::string out = "<div class=\"histogram c0\">";
  for (const double height : heights)
    out += fmt::format("<div style=\"height:{:.1f}%\"></div>", most > 0 ? 100 * height / most : 0);
  return out + "</div><div class=\"range\">" + html_escape(range) + "</div>";
}

std::string bar_heading() {
  return "<th class=\"bars\"></th>";
}

std::string to_html(const Chart& chart) {
  return Drawing(chart).draw();
}

}  // namespace wellspring
