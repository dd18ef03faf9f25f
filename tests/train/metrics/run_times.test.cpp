#include "train/metrics/run_times.h"

#include "tests/support/error_testing.h"
#include "train/metrics/rates.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

enum class Rows { streamed, generated, both };

InputVerdict verdict(Rows rows, const std::string& device, double wait, std::size_t windows = 6) {
  PlanReport plan;
  plan.device = device;
  plan.sources.resize(rows == Rows::both ? 2 : 1);
  plan.sources[0].streamed = rows != Rows::generated;
  plan.sources.back().computed = rows != Rows::streamed;
  return judge_waits(plan, std::vector<double>(windows, wait));
}

TEST(RunVerdict, SaysNoMoreThanTheWaitsShow) {
  const std::string gpu = "cuda:0 (NVIDIA H200)", cpu = "cpu (AMD EPYC, 2 threads)";
  EXPECT_EQ(
      verdict(Rows::streamed, cpu, 0.5).text,
      "HIGHLY input-bound: steps waited for rows in 50.0 % of their time (95 %: 50.0 to 50.0)");
  EXPECT_TRUE(verdict(Rows::both, cpu, 0.1).text.starts_with("at least MODERATELY input-bound"));
  EXPECT_EQ(verdict(Rows::both, cpu, 0.1).bound, InputBound::moderately);
  // A run measures neither the computed part of its rows nor the competition for processors.
  EXPECT_TRUE(verdict(Rows::streamed, gpu, 0.01).text.starts_with("NOT input-bound"));
  expect_parts(verdict(Rows::both, gpu, 0.01).text,
               {"INCONCLUSIVE: steps waited for rows in 1.0 %", "generation and augmentation"});
  expect_parts(verdict(Rows::streamed, cpu, 0.01).text, {"INCONCLUSIVE", "compete"});
  EXPECT_EQ(verdict(Rows::streamed, cpu, 0.01).bound, InputBound::inconclusive);
  expect_parts(verdict(Rows::generated, gpu, 0).text, {"INCONCLUSIVE: no step waits"});
  EXPECT_EQ(verdict(Rows::streamed, gpu, 0.5, 5).text,
            "INCONCLUSIVE: an interval needs 6 windows without interruptions");
}

// 10 clean steps of 8 samples take 1 s; the first 5 steps took 2 s instead of 0.5 s.
TEST(WindowTimes, FindWhatTheFirstStepsCost) {
  WindowTimes times;
  StepReport first, later;
  first.clean = false;
  first.wait = 0.9;
  later.samples_per_second = 80;
  later.wait = 0.25;
  times.add(first, 2, 5, true);
  times.add(later, 1, 10, false);
  const auto now = std::chrono::steady_clock::now();
  times.reported_since(now - std::chrono::seconds(1000));
  times.reported_since(now - std::chrono::seconds(1000));
  PlanReport plan;
  plan.batch = 8;
  plan.sources.resize(1);
  plan.sources[0].streamed = true;
  FinishReport finish;
  times.summarise(finish, plan);
  EXPECT_EQ(finish.throughput.samples_per_second, 80);
  EXPECT_DOUBLE_EQ(finish.time.first_steps, 1.5);
  EXPECT_GE(finish.time.metrics, 2000);
  EXPECT_EQ(finish.input.wait, 0.25) << "the first window must not count";
}

TEST(RunTimes, AreListedByTheirSizeAndAdded) {
  RunTime time{.total = 200, .training = 150, .start = 10, .evaluations = 40, .clocks = 1.03};
  EXPECT_EQ(time_text(time), "3:20: steps 75.0 %, evaluations 20.0 %, start 5.0 %");
  const RunTime sum = time + RunTime{.total = 100, .training = 50, .checkpoints = 50};
  EXPECT_EQ(sum.total, 300);
  EXPECT_EQ(sum.checkpoints, 50);
  EXPECT_DOUBLE_EQ(sum.clocks, (1.03 * 150 + 50) / 200);
}

TEST(WallClock, IsShownNextToTheMarksAndFlagged) {
  FinishReport finish;
  finish.throughput.samples_per_second = 1000;
  EXPECT_EQ(wall_clock_text(finish), "1.00 k");
  finish.time.clocks = 0.9;
  EXPECT_EQ(wall_clock_text(finish),
            "900 !: the host's clock and the marks on the stream disagree by 10.0 %");
}

}  // namespace
}  // namespace wellspring::test
