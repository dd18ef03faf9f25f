#include "kernels/active_threads.h"

#include <gtest/gtest.h>

#include <functional>

namespace wellspring {
namespace {

/// Windows of loops of a millisecond, each of which takes `slowdown` times what is expected of as
/// many threads as work.
void loops(ActiveThreads& active, const std::function<double(int)>& slowdown, int windows) {
  for (int window = 0; window < windows; ++window) {
    const double now = slowdown(active.count());
    for (double time = 0; time < ActiveThreads::kWindow; time += 1e-3)
      active.report(1e-3 / now, 1e-3);
  }
}
constexpr int kTrial = 2 + ActiveThreads::kPatience;  ///< its window, the rest, and one that judges

double idle(int) {
  return 1.2;
}
/// One of six cores is held, and steps are short: five threads never wait.
double one_core_held(int threads) {
  return threads > 5 ? 8 : 1.2;
}

TEST(ActiveThreads, AllWorkWhereNobodyHoldsACore) {
  ActiveThreads active(6);
  for (int window = 0; window < 200; ++window) {
    loops(
        active, window < 100 ? idle : [](int) { return 1.9; }, 1);
    EXPECT_EQ(active.count(), 6);
  }
  EXPECT_EQ(active.most(), 6);
}

TEST(ActiveThreads, HalfGoOnWhereTheyAreFaster) {
  ActiveThreads active(6);
  loops(active, one_core_held, 1);
  EXPECT_EQ(active.count(), 3);
  // All six are tried once in a while, for a window.
  int with_all = 0;
  for (int window = 0; window < 10 * kTrial; ++window) {
    loops(active, one_core_held, 1);
    if (active.count() == 6)
      ++with_all;
    else
      EXPECT_EQ(active.count(), 3);
  }
  EXPECT_EQ(with_all, 10);
}

TEST(ActiveThreads, OneIsEnoughWhereAllCoresButOneAreHeld) {
  ActiveThreads active(6);
  const auto held = [](int threads) { return threads > 1 ? 5.0 * threads * threads : 1; };
  loops(active, held, 1 + 2 * kTrial);
  EXPECT_EQ(active.count(), 1);
}

// Where every core is held alike, half of the threads are as slow as all of them.
TEST(ActiveThreads, AllGoOnWhereHalfAreNotFaster) {
  ActiveThreads active(4);
  int with_half = 0;
  for (int window = 0; window < 10 * kTrial; ++window) {
    loops(
        active, [](int) { return 2.2; }, 1);
    if (active.count() < 4) ++with_half;
  }
  EXPECT_EQ(active.count(), 4);
  EXPECT_EQ(with_half, 10);
}

TEST(ActiveThreads, AllComeBackWhenTheCoreIsFree) {
  ActiveThreads active(4);
  const auto held = [](int threads) { return threads > 1 ? 5.0 * threads * threads : 1; };
  loops(active, held, 3 * kTrial);
  ASSERT_EQ(active.count(), 1);
  loops(active, idle, 3 * kTrial);
  EXPECT_EQ(active.count(), 4);
}

// What interrupts a machine now and then is far shorter than a window.
TEST(ActiveThreads, OneLongLoopIsNoReason) {
  ActiveThreads active(2);
  for (int i = 0; i < 20; ++i) {
    active.report(1e-4, ActiveThreads::kWindow / 4);
    loops(active, idle, 1);
    EXPECT_EQ(active.count(), 2);
  }
}

}  // namespace
}  // namespace wellspring
