#include "train/metrics/rates.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

TEST(Rates, PrintTheIntervalGivenEnoughWindows) {
  EXPECT_EQ(rate_text(summarise_rates({4000, 4010, 3990, 3950, 4050, 4020})),
            "4.00 k (95 %: 3.95 k to 4.05 k; median of 6 windows)");
  EXPECT_EQ(rate_text(summarise_rates({5000})), "5.00 k (1 window; an interval needs 6)");
  EXPECT_EQ(rate_text(summarise_rates({5000, 5000})), "5.00 k (2 windows; an interval needs 6)");
}

}  // namespace
}  // namespace wellspring
