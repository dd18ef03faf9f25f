// Line charts as HTML with inline SVG and bars in tables, for self-contained pages. Called by reports;
// host only.
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
  /// (x, y), sorted by x. A non-finite point is a gap in the curve.
  std::vector<std::pair<double, double>> points;
  LineStyle style = LineStyle::solid;
  bool marked = false;              ///< a dot at each point, for few points
  std::vector<double> errors = {};  ///< half-lengths of error bars by point; empty: no bars
  std::string group = {};           ///< series of a group share a colour; default: the name
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<ChartSeries> series;
  bool from_zero = false;           ///< start the vertical axis at 0, like the horizontal one
  std::optional<double> most = {};  ///< upper limit of the vertical axis
};

/// Returns a <figure> with title, legend and drawing, or a sentence if no series has a point.
/// chart_style() defines the colours. The horizontal axis ends at the last point.
std::string to_html(const Chart& chart);

/// The style sheet of all charts, for light and dark pages at least 360 pixels wide. Text takes the
/// colour of the page.
std::string chart_style();

/// A table cell with a bar, and the heading of its column. `share`: length, 1 for the whole width.
std::string bar_cell(double share);
std::string bar_heading();

/// Upright bars of these heights, the largest as high as the drawing. `range`: a text below them.
std::string histogram_html(const std::vector<double>& heights, const std::string& range);

/// Escapes &, <, > and double quotes for HTML and SVG.
std::string html_escape(const std::string& text);

}  // namespace wellspring
