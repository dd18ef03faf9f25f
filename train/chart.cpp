#include "train/chart.h"

#include "core/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace wellspring {
namespace {

// All in SVG user units, which are pixels at the drawing's natural size.
constexpr double kWidth = 640, kHeight = 280;
constexpr double kLeft = 64, kRight = 16, kTop = 32, kBottom = 44;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr double kPlotHeight = kHeight - kTop - kBottom;

// Okabe & Ito's palette, which colour-blind readers can tell apart (Wong, Nature Methods 8, 2011).
constexpr std::array<const char*, 7> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#e69f00", "#56b4e9", "#666666"};

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

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) {
    for (const ChartSeries& series : chart.series)
      for (const auto& point : series.points)
        if (is_finite(point)) {
          x_.include(point.first);
          y_.include(point.second);
        }
    if (chart.from_zero && !y_.empty()) y_.include(0);
  }

  std::string draw() {
    if (x_.empty())
      return fmt::format("<p class=\"empty\">{}: nothing was measured.</p>\n",
                         html_escape(chart_.title));
    widen(x_);
    widen(y_);
    out_ = fmt::format(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n"
        "<text class=\"title\" x=\"{}\" y=\"18\">{}</text>\n",
        kWidth, kHeight, html_escape(chart_.title), kLeft, html_escape(chart_.title));
    axes();
    for (std::size_t i = 0; i < chart_.series.size(); ++i)
      line(chart_.series[i], kColours[i % kColours.size()]);
    legend();
    return out_ + "</svg>\n";
  }

 private:
  static void widen(Range& range) {
    const std::vector<double> ticks = axis_ticks(range.low, range.high, 5);
    range.low = std::min(range.low, ticks.front());
    range.high = std::max(range.high, ticks.back());
  }
  double px(double x) const { return kLeft + kPlotWidth * x_.fraction(x); }
  double py(double y) const { return kTop + kPlotHeight * (1 - y_.fraction(y)); }

  void axes() {
    for (const double tick : axis_ticks(y_.low, y_.high, 5)) {
      out_ += fmt::format(
          "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
          "<text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{:g}</text>\n",
          kLeft, kWidth - kRight, py(tick), py(tick), kLeft - 6, py(tick) + 4, tick);
    }
    for (const double tick : axis_ticks(x_.low, x_.high, 6)) {
      out_ += fmt::format(
          "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{}\">{:g}</text>\n",
          px(tick), kHeight - kBottom + 16, tick);
    }
    out_ += fmt::format(
        "<text class=\"label\" text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>"
        "<text class=\"label\" text-anchor=\"middle\" transform=\"translate(14 {}) rotate(-90)\">"
        "{}</text>\n",
        kLeft + kPlotWidth / 2, kHeight - 8, html_escape(chart_.x_label), kTop + kPlotHeight / 2,
        html_escape(chart_.y_label));
  }

  void line(const ChartSeries& series, const char* colour) {
    std::string path;
    std::string dots;
    for (const auto& point : series.points) {
      if (!is_finite(point)) continue;
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", px(point.first),
                          py(point.second));
      if (series.marked)
        dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>",
                            px(point.first), py(point.second), colour);
    }
    out_ += fmt::format("<path d=\"{}\" stroke=\"{}\"{}/>{}\n", path, colour,
                        series.dashed ? " stroke-dasharray=\"6 4\"" : "", dots);
  }

  void legend() {
    double x = kLeft + kPlotWidth;
    for (std::size_t i = chart_.series.size(); i-- > 0;) {
      const std::string& name = chart_.series[i].name;
      if (name.empty()) continue;
      // The text is right-aligned and its width estimated: 6.2 units a letter of 11 units height.
      out_ += fmt::format(
          "<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"18\" style=\"fill:{}\">{}"
          "</text>\n",
          x, kColours[i % kColours.size()], html_escape(name));
      x -= 6.2 * static_cast<double>(name.size()) + 14;
    }
  }

  const Chart& chart_;
  Range x_, y_;
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

std::string to_svg(const Chart& chart) {
  return Drawing(chart).draw();
}

}  // namespace wellspring
