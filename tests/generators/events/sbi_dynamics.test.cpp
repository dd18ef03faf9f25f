// The tasks of `sbi` that integrate equations of motion.
#include "generators/events/sbi.h"
#include "tests/generators/events/sbi_draws.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace wellspring::test {
namespace {

// Compares with the cumulative distribution from log-gamma functions: u must be between the
// distribution's values just below and at the drawn number. The tolerance of 1e-9 is far above the
// rounding error of both.
TEST(Sbi, BinomialInvertsTheCumulativeDistribution) {
  constexpr int kN = 1000;
  for (const double p : {1e-6, 1e-3, 0.02, 0.3, 0.5, 0.500001, 0.9, 0.9999}) {
    std::vector<double> cdf(kN + 2);
    for (int k = 0; k <= kN; ++k)
      cdf[static_cast<std::size_t>(k) + 1] =
          cdf[static_cast<std::size_t>(k)] +
          std::exp(std::lgamma(kN + 1) - std::lgamma(k + 1) - std::lgamma(kN - k + 1) +
                   k * std::log(p) + (kN - k) * std::log1p(-p));
    for (int i = 0; i < 500; ++i) {
      const double u = (i + 0.5) / 500;
      const int k = sbi::binomial(kN, p, u);
      const double level = p > 0.5 ? 1 - u : u;  // mirrored: a larger u gives a smaller number
      EXPECT_LE(cdf[static_cast<std::size_t>(k)], level + 1e-9) << p << ", u " << u;
      EXPECT_GE(cdf[static_cast<std::size_t>(k) + 1], level - 1e-9) << p << ", u " << u;
    }
    EXPECT_LE(sbi::binomial(kN, p, sbi::unit_double(~0u, ~0u)), kN);
  }
  EXPECT_EQ(sbi::binomial(kN, 0, 0.999), 0);
  EXPECT_EQ(sbi::binomial(kN, 1, 0.999), kN);
  EXPECT_EQ(sbi::unit_double(~0u, ~0u), 1 - 0x1p-53);
  EXPECT_EQ(sbi::unit_double(0, 64), 0x1p-53);
}

}  // namespace
}  // namespace wellspring::test
