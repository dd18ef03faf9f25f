#include "train/report/chart.h"

#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <limits>
#include <regex>
#include <string>
#include <vector>

namespace wellspring {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The paths (attribute d) of a chart's curves, excluding the legend and error bars.
std::vector<std::string> curves(const std::string& html) {
  std::vector<std::string> found;
  const std::regex path("<path class=\"([^\"]*)\" d=\"([^\"]*)\"");
  for (std::sregex_iterator at(html.begin(), html.end(), path), end; at != end; ++at)
    if ((*at)[2] != "M2 5H26" && (*at)[1].str().find("error") == std::string::npos)
      found.push_back((*at)[2]);
  return found;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

// A curve must end at a missing point and start again after it.
TEST(Chart, LeavesAGapAtNonFiniteValues) {
  const std::string html =
      to_html({"Loss",
               "step",
               "loss",
               {{"a", {{0, 1}, {1, 2}, {2, kNan}, {3, 1}, {4, kNan}, {5, 1}, {6, 2}}}}});
  EXPECT_EQ(html.find("nan"), std::string::npos);
  ASSERT_EQ(curves(html).size(), 1u);
  const std::string path = curves(html)[0];
  EXPECT_EQ(count_of(path, "M"), 3u) << path;
  EXPECT_EQ(count_of(path, "L"), 2u) << path;
  EXPECT_EQ(count_of(path, "h0"), 1u) << "a single point must be visible: " << path;
}

TEST(Chart, EndsCurvesAtTheirLastPoints) {
  const std::string html = to_html(
      {"Loss", "step", "loss", {{"a", {{100, 1}, {1100, 2}}}, {"b", {{100, 1}, {600, 2}}}}});
  const std::vector<std::string> paths = curves(html);
  ASSERT_EQ(paths.size(), 2u);
  // The plot is between x = 58 (step 0) and x = 426 (last point).
  EXPECT_EQ(paths[0].substr(0, 5), "M91.5");
  EXPECT_NE(paths[0].find("L426.0"), std::string::npos) << paths[0];
  EXPECT_NE(paths[1].find("L258.7"), std::string::npos) << paths[1];
}

TEST(Chart, GivesAllSeriesOfAGroupOneColour) {
  const std::string html = to_html({"Accuracy",
                                    "step",
                                    "%",
                                    {{"a", {{0, 1}, {1, 1}}},
                                     {"b", {{0, 1}, {1, 1}}},
                                     {"b, held out", {{1, 1}}, LineStyle::dashed, true, {0.5}, "b"},
                                     {"nothing", {{1, kNan}}}}});
  test::expect_parts(html, {"class=\"c0\" d=\"M58", "class=\"c1\" d=\"M58",
                            "class=\"c1 dashed\" d=\"M4", "class=\"c1 error\""});
  EXPECT_EQ(html.find(">nothing<"), std::string::npos) << "the legend shows an undrawn curve";
}

TEST(Chart, ClipsErrorBarsAtTheMaximum) {
  Chart chart = {"Accuracy", "step", "%", {{"a", {{0, 60}, {1, 100}}}}, true, 100};
  chart.series[0].errors = {5, 5};
  EXPECT_EQ(to_html(chart).find(">120<"), std::string::npos);
  EXPECT_EQ(to_html(chart).find(">150<"), std::string::npos);
  chart.most.reset();
  EXPECT_NE(to_html(chart).find(">150<"), std::string::npos);
}

// Every colour must have a value in the light and in the dark theme.
TEST(Chart, TakesItsColoursFromTheTheme) {
  const std::string style = chart_style();
  const std::size_t dark = style.find("@media (prefers-color-scheme: dark)");
  ASSERT_NE(dark, std::string::npos);
  for (int i = 0; i < 7; ++i) {
    const std::string rule = ".c" + std::to_string(i) + " { --line: #";
    EXPECT_LT(style.find(rule), dark);
    EXPECT_NE(style.find(rule, dark), std::string::npos);
  }
}

TEST(Chart, DrawsNothingWithoutPoints) {
  EXPECT_EQ(to_html({"Loss", "step", "loss", {{"a", {}}}}).find("<svg"), std::string::npos);
}

TEST(Chart, EscapesNames) {
  const std::string svg = to_html({"<b>", "x", "y", {{"a&b", {{0, 0}, {1, 1}}}}});
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
  EXPECT_NE(svg.find("a&amp;b"), std::string::npos);
}

}  // namespace
}  // namespace wellspring
