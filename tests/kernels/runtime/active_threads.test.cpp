#include "kernels/runtime/active_threads.h"

#include <gtest/gtest.h>

#include <functional>

namespace wellspring {
namespace {

/// A machine on which a step takes as long as `seconds` says of so many threads, and cores are lost
/// so many times a second.
struct Machine {
  std::function<double(int)> seconds;
  double lost_a_second = 0;
};

class ActiveThreadsTest : public ::testing::Test {
 protected:
  /// Steps of so many windows, or a few more than that.
  void run(ActiveThreads& active, const Machine& machine, int windows) {
    for (int window = 0; window < windows; ++window)
      for (double time = 0; time < ActiveThreads::kWindow;) {
        const double seconds = machine.seconds(active.count());
        lost_ += machine.lost_a_second * seconds;
        time += seconds;
        active.step(seconds);
      }
  }
  ActiveThreads of(int most) {
    return ActiveThreads(most, [this] { return static_cast<long>(lost_); });
  }

  static constexpr int kTrial = ActiveThreads::kPatience + 2;  ///< windows from one to the next
  double lost_ = 1000;
};

double fair(int threads) {
  return 1e-3 / threads;
}
/// One of six cores is held, and steps are short.
double one_held(int threads) {
  return threads > 5 ? 2e-3 : fair(threads);
}
double all_but_one_held(int threads) {
  return threads > 1 ? 1e-3 * threads : 1e-3;
}

TEST_F(ActiveThreadsTest, AllWorkWhereNobodyHoldsACore) {
  ActiveThreads active = of(6);
  for (int window = 0; window < 100; ++window) {
    run(active, {fair, ActiveThreads::kHeld - 10}, 1);
    EXPECT_EQ(active.count(), 6);
  }
  EXPECT_EQ(active.most(), 6);
}

TEST_F(ActiveThreadsTest, HalfGoOnWhereTheyAreFaster) {
  ActiveThreads active = of(6);
  run(active, {one_held, 150}, 2);
  EXPECT_EQ(active.count(), 3);
  // No core is lost now, and once in a while all six are tried again.
  int with_all = 0;
  for (int window = 0; window < 10 * kTrial; ++window) {
    run(active, {one_held, 0}, 1);
    if (active.count() == 6)
      ++with_all;
    else
      EXPECT_EQ(active.count(), 3);
  }
  EXPECT_NEAR(with_all, 10, 1);
}

TEST_F(ActiveThreadsTest, OneIsEnoughWhereAllOtherCoresAreHeld) {
  ActiveThreads active = of(6);
  run(active, {all_but_one_held, 150}, 3 * kTrial);
  EXPECT_EQ(active.count(), 1);
}

// Where every core is held alike, or steps are long, half of the threads are slower.
TEST_F(ActiveThreadsTest, AllGoOnWhereHalfAreNotFaster) {
  ActiveThreads active = of(4);
  int with_half = 0;
  for (int window = 0; window < 10 * kTrial; ++window) {
    run(active, {fair, 1000}, 1);
    if (active.count() < 4) ++with_half;
  }
  EXPECT_NEAR(with_half, 10, 1);
}

TEST_F(ActiveThreadsTest, AllComeBackWhenTheCoreIsFree) {
  ActiveThreads active = of(4);
  run(active, {all_but_one_held, 150}, 3 * kTrial);
  ASSERT_EQ(active.count(), 1);
  run(active, {fair, 0}, 3 * kTrial);
  EXPECT_EQ(active.count(), 4);
}

// A step longer than a window is one; what it loses counts by the second, too.
TEST_F(ActiveThreadsTest, LongStepsAreJudgedByTheirTime) {
  ActiveThreads active = of(2);
  for (int step = 0; step < 100; ++step) {
    run(active, {[](int threads) { return 2.0 / threads; }, ActiveThreads::kHeld - 10}, 1);
    EXPECT_EQ(active.count(), 2);
  }
}

TEST_F(ActiveThreadsTest, OneThreadIsLeftAlone) {
  ActiveThreads active(1, []() -> long { throw 0; });
  run(active, {fair, 1000}, 100);
  EXPECT_EQ(active.count(), 1);
}

TEST(LostCores, OnlyGrow) {
  const long before = lost_cores();
  EXPECT_GE(before, 0);
  EXPECT_GE(lost_cores(), before);
}

}  // namespace
}  // namespace wellspring
