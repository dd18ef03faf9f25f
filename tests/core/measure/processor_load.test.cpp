#include "core/measure/processor_load.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

// Columns as in proc(5): user nice system idle iowait irq softirq steal guest guest_nice.
TEST(ParseProcessorTimes, ReadsProcStat) {
  const auto machine = parse_processor_times(
      "cpu  1000 200 300 9000 50 10 20 70 400 40\n"
      "cpu0 500 100 150 4500 25 5 10 35 200 20\n"
      "cpu1 500 100 150 4500 25 5 10 35 200 20\n"
      "intr 12345\ncpu 1\n",
      100);
  ASSERT_TRUE(machine);
  EXPECT_DOUBLE_EQ(machine->busy, 15.3);
  EXPECT_DOUBLE_EQ(machine->stolen, 0.7);
  EXPECT_EQ(machine->processors, 2);
  for (const char* other : {"", "cpu", "cpu 1 2 3\n", "cpu0 1 2 3 4 5 6 7 8\n",
                            "cpu  1 2 3 4 5 6 7 8\nintr 1\n", "cpu a b c d e f g h\ncpu0 1\n"})
    EXPECT_FALSE(parse_processor_times(other, 100)) << other;
}

TEST(LoadBetween, DividesDifferencesByTheElapsedTime) {
  ProcessorTimes begin{100, 5, ProcessorTimes::Machine{1000, 10, 4}};
  ProcessorTimes end{110, 20, ProcessorTimes::Machine{1035, 11, 4}};
  const ProcessorLoad load = load_between(begin, end);
  EXPECT_DOUBLE_EQ(load.own, 1.5);
  ASSERT_TRUE(load.machine);
  EXPECT_DOUBLE_EQ(load.machine->others, 2);
  EXPECT_DOUBLE_EQ(load.machine->stolen, 0.1);
  EXPECT_TRUE(load.busy());
  EXPECT_EQ(load.to_string(),
            "other programs used 2.00 of 4 processors, the hypervisor 0.10, this one 1.50");

  end.machine->busy = 1014.9;  // below this program's own 15 s because of rounding
  end.machine->stolen = 10;
  const ProcessorLoad quiet = load_between(begin, end);
  EXPECT_EQ(quiet.machine->others, 0);
  EXPECT_FALSE(quiet.busy());
  EXPECT_EQ(quiet.to_string(), "other programs used 0.00 of 4 processors, this one 1.50");

  end.machine.reset();
  EXPECT_FALSE(load_between(begin, end).machine);
  EXPECT_FALSE(load_between(begin, end).busy());
  EXPECT_EQ(load_between(begin, begin).own, 0);
}

TEST(ProcessorTimes, NeverDecrease) {
  const ProcessorTimes begin = processor_times(), end = processor_times();
  EXPECT_GT(begin.own, 0);
  EXPECT_GE(end.own, begin.own);
  EXPECT_GE(end.wall, begin.wall);
}

}  // namespace
}  // namespace wellspring
