#include "train/network/fastest_plans.h"

#include "kernels/ops/conv_tuning.h"
#include "kernels/ops/plan_log.h"
#include "kernels/runtime/device.h"
#include "tests/support/environment_variable.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wellspring {
namespace {

using test::EnvironmentVariable;

/// Plans requested by a network in a new run.
std::string chosen_plan(const Stream& stream, const std::string& question, std::string fastest) {
  return stream.library<ops::ConvTuning>()->choice(question, [&] { return fastest; });
}

TEST(FastestPlans, AreLeftToTheLibraryOnACpu) {
  const Stream stream(Device::cpu(), 1);
  use_fastest_plans(stream);
  EXPECT_FALSE(stream.library<ops::ConvTuning>()->choice);
  EXPECT_TRUE(plan_notes(stream).empty());
  EXPECT_EQ(plans_digest(stream), "");
}

class FastestPlansOnAGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  }
};

TEST_F(FastestPlansOnAGpu, AreTheSameInLaterRuns) {
  const test::TemporaryFolder folder;
  const EnvironmentVariable cache("WELLSPRING_CACHE", folder.path().c_str());
  {
    const Stream first(Device::cuda(0));
    use_fastest_plans(first);
    EXPECT_EQ(chosen_plan(first, "forward", "eng22"), "eng22");
    EXPECT_EQ(chosen_plan(first, "backward", "eng45"), "eng45");
    EXPECT_EQ(chosen_plan(first, "forward", "eng0"), "eng22") << "was timed again";
    ASSERT_EQ(plan_notes(first).size(), 1u);
    EXPECT_NE(plan_notes(first)[0].find("2 convolution passes"), std::string::npos)
        << plan_notes(first)[0];
  }
  const Stream second(Device::cuda(0));
  use_fastest_plans(second);
  EXPECT_EQ(chosen_plan(second, "forward", "eng1"), "eng22");
  EXPECT_TRUE(plan_notes(second).empty());
}

// A resumed run compares the digests and reports that its bits may differ.
TEST_F(FastestPlansOnAGpu, HaveADigestThatDependsOnEachChoice) {
  const EnvironmentVariable none("WELLSPRING_CACHE", nullptr), xdg("XDG_CACHE_HOME", nullptr),
      home("HOME", nullptr);
  const auto digest = [](const std::string& forward, const std::string& backward) {
    const Stream stream(Device::cuda(0));
    use_fastest_plans(stream);
    chosen_plan(stream, "forward", forward);
    chosen_plan(stream, "backward", backward);
    return plans_digest(stream);
  };
  EXPECT_EQ(digest("eng1", "eng2").size(), 16u);
  EXPECT_EQ(digest("eng1", "eng2"), digest("eng1", "eng2"));
  EXPECT_NE(digest("eng1", "eng2"), digest("eng2", "eng2"));
  EXPECT_NE(digest("eng1", "eng2"), digest("eng2", "eng1"));
}

TEST(PlansDigest, DependsOnTheAlgorithmOfEachProduct) {
  const auto digest = [](const std::string& forward, const std::string& backward) {
    const Stream stream(Device::cpu(), 1);
    auto& algorithms = stream.library<ops::PlanLog>()->algorithms;
    if (!forward.empty()) algorithms["dense, forward"] = forward;
    if (!backward.empty()) algorithms["dense, backward data"] = backward;
    return plans_digest(stream);
  };
  EXPECT_EQ(digest("", ""), "");
  EXPECT_EQ(digest("tile 20", "tile 24").size(), 16u);
  EXPECT_EQ(digest("tile 20", "tile 24"), digest("tile 20", "tile 24"));
  EXPECT_NE(digest("tile 20", "tile 24"), digest("tile 24", "tile 20"));
  EXPECT_NE(digest("tile 20", "tile 24"), digest("tile 20", ""));
}

TEST_F(FastestPlansOnAGpu, AreTimedInEveryRunWithoutACache) {
  const EnvironmentVariable none("WELLSPRING_CACHE", nullptr), xdg("XDG_CACHE_HOME", nullptr),
      home("HOME", nullptr);
  for (const char* fastest : {"eng1", "eng2"}) {
    const Stream stream(Device::cuda(0));
    use_fastest_plans(stream);
    EXPECT_EQ(chosen_plan(stream, "forward", fastest), fastest);
    ASSERT_EQ(plan_notes(stream).size(), 1u);
    EXPECT_NE(plan_notes(stream)[0].find("times them again"), std::string::npos);
  }
}

}  // namespace
}  // namespace wellspring
