#include "train/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace wellspring {
namespace {

TEST(Chart, TicksAreRoundAndCoverTheRange) {
  EXPECT_EQ(axis_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  const std::vector<double> ticks = axis_ticks(0.013, 0.097, 5);
  EXPECT_LE(ticks.front(), 0.013);
  EXPECT_GE(ticks.back(), 0.097);
  EXPECT_NEAR(ticks[1] - ticks[0], 0.02, 1e-12);
}

TEST(Chart, TicksOfOneValue) {
  for (const double value : {0.0, 3.0, -2.0, 1e-9}) {
    const std::vector<double> ticks = axis_ticks(value, value, 5);
    ASSERT_GE(ticks.size(), 2u);
    EXPECT_LE(ticks.front(), value);
    EXPECT_GE(ticks.back(), value);
  }
}

TEST(Chart, LeavesOutWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string svg = to_svg({"Loss", "step", "loss", {{"a", {{0, 1}, {1, nan}, {2, 3}}}}});
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_NE(svg.find("<path"), std::string::npos);
}

TEST(Chart, SaysWhenThereIsNothing) {
  EXPECT_EQ(to_svg({"Loss", "step", "loss", {{"a", {}}}}).find("<svg"), std::string::npos);
}

TEST(Chart, EscapesNames) {
  const std::string svg = to_svg({"<b>", "x", "y", {{"a&b", {{0, 0}, {1, 1}}}}});
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
  EXPECT_NE(svg.find("a&amp;b"), std::string::npos);
}

}  // namespace
}  // namespace wellspring
