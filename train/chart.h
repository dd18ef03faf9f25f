// Line charts as inline SVG, for the self-contained report. Called by train/report; host only.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace wellspring {

struct ChartSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< x, y; in order of x
  bool dashed = false;
  bool marked = false;  ///< a dot at each point, for few points
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<ChartSeries> series;
  bool from_zero = false;  ///< the vertical axis begins at 0
};

/// An <svg> element; a sentence instead where no series has a point. Points that are not finite are
/// left out.
std::string to_svg(const Chart& chart);

/// Text with &, <, > and quotes replaced, for HTML and SVG.
std::string html_escape(const std::string& text);

}  // namespace wellspring
