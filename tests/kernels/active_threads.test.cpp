#include "kernels/active_threads.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

/// Windows of loops of a millisecond that take `slowdown` times what is expected.
void loops(ActiveThreads& active, double slowdown, int windows) {
  for (double time = 0; time < windows * ActiveThreads::kWindow; time += 1e-3)
    active.report(1e-3 / slowdown, 1e-3);
}

TEST(ActiveThreads, AllWorkWhereNobodyHoldsACore) {
  ActiveThreads active(6);
  loops(active, 1.9, 100);
  EXPECT_EQ(active.count(), 6);
  EXPECT_EQ(active.most(), 6);
}

TEST(ActiveThreads, HalfGoOnWhereHalfWouldBeAsFast) {
  ActiveThreads active(6);
  loops(active, 2.1, 1);
  EXPECT_EQ(active.count(), 3);
  loops(active, 2.1, 1);
  EXPECT_EQ(active.count(), 2);
  loops(active, 2.1, 1);
  EXPECT_EQ(active.count(), 1);
  loops(active, 2.1, 1);
  EXPECT_EQ(active.count(), 1);
}

// What interrupts a machine now and then is far shorter than a window.
TEST(ActiveThreads, OneLongLoopIsNoReason) {
  ActiveThreads active(2);
  active.report(1e-4, ActiveThreads::kWindow / 3);
  loops(active, 1.1, 10);
  EXPECT_EQ(active.count(), 2);
}

TEST(ActiveThreads, MoreAreTriedAfterAWhileAndStayWhereTheyHelp) {
  ActiveThreads active(4);
  loops(active, 3, 2);
  ASSERT_EQ(active.count(), 1);
  loops(active, 1, ActiveThreads::kPatience - 1);
  EXPECT_EQ(active.count(), 1);
  loops(active, 1, 1);
  EXPECT_EQ(active.count(), 2);
  loops(active, 3, 1);  // the core is still held
  EXPECT_EQ(active.count(), 1);
  loops(active, 1, ActiveThreads::kPatience + 1);
  EXPECT_EQ(active.count(), 4);
  loops(active, 1, 100);
  EXPECT_EQ(active.count(), 4);
}

}  // namespace
}  // namespace wellspring
