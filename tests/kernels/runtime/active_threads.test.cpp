#include "kernels/runtime/active_threads.h"

#include <gtest/gtest.h>

#include <functional>

namespace wellspring {
namespace {

/// A simulated machine.
struct Machine {
  std::function<double(int)> seconds;  ///< seconds per step, for a number of threads
  double losses_per_second = 0;        ///< core losses per second
};

class ActiveThreadsTest : public ::testing::Test {
 protected:
  /// Runs steps that fill at least this many windows.
  void run(ActiveThreads& active, const Machine& machine, int windows) {
    for (int window = 0; window < windows; ++window)
      for (double time = 0; time < ActiveThreads::kWindow;) {
        const double seconds = machine.seconds(active.count());
        lost_ += machine.losses_per_second * seconds;
        time += seconds;
        active.step(seconds);
      }
  }
  ActiveThreads active_threads(int most) {
    return ActiveThreads(most, [this] { return static_cast<long>(lost_); });
  }

  static constexpr int kTrial = ActiveThreads::kPatience + 2;  ///< windows between trials
  double lost_ = 1000;
};

double all_free(int threads) {
  return 1e-3 / threads;
}
/// One of six cores is busy, and steps are short.
double one_busy(int threads) {
  return threads > 5 ? 2e-3 : all_free(threads);
}
double all_but_one_busy(int threads) {
  return threads > 1 ? 1e-3 * threads : 1e-3;
}

TEST_F(ActiveThreadsTest, KeepsAllThreadsOnAFreeMachine) {
  ActiveThreads active = active_threads(6);
  for (int window = 0; window < 100; ++window) {
    run(active, {all_free, ActiveThreads::kHeld - 10}, 1);
    EXPECT_EQ(active.count(), 6);
  }
  EXPECT_EQ(active.most(), 6);
}

TEST_F(ActiveThreadsTest, HalvesWhenHalfIsFaster) {
  ActiveThreads active = active_threads(6);
  run(active, {one_busy, 150}, 2);
  EXPECT_EQ(active.count(), 3);
  // Cores are no longer lost, so all six are tried again from time to time.
  int with_all = 0;
  for (int window = 0; window < 10 * kTrial; ++window) {
    run(active, {one_busy, 0}, 1);
    if (active.count() == 6)
      ++with_all;
    else
      EXPECT_EQ(active.count(), 3);
  }
  EXPECT_NEAR(with_all, 10, 1);
}

TEST_F(ActiveThreadsTest, FallsToOneWhenAllOtherCoresAreBusy) {
  ActiveThreads active = active_threads(6);
  run(active, {all_but_one_busy, 150}, 3 * kTrial);
  EXPECT_EQ(active.count(), 1);
}

// When all cores are equally busy, or steps are long, half as many threads are slower.
TEST_F(ActiveThreadsTest, KeepsAllWhenHalfIsNotFaster) {
  ActiveThreads active = active_threads(4);
  int with_half = 0;
  for (int window = 0; window < 10 * kTrial; ++window) {
    run(active, {all_free, 1000}, 1);
    if (active.count() < 4) ++with_half;
  }
  EXPECT_NEAR(with_half, 10, 1);
}

TEST_F(ActiveThreadsTest, ReturnsToAllWhenTheCoresAreFree) {
  ActiveThreads active = active_threads(4);
  run(active, {all_but_one_busy, 150}, 3 * kTrial);
  ASSERT_EQ(active.count(), 1);
  run(active, {all_free, 0}, 3 * kTrial);
  EXPECT_EQ(active.count(), 4);
}

// A step longer than a window counts as one window; losses are still measured per second.
TEST_F(ActiveThreadsTest, JudgesLongStepsPerSecond) {
  ActiveThreads active = active_threads(2);
  for (int step = 0; step < 100; ++step) {
    run(active, {[](int threads) { return 2.0 / threads; }, ActiveThreads::kHeld - 10}, 1);
    EXPECT_EQ(active.count(), 2);
  }
}

TEST_F(ActiveThreadsTest, DoesNotSampleASingleThread) {
  ActiveThreads active(1, []() -> long { throw 0; });
  run(active, {all_free, 1000}, 100);
  EXPECT_EQ(active.count(), 1);
}

TEST(LostCores, NeverDecreases) {
  const long before = lost_cores();
  EXPECT_GE(before, 0);
  EXPECT_GE(lost_cores(), before);
}

}  // namespace
}  // namespace wellspring
