#include "core/text/measured_text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace wellspring {
namespace {

TEST(MeasuredText, RoundsToTheUncertainty) {
  EXPECT_EQ(measured_text(97.8, 0.331), "97.80 +- 0.33");
  EXPECT_EQ(measured_text(97.8, 0.0996), "97.80 +- 0.10");
  EXPECT_EQ(measured_text(1234.5, 56), "1234 +- 56");
  EXPECT_EQ(measured_text(1234.5, 560), "1234 +- 560");
  EXPECT_EQ(measured_text(0.5, 0.0025, kPlusMinusSign), "0.5000 \u00b1 0.0025");
  EXPECT_EQ(measured_text(0.5, 0), "0.5");
  EXPECT_EQ(measured_text(0.5, std::nan("")), "0.5");
}

TEST(ShareText, PrintsThePercentageWithItsError) {
  EXPECT_DOUBLE_EQ(share_error(0.5, 10000), 0.005);
  EXPECT_EQ(share_text(0.978, share_error(0.978, 2000)), "97.80 +- 0.33 %");
  EXPECT_EQ(share_text(0.978, 0), "97.80 %");
  EXPECT_EQ(share_error(0.5, 0), 0);
}

// "100 +- 0 %" would claim that the next sample cannot be wrong.
TEST(ShareText, HasAnErrorEvenAtAllOrNone) {
  // Wilson's interval with z = 1: (p + 1/2n -+ sqrt(p (1 - p) / n + 1/4n^2)) / (1 + 1/n).
  const auto lower = [](double p, double n) {
    return (p + 0.5 / n - std::sqrt(p * (1 - p) / n + 0.25 / (n * n))) / (1 + 1 / n);
  };
  for (const double n : {1.0, 9.0, 2000.0}) {
    EXPECT_NEAR(1 - share_error(1, n), lower(1, n), 1e-12);
    EXPECT_EQ(share_error(0, n), share_error(1, n));
  }
  EXPECT_EQ(share_text(1, share_error(1, 1999)), "100 % (1 sigma: above 99.950 %)");
  EXPECT_EQ(share_text(0, share_error(0, 9)), "0 % (1 sigma: below 10 %)");
}

}  // namespace
}  // namespace wellspring
