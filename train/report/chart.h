// Line charts as HTML with inline SVG, for the self-contained report. Called by train/report/report; host
// only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {

enum class LineStyle : std::uint8_t { solid, dashed, dotted };

struct ChartSeries {
  std::string name;
  /// x, y; in order of x. One that is not finite is a gap: the curve ends before it and begins
  /// anew.
  std::vector<std::pair<double, double>> points;
  LineStyle style = LineStyle::solid;
  bool marked = false;              ///< a dot at each point, for few points
  std::vector<double> errors = {};  ///< of each point, drawn as a bar; none: there are none
  std::string group = {};           ///< series of one group share a colour; empty: the series' name
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<ChartSeries> series;
  bool from_zero = false;  ///< the vertical axis begins at 0; the horizontal one always does
  std::optional<double> most = {};  ///< no value is larger, and no bar of errors reaches further
};

/// A <figure>: title, legend, drawing; a sentence instead where no series has a point. Its colours
/// are those of chart_style(). Ends of curves are where their points end: no axis is wider than
/// they are long.
std::string to_html(const Chart& chart);

/// The style sheet of all charts, for light and dark pages, from 360 pixels of width on. Text has
/// the page's colour.
std::string chart_style();

/// Text with &, <, > and quotes replaced, for HTML and SVG.
std::string html_escape(const std::string& text);

}  // namespace wellspring
