// Marks of a run. Sleeps are only compared with each other, with a factor of four to spare.
#include "train/step/run_marks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace wellspring::test {
namespace {

constexpr auto kNone = std::chrono::milliseconds(0), kLong = std::chrono::milliseconds(200);

void run(WaitMarks& marks, Stream& stream, std::uint64_t launch, std::chrono::milliseconds wait,
         std::chrono::milliseconds step) {
  marks.begin(stream, launch);
  std::this_thread::sleep_for(wait);
  marks.ready(stream);
  std::this_thread::sleep_for(step);
  marks.end(stream);
}

TEST(WaitMarks, GiveTheShareOfTheWaits) {
  Stream stream(Device::cpu());
  WaitMarks marks(stream.device(), 4);
  EXPECT_FALSE(marks.share());
  run(marks, stream, 0, kLong, kNone);
  EXPECT_GT(marks.share().value(), 0.2);
  EXPECT_LE(marks.share().value(), 1);
  marks.clear();
  EXPECT_FALSE(marks.share());
  run(marks, stream, 0, kNone, kLong);
  EXPECT_LT(marks.share().value(), 0.8);
}

TEST(WaitMarks, SampleEverySeventhLaunchAndSpreadOverLongWindows) {
  Stream stream(Device::cpu());
  WaitMarks marks(stream.device(), 4);
  for (std::uint64_t launch = 1; launch < 7; ++launch) run(marks, stream, launch, kNone, kNone);
  EXPECT_FALSE(marks.share());
  run(marks, stream, 7, kNone, kNone);
  EXPECT_TRUE(marks.share());
  // 160 launches and 16 marks: every eleventh.
  WaitMarks sparse(stream.device(), 160);
  run(sparse, stream, 7, kNone, kNone);
  EXPECT_FALSE(sparse.share());
  run(sparse, stream, 11, kNone, kNone);
  EXPECT_TRUE(sparse.share());
  for (std::uint64_t launch = 0; launch < 1000; ++launch) run(sparse, stream, launch, kNone, kNone);
}

TEST(WaitMarks, CountALaunchThatBeginsTwiceOnce) {
  Stream stream(Device::cpu());
  WaitMarks marks(stream.device(), 4);
  marks.begin(stream, 0);
  std::this_thread::sleep_for(kLong);
  run(marks, stream, 0, kNone, kLong);
  EXPECT_LT(marks.share().value(), 0.8) << "the first begin must not count";
}

TEST(TwoClocks, CountOnlyBetweenBeginAndEnd) {
  Stream stream(Device::cpu());
  TwoClocks clocks(stream.device());
  EXPECT_EQ(clocks.ratio(), 1);
  clocks.end(stream);
  EXPECT_EQ(clocks.ratio(), 1) << "nothing has begun";
  clocks.begin(stream);
  std::this_thread::sleep_for(kLong);
  clocks.begin(stream);  // other work has ended
  std::this_thread::sleep_for(kLong);
  clocks.end(stream);
  std::this_thread::sleep_for(kLong);
  clocks.end(stream);
  // On the CPU both are the host's clock; the two readings are a few instructions apart.
  EXPECT_NEAR(clocks.ratio(), 1, 0.5);
}

}  // namespace
}  // namespace wellspring::test
