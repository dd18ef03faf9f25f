#include "train/optimizer/learning_rate.h"

#include "kernels/runtime/end_step.h"
#include "tests/ops/operation_test.h"
#include "tests/train/training_testing.h"
#include "train/optimizer/gradient_clipping.h"
#include "train/step/step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace wellspring::ops::test {
namespace {

class ScheduleTest : public test::OperationTest {
 protected:
  /// Sets the factors of a step, with a network without parameters.
  void begin_step(const ScheduleSpec& schedule, const Buffer<StepState>& state) {
    const Buffer<float> partials =
        buffer(std::vector<float>(static_cast<std::size_t>(gradient_norm_partials())));
    gradient_norm(stream(), {}, schedule, 0, partials, state);
  }
  float rate_at(const ScheduleSpec& schedule, std::uint64_t step) {
    StepState state;
    state.step = step;
    const Buffer<StepState> device_state = buffer(std::vector<StepState>{state});
    begin_step(schedule, device_state);
    return device_state.values()[0].learning_rate;
  }
};

TEST_P(ScheduleTest, WarmsUpThenFollowsHalfACosine) {
  const ScheduleSpec s{2.0f, 0.5f, 10, 110};
  EXPECT_EQ(rate_at(s, 0), 0);
  EXPECT_EQ(rate_at(s, 5), 1);
  EXPECT_EQ(rate_at(s, 10), 2);
  EXPECT_FLOAT_EQ(rate_at(s, 60), 1.25f);
  EXPECT_EQ(rate_at(s, 110), 0.5f);
  EXPECT_EQ(rate_at(s, 1000000), 0.5f);
  for (std::uint64_t step = 10; step <= 110; ++step) {
    const double turned = std::numbers::pi * static_cast<double>(step - 10) / 100;
    // Four rounding errors of numbers up to 2, and the cosine's error of 2 ulps.
    EXPECT_NEAR(rate_at(s, step), 0.5 + 0.75 * (1 + std::cos(turned)), 16 * 0x1p-24) << step;
  }
}

TEST_P(ScheduleTest, StartsAtThePeakWithoutWarmUp) {
  const ScheduleSpec s{0.1f, 0, 0, 4};
  EXPECT_EQ(rate_at(s, 0), 0.1f);
  EXPECT_EQ(rate_at(s, 4), 0);
}

TEST_P(ScheduleTest, AllowsAWarmUpOfTheWholeRun) {
  const ScheduleSpec s{1, 0, 4, 4};
  EXPECT_EQ(rate_at(s, 3), 0.75f);
  EXPECT_EQ(rate_at(s, 4), 0);
}

// A linear decay; PyTorch's LinearLR(end_factor=0.1, total_iters=20) gives these values.
TEST_P(ScheduleTest, DecreasesLinearly) {
  ScheduleSpec s{1, 0.1f, 0, 20};
  s.kind = ScheduleKind::linear;
  for (const auto& [step, rate] : {std::pair{0u, 1.0}, {1u, 0.955}, {10u, 0.55}, {19u, 0.145}})
    EXPECT_NEAR(rate_at(s, step), rate, 4 * 0x1p-24) << step;  // four roundings
  EXPECT_EQ(rate_at(s, 20), 0.1f);
  s.warmup = 5;
  EXPECT_EQ(rate_at(s, 4), 0.8f);
  EXPECT_EQ(rate_at(s, 5), 1);
}

// PyTorch's MultiStepLR([10, 15], gamma=0.1) gives these values.
TEST_P(ScheduleTest, DecreasesAtMilestones) {
  ScheduleSpec s{1, 0, 0, 20};
  s.kind = ScheduleKind::step;
  s.gamma = 0.1f;
  s.milestones = 2;
  s.milestone[0] = 10;
  s.milestone[1] = 15;
  for (const auto& [step, rate] : {std::pair{0u, 1.0f},
                                   {9u, 1.0f},
                                   {10u, 0.1f},
                                   {14u, 0.1f},
                                   {15u, 0.1f * 0.1f},
                                   {99u, 0.1f * 0.1f}})
    EXPECT_EQ(rate_at(s, step), rate) << step;
}

// PyTorch's OneCycleLR(max_lr=1, total_steps=21, pct_start=6/21, final_div_factor=4) gives these
// values: its phases end one step earlier.
TEST_P(ScheduleTest, RisesAndFallsInOneCycle) {
  ScheduleSpec s{1, 0.01f, 5, 20};
  s.kind = ScheduleKind::one_cycle;
  s.start = 0.04f;
  for (const auto& [step, rate] : {std::pair{0u, 0.04},
                                   {1u, 0.131671842700025},
                                   {3u, 0.668328157299975},
                                   {5u, 1.0},
                                   {8u, 0.905463412215599},
                                   {13u, 0.453258410682512},
                                   {19u, 0.0208169376367662}})
    // Four rounding errors of numbers up to 2, and the cosine's error of 2 ulps.
    EXPECT_NEAR(rate_at(s, step), rate, 16 * 0x1p-24) << step;
  EXPECT_EQ(rate_at(s, 20), 0.01f);
}

TEST_P(ScheduleTest, StaysConstantThenCoolsDown) {
  ScheduleSpec s{2, 0.5f, 4, 100};
  s.kind = ScheduleKind::constant;
  EXPECT_EQ(rate_at(s, 2), 1);
  EXPECT_EQ(rate_at(s, 99), 2);
  EXPECT_EQ(rate_at(s, 1000), 2);
  s.cooldown = 20;
  EXPECT_EQ(rate_at(s, 80), 2);
  EXPECT_EQ(rate_at(s, 90), 1.25f);
  EXPECT_EQ(rate_at(s, 100), 0.5f);
}

TEST(Schedules, AreEqualUpToTheFirstStepThatDiffers) {
  ScheduleSpec a{1, 0, 4, 100}, b{1, 0, 4, 200};
  a.kind = b.kind = ScheduleKind::constant;
  EXPECT_TRUE(same_rates(a, b, 100));
  a.cooldown = b.cooldown = 20;
  EXPECT_TRUE(same_rates(a, b, 81));  // step 80 has the peak
  EXPECT_FALSE(same_rates(a, b, 82));
  a.kind = b.kind = ScheduleKind::cosine;
  EXPECT_TRUE(same_rates(a, b, 5));
  EXPECT_FALSE(same_rates(a, b, 6));
}

TEST_P(ScheduleTest, IsExactForStepsBeyondThePrecisionOfFloats) {
  const ScheduleSpec s{1, 0, std::uint64_t{1} << 40, std::uint64_t{1} << 41};
  EXPECT_EQ(rate_at(s, std::uint64_t{1} << 39), 0.5f);
  EXPECT_EQ(rate_at(s, std::uint64_t{1} << 40), 1);
}

TEST_P(ScheduleTest, CorrectsTheBiasOfTheMoments) {
  ScheduleSpec schedule;
  schedule.beta1 = 0.9f;
  schedule.beta2 = 0.999f;
  for (const std::uint64_t step : {0u, 1u, 999u, 1u << 20}) {
    const Buffer<StepState> state = buffer(std::vector<StepState>{{.step = step}});
    begin_step(schedule, state);
    const auto exact = [&](float beta) {
      return 1 / (1 - std::pow(static_cast<double>(beta), static_cast<double>(step + 1)));
    };
    // Rounded to float once.
    EXPECT_NEAR(state.values()[0].correction1, exact(0.9f), 0x1p-24 * exact(0.9f)) << step;
    EXPECT_NEAR(state.values()[0].correction2, exact(0.999f), 0x1p-24 * exact(0.999f)) << step;
  }
}

TEST_P(ScheduleTest, CountsStepsIn64Bits) {
  StepState state;
  state.step = 0xffffffffu;  // 32 bits would overflow
  const Buffer<StepState> device_state = buffer(std::vector<StepState>{state});
  end_step(stream(), device_state);
  EXPECT_EQ(device_state.values()[0].step, 0x100000000u);
}

WS_ON_EVERY_BACKEND(ScheduleTest);

TEST(ScheduleOfARun, RoundsTheWarmUpToWholeSteps) {
  const auto warmup = [](const char* share) {
    return learning_rate_schedule(wellspring::test::small_run("unused", {share, "train.steps=100"}))
        .warmup;
  };
  EXPECT_EQ(warmup("optimizer.warmup=0.29"), 29u);  // 0.29 * 100 is below 29 in double precision
  EXPECT_EQ(warmup("optimizer.warmup=0.106"), 11u);
  EXPECT_EQ(warmup("optimizer.warmup=0.104"), 10u);
}

}  // namespace
}  // namespace wellspring::ops::test
