// The tasks of `sbi` whose distributions are known in closed form.
#include "generators/events/sbi.h"

#include "tests/generators/events/sbi_draws.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

using Draws = test::SbiDraws;

// ---- dimensions ---------------------------------------------------------------------------------

TEST(Sbi, TasksHaveTheDimensionsOfTheBenchmark) {
  const struct {
    const char* task;
    int theta, x;
  } expected[] = {{"gaussian_linear", 10, 10},
                  {"gaussian_linear_uniform", 10, 10},
                  {"gaussian_mixture", 2, 2},
                  {"two_moons", 2, 2},
                  {"slcp", 5, 8},
                  {"slcp_distractors", 5, 100},
                  {"bernoulli_glm", 10, 10},
                  {"bernoulli_glm_raw", 10, 100},
                  {"sir", 2, 10},
                  {"lotka_volterra", 4, 20}};
  for (const auto& row : expected) {
    const Draws draws(row.task, 200);
    EXPECT_EQ(draws.info.layout.latents, row.theta) << row.task;
    EXPECT_EQ(draws.info.latents.size(), static_cast<std::size_t>(row.theta));
    EXPECT_EQ(draws.info.layout.features, row.x);
    EXPECT_EQ(draws.info.features.size(), static_cast<std::size_t>(row.x));
    for (std::size_t i = 0; i < draws.count(); ++i) {
      for (std::size_t k = 0; k < draws.info.features.size(); ++k)
        ASSERT_TRUE(draws.x(i, k) >= draws.info.low && draws.x(i, k) <= draws.info.high)
            << row.task << ", x" << k << " = " << draws.x(i, k);
      for (std::size_t k = 0; k < draws.info.latents.size(); ++k) {
        ASSERT_GE(draws.theta(i, k), draws.info.latents[k].low) << row.task;
        ASSERT_LE(draws.theta(i, k), draws.info.latents[k].high) << row.task;
      }
    }
  }
  test::expect_parts(test::message_of(ErrorKind::config,
                                      [] {
                                        make_generator("sbi", 1, {{"task", "two_moon", {}}});
                                      }),
                     {"two_moon", "two_moons"});
}

// ---- two moons ----------------------------------------------------------------------------------

/// E[d | x] and Var[d | x] for d = (theta1 - theta0) / sqrt 2, summed over points of the half
/// circle: x = p - (|s|, -d), and (s, d) is uniform in |s| + |d| <= sqrt 2.
struct MoonPosterior {
  double chance = 0, mean = 0, variance = 0;

  MoonPosterior(double x0, double x1) {
    constexpr int kAngles = 60, kRadii = 13;
    double norm = 0, square = 0;
    for (int i = 0; i < kRadii; ++i) {
      const double z = (i - 6) * 0.7, r = 0.1 + 0.01 * z, weight = std::exp(-z * z / 2);
      for (int j = 0; j < kAngles; ++j) {
        const double a = std::numbers::pi * ((j + 0.5) / kAngles - 0.5);
        const double s = 0.25 + r * std::cos(a) - x0, d = x1 - r * std::sin(a);
        norm += weight;
        if (s < 0 || s + std::abs(d) > std::numbers::sqrt2) continue;
        chance += weight;
        mean += weight * d;
        square += weight * d * d;
      }
    }
    if (chance == 0) return;
    mean /= chance;
    variance = square / chance - mean * mean;
    chance /= norm;
  }
};

// Var(theta0 | x) = (E[s^2 | x] + Var(d | x)) / 2, because both signs of s = (theta0 + theta1) /
// sqrt 2 are equally likely, and E[s^2] = 1/3. p(x) = chance / 2. A grid over x with a spacing of
// 0.02 gives the mean variance, 0.0045, with an error of 0.1 %, which changes the result by 2e-6.
TEST(Sbi, TwoMoonsReportsTheBestPossibleError) {
  constexpr double kStep = 0.02;
  double sum = 0, mass = 0;
  for (double x0 = -1.4 + kStep / 2; x0 < 0.42; x0 += kStep)
    for (double x1 = kStep / 2; x1 < 1.6; x1 += kStep) {  // the other half is its mirror image
      const MoonPosterior posterior(x0, x1);
      mass += kStep * kStep * posterior.chance;
      sum += kStep * kStep * posterior.chance * posterior.variance;
    }
  EXPECT_NEAR(mass, 1, 2e-3);
  EXPECT_NEAR(std::sqrt((1.0 / 3 + sum) / 2), Sbi::kTwoMoonsRmse, 2e-5);

  // The same from samples, as the standard deviation of d from its posterior mean.
  const Draws draws("two_moons", 500, 1 << 20);
  std::vector<double> left;
  for (std::size_t i = 0; i < draws.count(); ++i) {
    const MoonPosterior posterior(draws.x(i, 0), draws.x(i, 1));
    const double d = (draws.theta(i, 1) - draws.theta(i, 0)) / std::numbers::sqrt2;
    left.push_back(std::pow(d - posterior.mean, 2) - posterior.variance);
  }
  expect_mean(left, 0, "variance of the posterior");
}

// ---- slcp ---------------------------------------------------------------------------------------

/// Normal numbers of NumPy's RandomState(42), by the polar method; each uniform number takes 53
/// bits from two words.
class NumPy42 {
 public:
  double normal() {
    if (!left_.empty()) {
      const double value = left_.back();
      left_.pop_back();
      return value;
    }
    for (;;) {
      const double x = 2 * uniform() - 1, y = 2 * uniform() - 1, r = x * x + y * y;
      if (r >= 1 || r == 0) continue;
      const double f = std::sqrt(-2 * std::log(r) / r);
      left_.push_back(f * x);
      return f * y;
    }
  }

 private:
  double uniform() {
    const double high = static_cast<double>(words_() >> 5);
    return (high * 67108864 + static_cast<double>(words_() >> 6)) / 9007199254740992;
  }
  std::mt19937 words_{42};
  std::vector<double> left_;
};

// Positions of slcp's numbers in the benchmark's first observation of slcp_distractors
// (num_observation_1 of both tasks). The numbers equal those without distractors, bit for bit.
TEST(Sbi, DistractorsLeaveTheNumbersOfSlcpUnchanged) {
  constexpr std::size_t kPlaces[8] = {22, 33, 23, 67, 42, 21, 16, 90};
  const Draws plain("slcp", 500), distracted("slcp_distractors", 500);
  for (std::size_t i = 0; i < plain.count(); ++i) {
    for (std::size_t k = 0; k < 5; ++k) ASSERT_EQ(plain.theta(i, k), distracted.theta(i, k));
    for (std::size_t k = 0; k < 8; ++k) ASSERT_EQ(plain.x(i, k), distracted.x(i, kPlaces[k]));
  }
}

// ---- bernoulli_glm ------------------------------------------------------------------------------

std::vector<double> published_stimulus() {
  NumPy42 numpy;
  std::vector<double> values(100);
  for (double& value : values) value = numpy.normal();
  return values;
}

// From sbibm's num_observation_1: the spikes in observation_raw.csv, and the sums over them in
// observation.csv, in single precision.
TEST(Sbi, StimulusMatchesTheBenchmark) {
  const std::string spikes =
      "11011111111000000111111100011101111000001111000011"
      "10001111001100011111001110000000111000111110000111";
  const double sums[9] = {3.32306,    14.356438, 11.104893, -4.167525, -18.507809,
                          -21.917496, -9.553517, -0.357257, -5.497825};
  const std::vector<double> stimulus = published_stimulus();
  for (std::size_t j = 0; j < 9; ++j) {
    double sum = 0;
    for (std::size_t t = j; t < 100; ++t) sum += spikes[t] == '1' ? stimulus[t - j] : 0;
    EXPECT_NEAR(sum, sums[j], 1e-5);
  }
}

}  // namespace
}  // namespace wellspring::test
