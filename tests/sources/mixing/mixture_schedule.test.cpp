#include "sources/mixing/mixture_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace wellspring {
namespace {

TEST(WeightSchedule, IntegratesSharesOverTheRun) {
  // Source 0 goes from 0.8 to 0.2 over the first half, then stays; weights need not sum to 1.
  const std::vector<SchedulePoint> points = {{0, {8, 2}}, {0.5, {1, 4}}};
  const WeightSchedule schedule(points, 1000);
  EXPECT_DOUBLE_EQ(schedule.target(0, 0), 0);
  EXPECT_DOUBLE_EQ(schedule.target(0, 500), 250);
  EXPECT_DOUBLE_EQ(schedule.target(1, 500), 250);
  EXPECT_DOUBLE_EQ(schedule.target(0, 250), 0.8 * 250 - 0.5 * 0.6 / 500 * 250 * 250);
  EXPECT_DOUBLE_EQ(schedule.target(0, 1000), 350);
  EXPECT_DOUBLE_EQ(schedule.target(1, 1000), 650);
  for (const double value : {0.5, 10.0, 249.9, 250.0, 349.0}) {
    EXPECT_NEAR(schedule.target(0, schedule.reached_at(0, value)), value, 1e-9);
  }
  EXPECT_EQ(schedule.reached_at(0, 350.5), std::numeric_limits<double>::infinity());
}

TEST(WeightSchedule, HoldsBeforeTheFirstAndAfterTheLastPoint) {
  const std::vector<SchedulePoint> points = {{0.2, {1, 0}}, {0.6, {0, 1}}};
  const WeightSchedule schedule(points, 100);
  EXPECT_DOUBLE_EQ(schedule.target(0, 20), 20);
  EXPECT_DOUBLE_EQ(schedule.target(1, 20), 0);
  EXPECT_DOUBLE_EQ(schedule.target(0, 60), 40);
  EXPECT_DOUBLE_EQ(schedule.target(0, 100), 40);
  EXPECT_FALSE(schedule.active(1, 0, 20));
  EXPECT_TRUE(schedule.active(1, 19, 21));
  EXPECT_TRUE(schedule.active(0, 59, 61));
  EXPECT_FALSE(schedule.active(0, 60, 100));
}

TEST(WeightSchedule, JumpsBetweenPointsAtOnePosition) {
  const std::vector<SchedulePoint> points = {{0.5, {1, 0}}, {0.5, {0, 1}}};
  const SlotTable table = deal_slots(WeightSchedule(points, 80), 10, 8);
  for (std::uint64_t step = 0; step <= 10; ++step) {
    EXPECT_EQ(table.at(step, 0), std::min<std::int64_t>(40, 8 * static_cast<std::int64_t>(step)));
  }
}

// If each batch rounded 0.02 * 32 = 0.64 slots, every batch would have one slot: 3.1 %.
TEST(DealSlots, CarriesFractionsOfASlot) {
  const std::vector<SchedulePoint> points = {{0, {0.98, 0.02}}};
  const SlotTable table = deal_slots(WeightSchedule(points, 32 * 1000), 1000, 32);
  EXPECT_EQ(table.at(1000, 1), 640);
  EXPECT_EQ(table.at(1000, 0), 32'000 - 640);
}

TEST(DealSlots, IsExactForBatchesThatDivideEvenly) {
  const std::vector<SchedulePoint> points = {{0, {10, 5, 1}}};
  const SlotTable table = deal_slots(WeightSchedule(points, 16 * 20), 20, 16);
  for (std::uint64_t step = 0; step <= 20; ++step) {
    const auto n = static_cast<std::int64_t>(step);
    EXPECT_EQ(table.at(step, 0), 10 * n);
    EXPECT_EQ(table.at(step, 1), 5 * n);
    EXPECT_EQ(table.at(step, 2), n);
  }
}

struct Case {
  std::vector<SchedulePoint> points;
  std::int64_t batch;
  std::uint64_t steps;
};

/// A random schedule with ramps, jumps, and sources that drop to zero and return.
Case random_case(std::mt19937_64& random, bool constant) {
  const auto uniform = [&] { return std::uniform_real_distribution<>(0, 1)(random); };
  const auto choose = [&](std::vector<int> from) { return from[random() % from.size()]; };
  Case result;
  const int sources = choose({2, 2, 3, 4, 5, 8, 16});
  const int count = constant ? 1 : choose({1, 2, 3, 4, 6});
  std::vector<double> places;
  for (int p = 0; p < count; ++p) places.push_back(uniform());
  std::sort(places.begin(), places.end());
  if (random() % 2 == 0) {
    for (double& place : places) place = std::round(place * 10) / 10;
  }
  for (const double place : places) {
    SchedulePoint point{place, {}};
    for (int k = 0; k < sources; ++k) {
      point.weights.push_back(random() % 2 == 0 ? 0 : uniform() * uniform());
    }
    point.weights[random() % point.weights.size()] += 0.5;
    result.points.push_back(point);
  }
  result.batch = choose({1, 2, 3, 8, 32, 100});
  result.steps = 5 + random() % 200;
  return result;
}

void check(const Case& c) {
  const double samples = static_cast<double>(c.steps) * static_cast<double>(c.batch);
  const WeightSchedule schedule(c.points, samples);
  const SlotTable table = deal_slots(schedule, c.steps, c.batch);
  for (std::uint64_t step = 0; step < c.steps; ++step) {
    const double begin = static_cast<double>(step) * static_cast<double>(c.batch);
    const double end = begin + static_cast<double>(c.batch);
    std::int64_t dealt = 0;
    for (int k = 0; k < table.sources; ++k) {
      const std::int64_t slots = table.at(step + 1, k) - table.at(step, k);
      dealt += slots;
      ASSERT_GE(slots, 0);
      ASSERT_TRUE(slots == 0 || schedule.active(k, begin, end)) << "weight 0 must give no slot";
      ASSERT_LT(std::abs(static_cast<double>(table.at(step + 1, k)) - schedule.target(k, end)), 1)
          << "source " << k << " of " << table.sources << ", step " << step << ", batch "
          << c.batch;
    }
    ASSERT_EQ(dealt, c.batch);
  }
  ASSERT_LT(table.worst_deviation, 1);
}

TEST(DealSlots, StaysWithinOneOfTheTargetForConstantWeights) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) check(random_case(random, true));
}

TEST(DealSlots, StaysWithinOneOfTheTargetForAnySchedule) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(i);
    check(random_case(random, false));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// For constant weights of D sources, Tijdeman's bound is 1 - 1 / (2 D - 2).
TEST(DealSlots, MeetsTijdemansBound) {
  std::mt19937_64 random(3);
  for (const int sources : {2, 3, 5, 10}) {
    for (int i = 0; i < 50; ++i) {
      SchedulePoint point{0, {}};
      for (int k = 0; k < sources; ++k) {
        point.weights.push_back(std::uniform_real_distribution<>(0.01, 1)(random));
      }
      const std::vector<SchedulePoint> points = {point};
      const SlotTable table = deal_slots(WeightSchedule(points, 4000), 4000, 1);
      EXPECT_LE(table.worst_deviation, 1 - 1.0 / (2 * sources - 2) + 1e-5);
    }
  }
}

TEST(DealSlots, StaysWithinOneOfTheTargetInALongRun) {
  const std::vector<SchedulePoint> points = {
      {0, {0.8, 0.2, 0}}, {0.6, {0.5, 0.1, 0.4}}, {1, {0, 0, 1}}};
  constexpr std::uint64_t kSteps = 300'000;
  const SlotTable table = deal_slots(WeightSchedule(points, 256.0 * kSteps), kSteps, 256);
  EXPECT_LT(table.worst_deviation, 1);
}

}  // namespace
}  // namespace wellspring
