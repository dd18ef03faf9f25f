#include "generators/events/ee_mumu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace wellspring {
namespace {

// Reference values computed independently in double precision: 1 / alpha = 128.952, sin^2 theta_w =
// 0.23153, MZ = 91.1876, GZ = 2.4952, no initial-state radiation.
TEST(EeMumu, AsymmetryAndCrossSectionMatchTheReference) {
  const struct {
    double sqrt_s, asymmetry, picobarn;
  } table[] = {{30, -0.063775, 109.13},
               {60, -0.374133, 29.143},
               {91.1876, 0.016101, 1977.0},
               {110, 0.744344, 18.503},
               {200, 0.555295, 2.9515}};
  for (const auto& row : table) {
    const MuonPairRates rates = MuonPairRates::at(row.sqrt_s, {});
    EXPECT_NEAR(rates.forward_backward_asymmetry(), row.asymmetry, 1e-6) << row.sqrt_s;
    EXPECT_NEAR(rates.cross_section(row.sqrt_s) / row.picobarn, 1, 5e-5) << row.sqrt_s;
  }
}

// With MadGraph5's standard-model constants (1 / alpha = 132.507, MZ = 91.188, GZ = 2.441404, MW =
// 80.419), MadGraph's log gives <|M|^2> = 1.371706e-2 +- 3.27e-6 at 1500 GeV.
TEST(EeMumu, SquaredAmplitudeMatchesMadGraph) {
  const MuonPairRates rates = MuonPairRates::at(1500, {132.507, 0.2222465, 91.188, 2.441404});
  // |M|^2 = s^2 / 4 (same + opposite) (1 +- c)^2; (1 +- c)^2 averages to 4/3.
  EXPECT_NEAR(std::pow(1500, 4) / 4 * (rates.same + rates.opposite) * 4 / 3, 1.371758e-2, 5e-8);
}

TEST(EeMumu, LowEnergyIsPureQed) {
  const MuonPairRates rates = MuonPairRates::at(1, {137.04, 0.23153, 91.1876, 2.4952});
  EXPECT_NEAR(rates.forward_backward_asymmetry(), 0, 1e-4);
  EXPECT_NEAR(rates.cross_section(1), 86.8e3, 0.1e3);  // 86.8 nb GeV^2 / s
}

}  // namespace
}  // namespace wellspring
