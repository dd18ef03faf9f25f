// Planted bottlenecks on simulated times: the diagnosis must find the plant.
#include "measure/diagnosis.h"

#include "core/measure/clocks.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

enum class Overlap { with_the_step, none };

/// A simulated training step: times in milliseconds.
struct Plant {
  std::string name;
  double decoding = 0, reading = 0;
  Overlap overlap = Overlap::with_the_step;
  double noise = 0.02;  ///< standard deviation of the logarithm of a window's time
  InputBound expected = InputBound::not_bound;
  std::set<std::string> causes = {};
  bool tipping_point = false;

  static constexpr double kCompute = 10;
  double step(double data) const {
    return overlap == Overlap::none ? kCompute + data : std::max(kCompute, data);
  }
};

constexpr double kBatch = 128;

/// Takes simulated time: a window's noise, and a drift of the whole machine by 30 %.
class Simulation {
 public:
  Simulation(const Plant& plant, std::uint64_t seed) : plant_(plant), random_(seed) {}

  Diagnosis diagnosis() {
    const std::vector<Rung> rungs = {
        rung("resident batches", "", plant_.step(0)),
        rung("encoded in memory", "decoding", plant_.step(plant_.decoding)),
        rung("as configured", "reading", plant_.step(plant_.decoding + plant_.reading)),
        alone(rung("data alone", "", std::max(0.01, plant_.decoding + plant_.reading)))};
    LadderLimits limits;
    limits.seconds = 20;
    limits.clock = [this] { return now_; };
    return diagnose(measure_ladder(rungs, limits));
  }

 private:
  static Rung alone(Rung rung) {
    rung.apart = true;
    return rung;
  }
  Rung rung(const char* name, const char* stage, double milliseconds) {
    return {.name = name, .stage = stage, .samples = kBatch, .run = [this, milliseconds](auto n) {
              const double drift = 1 + 0.3 * std::sin(now_ / 5);
              const double step =
                  1e-3 * milliseconds * drift * std::exp(plant_.noise * normal_(random_));
              StepTimes times;
              times.steps.assign(static_cast<std::size_t>(n), step);
              times.waits.assign(times.steps.size(), 0);
              times.wall = step * static_cast<double>(n);
              now_ += times.wall;
              return times;
            }};
  }

  Plant plant_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  double now_ = 0;
};

class PlantedBottleneck : public testing::TestWithParam<Plant> {};

TEST_P(PlantedBottleneck, IsFound) {
  const Plant& plant = GetParam();
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Diagnosis diagnosis = Simulation(plant, seed).diagnosis();
    std::set<std::string> causes;
    for (const Cause& cause : diagnosis.causes)
      if (cause.confirmed) causes.insert(cause.stage);
    found += diagnosis.bound == plant.expected && causes == plant.causes &&
             diagnosis.tipping_point == plant.tipping_point;
  }
  EXPECT_GE(found, 38);
}

constexpr double kPerSample = 0.2;                         // ms
constexpr double kThrottled = kBatch * 20e3 / 50e6 * 1e3;  // 20 kB at 50 MB/s, ms
constexpr auto kSerial = Overlap::none;
constexpr auto kOverlaps = Overlap::with_the_step;

INSTANTIATE_TEST_SUITE_P(
    Each, PlantedBottleneck,
    testing::Values(
        Plant{"SlowPerBatch", 0, 30, kOverlaps, 0.02, InputBound::highly, {"reading"}},
        Plant{"SlowPerSample",
              kBatch* kPerSample,
              0,
              kOverlaps,
              0.02,
              InputBound::highly,
              {"decoding"}},
        Plant{"ThrottledReader", 4, kThrottled, kOverlaps, 0.02, InputBound::highly, {"reading"}},
        Plant{"SpinningDecoder", 6, 0.1, kSerial, 0.02, InputBound::highly, {"decoding"}},
        Plant{"OneCore", 1.2, 0.2, kSerial, 0.02, InputBound::moderately, {"decoding"}},
        Plant{"None", 0.5, 0.5},
        Plant{"NoiseOnly", 0.5, 0.5, kOverlaps, 0.5, InputBound::inconclusive},
        // Rates of 100, 70 and 40 steps/s.
        Plant{"TwoEqual",
              1e3 / 70,
              1e3 / 40 - 1e3 / 70,
              kOverlaps,
              0.02,
              InputBound::highly,
              {"decoding", "reading"}},
        Plant{"TippingPoint", 5, 4.5, kOverlaps, 0.02, InputBound::not_bound, {}, true}),
    [](const auto& test) { return test.param.name; });

/// A ladder without noise.
Ladder ladder_of(const std::vector<std::pair<std::string, double>>& stages) {
  Ladder ladder;
  for (const auto& [stage, rate] : stages) {
    RungResult& rung = ladder.rungs.emplace_back();
    rung.name = rung.stage = stage;
    rung.rates.assign(kFewestForInterval, rate);
    rung.rate = rate;
  }
  return ladder;
}

// Steps/s of the published ladder of cached stages.
TEST(Diagnosis, NamesTheTransformFirstAndRawLoadingSecondInThePublishedLadder) {
  const Diagnosis diagnosis = diagnose(ladder_of({{"cached on the device", 3.45},
                                                  {"copy", 3.33},
                                                  {"collation", 3.23},
                                                  {"transform", 1.72},
                                                  {"raw loading", 0.89}}));
  EXPECT_EQ(diagnosis.bound, InputBound::highly);
  EXPECT_NEAR(diagnosis.speed_up, 3.45 / 0.89, 1e-9);
  ASSERT_EQ(diagnosis.causes.size(), 2u);
  EXPECT_EQ(diagnosis.causes[0].stage, "transform");
  EXPECT_EQ(diagnosis.causes[1].stage, "raw loading");
  EXPECT_NEAR(diagnosis.causes[1].gain, 1.72 / 0.89, 1e-9);
}

TEST(Diagnosis, UsesTheLimitsOfTensorFlowsProfiler) {
  const auto bound = [](double rate) {
    return diagnose(ladder_of({{"ceiling", 100}, {"data", rate}})).bound;
  };
  EXPECT_EQ(bound(95.1), InputBound::not_bound);
  EXPECT_EQ(bound(94.9), InputBound::moderately);
  EXPECT_EQ(bound(80.1), InputBound::moderately);
  EXPECT_EQ(bound(79.9), InputBound::highly);
}

TEST(Diagnosis, DoesNotConfirmACauseThatTheDataPathAloneDoesNotShow) {
  Ladder ladder = ladder_of({{"ceiling", 100}, {"decoding", 50}, {"data alone", 1000}});
  ladder.rungs.back().apart = true;
  const Diagnosis diagnosis = diagnose(ladder);
  ASSERT_EQ(diagnosis.causes.size(), 1u);
  EXPECT_FALSE(diagnosis.causes[0].confirmed);
}

Counterfactual tried(std::vector<std::string> stages, double gain) {
  return {"", std::move(stages), gain, Interval{0.99 * gain, 1.01 * gain}};
}

// A cause is named only if less of its work helps. `alone`: what the data path alone has said before.
TEST(Counterfactuals, ConfirmOrRefuteCauses) {
  struct Case {
    std::string stage;
    std::vector<Counterfactual> tried;
    bool alone, confirmed;
  };
  Counterfactual few = tried({"decoding"}, 2);
  few.interval.reset();
  for (const Case& one : std::vector<Case>{
           {"decoding", {tried({"decoding"}, 1.3)}, true, true},
           {"decoding", {tried({"decoding"}, 1.3)}, false, true},
           {"decoding", {tried({"decoding"}, 1.01)}, true, false},
           {"decoding", {tried({"decoding"}, 0.9), tried({"decoding"}, 1.2)}, true, true},
           {"decoding", {tried({"reading files"}, 1.3)}, true, true},
           {"decoding", {tried({"reading files"}, 1.3)}, false, false},
           {"decoding", {few}, true, true},
           {"copying", {tried({"decoding", "reading files"}, 1.0)}, true, true},
           // Copying has no counterfactual, so decoding alone cannot refute both.
           {"copying, decoding", {tried({"decoding"}, 1.0)}, true, true},
           {"decoding, reading files", {tried({"decoding", "reading files"}, 1.0)}, true, false},
           {"generation and augmentation", {tried({"augmentation"}, 1.0)}, true, true},
           {"augmentation", {tried({"augmentation"}, 1.0)}, true, false}}) {
    std::vector<Cause> causes = {{one.stage, 0.5, {0.4, 0.6}, 2, false, one.alone}};
    confirm(causes, one.tried);
    EXPECT_EQ(causes[0].confirmed, one.confirmed) << one.stage << " " << one.tried[0].gain;
  }
}

TEST(Counterfactuals, KnowTheStagesOfACause) {
  Cause cause;
  cause.stage = "generation and augmentation, copying";
  EXPECT_EQ(stages_of(cause.stage),
            (std::vector<std::string>{"generation", "augmentation", "copying"}));
  cause.stage = "reading files";
  EXPECT_EQ(stages_of(cause.stage), std::vector<std::string>{"reading files"});
}

TEST(Diagnosis, SaysBetweenWhichVerdictsItIsOpen) {
  Diagnosis open;
  EXPECT_EQ(verdict_text(open), "INCONCLUSIVE: an interval needs 6 turns");
  open.lost_interval = Interval{0.01, 0.07};
  EXPECT_EQ(verdict_text(open), "INCONCLUSIVE: between not and moderately input-bound");
}

/// A step takes a second.
Rung slow_rung() {
  return {.name = "a", .run = [](auto n) {
            return StepTimes{std::vector<double>(static_cast<std::size_t>(n), 1),
                             std::vector<double>(static_cast<std::size_t>(n), 0), 1};
          }};
}

TEST(Ladder, RefusesATimeLimitThatTheWarmUpExceeds) {
  double now = 0;
  LadderLimits limits;
  limits.seconds = 0.5;
  limits.clock = [&] { return now += 1; };
  const Rung rung = slow_rung();
  expect_parts(message_of(ErrorKind::config,
                          [&] {
                            measure_ladder({rung, rung}, limits);
                          }),
               {"time limit of 500 ms", "before the first turn", "1 of 2 rungs", "--seconds"});
}

TEST(Ladder, MeasuresATurnAfterTheTimeLimitIfAsked) {
  double now = 0;
  LadderLimits limits;
  limits.seconds = 0.5;
  limits.clock = [&] { return now += 1; };
  limits.at_least_one_turn = true;
  const Rung rung = slow_rung();
  const Ladder ladder = measure_ladder({rung, rung}, limits);
  EXPECT_EQ(ladder.turns(), 1);
  EXPECT_FALSE(ladder.configured().interval);
}

// The first step of each call takes half the time, as with a batch that was loaded ahead.
TEST(Ladder, WarmsUpALoaderWhoseFirstBatchesAreReady) {
  LadderLimits limits;
  limits.seconds = 1e-9;
  limits.at_least_one_turn = true;
  int calls = 0;
  const Rung rung{.name = "a", .run = [&](auto n) {
                    ++calls;
                    std::vector<double> times(static_cast<std::size_t>(n), 0.05);
                    times.front() = 0.025;
                    return StepTimes{times, std::vector<double>(times.size(), 0), 1};
                  }};
  measure_ladder({rung}, limits);
  EXPECT_LE(calls, 5);
}

TEST(Ladder, FlagsClocksThatDisagree) {
  const auto clocks = [](double wall) {
    const Rung rung{.name = "a", .run = [wall](auto n) {
                      return StepTimes{std::vector<double>(static_cast<std::size_t>(n), 1),
                                       std::vector<double>(static_cast<std::size_t>(n), 0.25),
                                       wall * static_cast<double>(n)};
                    }};
    const Ladder ladder = measure_ladder({rung});
    EXPECT_TRUE(ladder.tight);
    EXPECT_DOUBLE_EQ(ladder.rungs[0].wait, 0.25);
    return clocks_disagree(ladder.rungs[0].clocks);
  };
  EXPECT_FALSE(clocks(1.019));
  EXPECT_TRUE(clocks(1.03));
}

TEST(Ladder, NamesTheBusyShareOfItsDevice) {
  const auto busy = [](double threads, double processor) {
    const Rung rung{.name = "a", .processors = threads, .run = [processor](auto n) {
                      const auto count = static_cast<double>(n);
                      return StepTimes{std::vector<double>(static_cast<std::size_t>(n), 1),
                                       std::vector<double>(static_cast<std::size_t>(n), 0.25),
                                       1.25 * count, processor * count};
                    }};
    return measure_ladder({rung}).rungs[0].busy;
  };
  EXPECT_DOUBLE_EQ(busy(4, 3).value(), 3 / (4 * 1.25)) << "processor time per wall time and thread";
  EXPECT_DOUBLE_EQ(busy(0, 3).value(), 0.75) << "a GPU: all but the waits";
  EXPECT_FALSE(busy(4, 0)) << "unknown";
}

TEST(Ladder, ComparesSamplesPerSecondWithTheFirstRung) {
  const auto run = [](auto n) {
    const std::vector<double> each(static_cast<std::size_t>(n), 0.5);
    return StepTimes{each, each, 0.5 * static_cast<double>(n)};
  };
  const Ladder ladder = measure_ladder(
      {Rung{.name = "a", .samples = 4, .run = run}, Rung{.name = "b", .samples = 8, .run = run}});
  EXPECT_DOUBLE_EQ(ladder.rungs[1].share, 2);
  EXPECT_DOUBLE_EQ(ladder.rungs[1].samples_per_second(), 16);
}

TEST(Quantile, IsTheNearestRank) {
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0.99), 4);
  EXPECT_EQ(quantile({7}, 0.5), 7);
}

}  // namespace
}  // namespace wellspring::test
