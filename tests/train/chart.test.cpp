#include "train/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace wellspring {
namespace {

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
