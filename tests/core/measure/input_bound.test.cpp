#include "core/measure/input_bound.h"

#include "core/measure/clocks.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

std::string text(std::optional<Interval> lost) {
  return input_text(judge_input(lost), lost, "turns");
}

TEST(InputBound, FollowsFromTheIntervalOfTheLostShare) {
  EXPECT_EQ(text(Interval{0, 0.049}), "NOT input-bound");
  EXPECT_EQ(text(Interval{0.05, 0.199}), "MODERATELY input-bound");
  EXPECT_EQ(text(Interval{0.2, 0.9}), "HIGHLY input-bound");
  EXPECT_EQ(text(Interval{0.04, 0.06}), "INCONCLUSIVE: between not and moderately input-bound");
  EXPECT_EQ(text(Interval{0.04, 0.3}), "INCONCLUSIVE: between not and highly input-bound");
  EXPECT_EQ(text(Interval{-0.4, 0.03}), "NOT input-bound");
  EXPECT_EQ(text(Interval{-0.4, -0.06}),
            "INCONCLUSIVE: steps with data were faster than steps without");
  EXPECT_EQ(text({}), "INCONCLUSIVE: an interval needs 6 turns");
}

TEST(Clocks, AreFlaggedIfTheyDisagreeByMoreThanTwoPercent) {
  EXPECT_EQ(clock_text(44300, 1.0199), "44.3 k");
  EXPECT_EQ(clock_text(44300, 1.0201), "44.3 k !");
  EXPECT_EQ(clock_text(44300, 0.97), "44.3 k !");
  EXPECT_EQ(disagreement_text(0.97),
            "the host's clock and the marks on the stream disagree by 3.0 %");
}

}  // namespace
}  // namespace wellspring
