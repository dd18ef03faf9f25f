#include "core/picture/axis.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

TEST(AxisTicks, AreRoundAndCoverTheRange) {
  EXPECT_EQ(axis_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  const std::vector<double> ticks = axis_ticks(0.013, 0.097, 5);
  EXPECT_LE(ticks.front(), 0.013);
  EXPECT_GE(ticks.back(), 0.097);
  EXPECT_NEAR(ticks[1] - ticks[0], 0.02, 1e-12);
}

TEST(AxisTicks, EncloseARangeOfOneValue) {
  for (const double value : {0.0, 3.0, -2.0, 1e-9}) {
    const std::vector<double> ticks = axis_ticks(value, value, 5);
    ASSERT_GE(ticks.size(), 2u);
    EXPECT_LE(ticks.front(), value);
    EXPECT_GE(ticks.back(), value);
  }
}

TEST(TickText, IsShortAndReadable) {
  EXPECT_EQ(tick_text(0, 0.2), "0");
  EXPECT_EQ(tick_text(3 * 0.2, 0.2), "0.6");
  EXPECT_EQ(tick_text(1, 0.25), "1.0");
  EXPECT_EQ(tick_text(0.5, 0.5), "0.5");
  EXPECT_EQ(tick_text(1500, 500), "1500");
  EXPECT_EQ(tick_text(-20000, 10000), "-20 k");
  EXPECT_EQ(tick_text(12500, 500), "12.5 k");
  EXPECT_EQ(tick_text(1'500'000, 500'000), "1.5 M");
  EXPECT_EQ(tick_text(0.0005, 0.0005), "0.0005");
  EXPECT_EQ(tick_text(6e-5, 2e-5), "6e-5");
  EXPECT_EQ(tick_text(1e-4, 5e-5), "10e-5") << "all ticks of an axis share one power";
}

}  // namespace
}  // namespace wellspring
