// The tasks of `sbi` whose distributions are known in closed form.
#include "generators/events/sbi.h"

#include "tests/generators/events/sbi_draws.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <array>
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

// ---- normal distributions -----------------------------------------------------------------------

// Given x, theta is N(x / 2, 0.05 I) distributed, and the residual is independent of x.
TEST(Sbi, GaussianLinearMatchesItsModelAndPosterior) {
  const Draws draws("gaussian_linear", 5000);
  std::vector<double> prior, noise, left, products;
  for (std::size_t i = 0; i < draws.count(); ++i)
    for (std::size_t k = 0; k < 10; ++k) {
      const double theta = draws.theta(i, k), x = draws.x(i, k);
      prior.push_back(theta / std::sqrt(0.1));
      noise.push_back((x - theta) / std::sqrt(0.1));
      left.push_back((theta - x / 2) / std::sqrt(0.05));
      products.push_back(left.back() * x);
    }
  expect_standard_normal(prior, "prior");
  expect_standard_normal(noise, "noise");
  expect_standard_normal(left, "posterior");
  expect_mean(products, 0, "posterior and x");
  for (int i = 0; i < 10; ++i) {
    const std::string theta = "theta" + std::to_string(i);
    EXPECT_NEAR(draws.info.best_result("rmse of " + theta).value_or(0), std::sqrt(0.05), 1e-12);
    EXPECT_NEAR(draws.info.best_result("mae of " + theta).value_or(0),
                std::sqrt(0.1 / std::numbers::pi), 1e-12);
  }
}

/// A normal distribution truncated at +-bound: cumulative distribution and mean.
struct CutOff {
  double x, sigma, bound;
  double below(double v) const { return normal_cdf((v - x) / sigma); }
  double chance() const { return below(bound) - below(-bound); }
  double cdf(double v) const { return (below(v) - below(-bound)) / chance(); }
  double mean() const {
    const auto density = [&](double v) {
      return std::exp(-0.5 * std::pow((v - x) / sigma, 2)) / std::sqrt(2 * std::numbers::pi);
    };
    return x + sigma * (density(-bound) - density(bound)) / chance();
  }
};

TEST(Sbi, GaussianLinearUniformMatchesItsModelAndPosterior) {
  const Draws draws("gaussian_linear_uniform", 5000);
  std::vector<double> prior, noise, posterior, errors;
  for (std::size_t i = 0; i < draws.count(); ++i)
    for (std::size_t k = 0; k < 10; ++k) {
      const double theta = draws.theta(i, k), x = draws.x(i, k);
      const CutOff law{x, std::sqrt(0.1), 1};
      prior.push_back((theta + 1) / 2);
      noise.push_back((x - theta) / std::sqrt(0.1));
      posterior.push_back(law.cdf(theta));
      errors.push_back(std::pow(theta - law.mean(), 2));
    }
  expect_uniform(prior, "prior");
  expect_standard_normal(noise, "noise");
  expect_uniform(posterior, "posterior");
  const double best = draws.info.best_result("rmse of theta7").value_or(0);
  expect_mean(errors, best * best, "the best possible");
}

TEST(Sbi, GaussianMixtureMatchesItsModelAndPosterior) {
  const Draws draws("gaussian_mixture", 40000);
  std::vector<double> prior, squares, together, posterior, errors;
  std::vector<double> neighbours(4);
  bool before = false;
  for (std::size_t i = 0; i < draws.count(); ++i) {
    double weight[2] = {1, 1}, mean = 0, cdf = 0;
    for (int c = 0; c < 2; ++c)
      for (std::size_t k = 0; k < 2; ++k)
        weight[c] *= CutOff{draws.x(i, k), c == 0 ? 1 : 0.1, 10}.chance();
    for (int c = 0; c < 2; ++c) {
      if (weight[c] == 0) continue;
      const CutOff law{draws.x(i, 0), c == 0 ? 1 : 0.1, 10};
      const double share = weight[c] / (weight[0] + weight[1]);
      mean += share * law.mean();
      cdf += share * law.cdf(draws.theta(i, 0));
    }
    posterior.push_back(cdf);
    errors.push_back(std::pow(draws.theta(i, 0) - mean, 2));
    const double a = draws.x(i, 0) - draws.theta(i, 0), b = draws.x(i, 1) - draws.theta(i, 1);
    prior.push_back((draws.theta(i, 1) + 10) / 20);
    squares.push_back(a * a);
    together.push_back(a * a * b * b);
    const bool wide = a * a + b * b > 0.2;  // a narrow sample exceeds 0.2 with probability 5e-5
    if (i % 2 == 1) neighbours[(before ? 2u : 0u) + (wide ? 1u : 0u)] += 1;
    before = wide;
  }
  expect_uniform(prior, "prior");
  expect_mean(squares, 0.505, "variance");
  expect_mean(together, 0.50005, "both numbers share one width");
  expect_uniform(posterior, "posterior");
  const double best = draws.info.best_result("rmse of theta0").value_or(0);
  expect_mean(errors, best * best, "the best possible");
  // A share exp(-0.1) of the wide samples and exp(-10) of the narrow ones exceeds sqrt(0.2). Each
  // sample has its own width.
  const double p = 0.5 * (std::exp(-0.1) + std::exp(-10)), n = 20000;
  EXPECT_GT(test::chi_square_p(
                neighbours, {n * (1 - p) * (1 - p), n * p * (1 - p), n * p * (1 - p), n * p * p}),
            test::kGate)
      << "widths of neighbouring samples are not independent";
}

// ---- two moons ----------------------------------------------------------------------------------

TEST(Sbi, TwoMoonsMatchesItsModel) {
  const Draws draws("two_moons", 30000);
  std::vector<double> t1, t2, radius, angle, across, along, squares, signs, side;
  for (std::size_t i = 0; i < draws.count(); ++i) {
    const double a = draws.theta(i, 0), b = draws.theta(i, 1);
    const double u = draws.x(i, 0) + std::abs(a + b) / std::numbers::sqrt2;
    const double v = draws.x(i, 1) - (b - a) / std::numbers::sqrt2;
    t1.push_back((a + 1) / 2);
    t2.push_back((b + 1) / 2);
    radius.push_back((std::hypot(u - 0.25, v) - 0.1) / 0.01);
    angle.push_back(std::atan2(v, u - 0.25) / std::numbers::pi + 0.5);
    across.push_back(u);
    along.push_back(v * v);
    squares.push_back(std::pow(u - 0.25 - 0.2 / std::numbers::pi, 2));
    // Given x, both moons are equally likely, so the sign of the sum is independent of x.
    signs.push_back(a + b > 0 ? 1 : -1);
    side.push_back(signs.back() * draws.x(i, 0));
  }
  expect_uniform(t1, "theta0");
  expect_uniform(t2, "theta1");
  expect_standard_normal(radius, "radius");
  expect_uniform(angle, "angle");
  expect_mean(across, 0.3136620, "x0 but for theta");
  expect_mean(squares, 9.9715e-4, "its variance");
  expect_mean(along, 5.05e-3, "variance of x1 but for theta");
  expect_mean(signs, 0, "which moon");
  expect_mean(side, 0, "which moon, and x0");
}

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
// 0.02 gives the mean variance, 0.0045, to a relative 1e-3, which changes the result by 2e-6.
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

  // The same from samples, as the deviation of d from its posterior mean.
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

TEST(Sbi, SlcpMatchesItsModel) {
  const Draws draws("slcp", 10000);
  std::vector<double> prior, first, second, product;
  for (std::size_t i = 0; i < draws.count(); ++i) {
    for (std::size_t k = 0; k < 5; ++k) prior.push_back((draws.theta(i, k) + 3) / 6);
    const double s1 = std::pow(draws.theta(i, 2), 2), s2 = std::pow(draws.theta(i, 3), 2);
    const double r = std::tanh(draws.theta(i, 4));
    const double a = s1 * s1 + 1e-6, b = r * s1 * s2, c = s2 * s2 + 1e-6;
    const double l11 = std::sqrt(a), l21 = b / l11, l22 = std::sqrt(c - l21 * l21);
    for (std::size_t k = 0; k < 8; k += 2) {
      const double u = draws.x(i, k) - draws.theta(i, 0), v = draws.x(i, k + 1) - draws.theta(i, 1);
      first.push_back(u / l11);
      second.push_back((v - l21 * first.back()) / l22);
      product.push_back(first.back() * second.back());
    }
  }
  expect_uniform(prior, "prior");
  expect_standard_normal(first, "first coordinate");
  expect_standard_normal(second, "second");
  expect_mean(product, 0, "their correlation");
}

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
// (num_observation_1 of both tasks). These numbers equal those without distractors, bit for bit.
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

TEST(Sbi, BernoulliGlmMatchesItsModel) {
  constexpr std::int64_t kCount = 2000;
  const Draws raw("bernoulli_glm_raw", kCount), sums("bernoulli_glm", kCount);
  const std::vector<double> stimulus = published_stimulus();
  std::vector<double> offset, filter, spikes, covariant;
  for (std::size_t i = 0; i < raw.count(); ++i) {
    std::array<double, 10> theta{}, sum{};
    for (std::size_t k = 0; k < 10; ++k) {
      ASSERT_EQ(raw.theta(i, k), sums.theta(i, k));
      theta[k] = raw.theta(i, k);
    }
    offset.push_back(theta[0] / std::sqrt(2));
    for (std::size_t k = 0; k < 9; ++k) {  // F f is standard normal
      double z = theta[1 + k] * (1 + std::sqrt(static_cast<double>(k) / 9));
      if (k > 0) z -= 2 * theta[k];
      if (k > 1) z += theta[k - 1];
      filter.push_back(z);
    }
    double excess = 0, product = 0, variance = 0, product_variance = 0;
    for (std::size_t t = 0; t < 100; ++t) {
      double psi = theta[0];
      for (std::size_t j = 0; j < 9 && j <= t; ++j) psi += theta[1 + j] * stimulus[t - j];
      const double p = 1 / (1 + std::exp(-psi)), y = raw.x(i, t);
      ASSERT_TRUE(y == 0 || y == 1);
      sum[0] += y;
      for (std::size_t j = 0; j < 9 && j <= t; ++j) sum[1 + j] += y * stimulus[t - j];
      excess += y - p;
      variance += p * (1 - p);
      product += (y - p) * stimulus[t];
      product_variance += p * (1 - p) * stimulus[t] * stimulus[t];
    }
    spikes.push_back(excess / std::sqrt(variance));
    covariant.push_back(product / std::sqrt(product_variance));
    // Partial sums of a hundred numbers stay below 100, so the error is at most 100 times 100 x
    // 2^-24.
    for (std::size_t k = 0; k < 10; ++k) ASSERT_NEAR(sums.x(i, k), sum[k], 6e-4) << k;
  }
  expect_standard_normal(offset, "offset");
  expect_standard_normal(filter, "filter");
  // Sums over a few unlikely spikes have long tails, so only their mean and variance are tested.
  for (auto* z : {&spikes, &covariant}) {
    expect_mean(*z, 0, "spikes");
    for (double& v : *z) v *= v;
    expect_mean(*z, 1, "variance of spikes");
  }
}

}  // namespace
}  // namespace wellspring::test
