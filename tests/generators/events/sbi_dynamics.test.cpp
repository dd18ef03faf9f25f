// The tasks of `sbi` that integrate equations of motion.
#include "generators/events/sbi.h"
#include "tests/generators/events/sbi_draws.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace wellspring::test {
namespace {

using Draws = test::SbiDraws;

// Compares with the cumulative distribution computed from log-gamma functions: u must be between
// its values just below and at the drawn number. The tolerance of 1e-9 is far above the rounding
// error of both.
TEST(Sbi, BinomialInvertsTheCumulativeDistribution) {
  constexpr int kN = 1000;
  for (const double p : {1e-6, 1e-3, 0.02, 0.3, 0.5, 0.500001, 0.9, 0.9999}) {
    std::vector<double> cdf(kN + 2);
    for (int k = 0; k <= kN; ++k)
      cdf[static_cast<std::size_t>(k) + 1] =
          cdf[static_cast<std::size_t>(k)] +
          std::exp(std::lgamma(kN + 1) - std::lgamma(k + 1) - std::lgamma(kN - k + 1) +
                   k * std::log(p) + (kN - k) * std::log1p(-p));
    for (int i = 0; i < 500; ++i) {
      const double u = (i + 0.5) / 500;
      const int k = sbi::binomial(kN, p, u);
      const double level = p > 0.5 ? 1 - u : u;  // mirrored: a larger u gives a smaller number
      EXPECT_LE(cdf[static_cast<std::size_t>(k)], level + 1e-9) << p << ", u " << u;
      EXPECT_GE(cdf[static_cast<std::size_t>(k) + 1], level - 1e-9) << p << ", u " << u;
    }
    EXPECT_LE(sbi::binomial(kN, p, sbi::unit_double(~0u, ~0u)), kN);
  }
  EXPECT_EQ(sbi::binomial(kN, 0, 0.999), 0);
  EXPECT_EQ(sbi::binomial(kN, 1, 0.999), kN);
  EXPECT_EQ(sbi::unit_double(~0u, ~0u), 1 - 0x1p-53);
  EXPECT_EQ(sbi::unit_double(0, 64), 0x1p-53);
}

/// Infected shares every 17 days, integrated with `steps` steps per day.
template <class T>
std::array<double, 10> epidemic(double beta, double gamma, int steps) {
  const SusceptibleInfectedRemoved<T> rates{static_cast<T>(beta), static_cast<T>(gamma)};
  OdeState<T, 3> u{{static_cast<T>(1 - 1e-6), static_cast<T>(1e-6), 0}};
  std::array<double, 10> shares{};
  for (std::size_t k = 0; k < 10; ++k) {
    for (int step = 0; k > 0 && step < 17 * steps; ++step)
      rk4_step(rates, 1 / static_cast<T>(steps), u);
    shares[k] = u.v[1];
  }
  return shares;
}

// Compares with high-precision values for beta = 0.4 and gamma = 0.125. Over the prior, compares
// the generator's floats and steps with doubles and a fifth of the step. Errors are below 1e-3 of
// sqrt(1000 p), the scatter of the number of infected among 1000 tested people.
TEST(Sbi, IntegratesEpidemicsPrecisely) {
  const double known[10] = {1,         107.2088,  11225.309, 307012.69, 128837.77,
                            23296.059, 3894.4606, 643.64616, 106.18058, 17.511010};
  const auto fine = epidemic<double>(0.4, 0.125, 50), made = epidemic<float>(0.4, 0.125, 10);
  for (std::size_t k = 0; k < 10; ++k) {
    EXPECT_NEAR(fine[k] * 1e6 / known[k], 1, 1e-6);
    EXPECT_NEAR(made[k] * 1e6 / known[k], 1, 1e-4);
  }
  const Draws draws("sir", 2000);
  std::vector<double> beta, gamma, pull;
  double worst = 0;
  for (std::size_t i = 0; i < draws.count(); ++i) {
    beta.push_back(std::log(draws.theta(i, 0) / 0.4) / 0.5);
    gamma.push_back(std::log(draws.theta(i, 1) / 0.125) / 0.2);
    const auto floats = epidemic<float>(draws.theta(i, 0), draws.theta(i, 1), 10);
    if (i < 150) {
      const auto shares = epidemic<double>(draws.theta(i, 0), draws.theta(i, 1), 50);
      for (std::size_t k = 0; k < 10; ++k)
        worst = std::max(worst, std::abs(floats[k] - shares[k]) / std::sqrt(shares[k] / 1000));
    }
    for (std::size_t k = 0; k < 10; ++k) {
      const double p = floats[k];
      if (p < 0.01) continue;
      pull.push_back((draws.x(i, k) - 1000 * p) / std::sqrt(1000 * p * (1 - p)));
    }
  }
  EXPECT_LT(worst, 1e-3);
  expect_standard_normal(beta, "beta");
  expect_standard_normal(gamma, "gamma");
  expect_standard_normal(pull, "tests");
}

/// Logarithms of prey and predators every 2.1 days, with `steps` steps in between.
template <class T>
std::array<double, 20> populations(const std::array<double, 4>& theta, int steps) {
  const LotkaVolterra<T> rates{static_cast<T>(theta[0]), static_cast<T>(theta[1]),
                               static_cast<T>(theta[2]), static_cast<T>(theta[3])};
  OdeState<T, 2> u{{30, 1}};
  std::array<double, 20> logs{};
  for (std::size_t k = 0; k < 10; ++k) {
    for (int step = 0; k > 0 && step < steps; ++step)
      rk4_step(rates, T(2.1) / static_cast<T>(steps), u);
    for (std::size_t c = 0; c < 2; ++c)
      logs[10 * c + k] = std::log(std::clamp<double>(u.v[c], 1e-10, 1e4));
  }
  return logs;
}

// Compares with high-precision values at the prior's medians, and compares the generator's floats
// and steps with doubles and a quarter of the step. Errors are at most a hundredth of the noise
// (0.1) in 99 of 100 samples, and at most a tenth in all.
TEST(Sbi, IntegratesPopulationsPrecisely) {
  const std::array<double, 4> median = {std::exp(-0.125), std::exp(-3.0), std::exp(-0.125),
                                        std::exp(-3.0)};
  const double known[2][3] = {{30, 37.33991, 0.86505}, {1, 73.77760, 22.33828}};
  const auto fine = populations<double>(median, 1680);
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(fine[10 * c + k], std::log(known[c][k]), 1e-5 / known[c][k]);

  const Draws draws("lotka_volterra", 1500);
  std::vector<double> prior, noise, errors;
  for (std::size_t i = 0; i < draws.count(); ++i) {
    std::array<double, 4> theta{};
    for (std::size_t k = 0; k < 4; ++k) {
      theta[k] = draws.theta(i, k);
      prior.push_back((std::log(theta[k]) - (k % 2 == 0 ? -0.125 : -3)) / 0.5);
    }
    const auto made = populations<float>(theta, 210);
    for (std::size_t k = 0; k < 20; ++k) noise.push_back((std::log(draws.x(i, k)) - made[k]) / 0.1);
    if (i >= 100) continue;
    const auto exact = populations<double>(theta, 840);
    double worst = 0;
    for (std::size_t k = 0; k < 20; ++k) worst = std::max(worst, std::abs(made[k] - exact[k]));
    errors.push_back(worst);
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors[errors.size() * 99 / 100 - 1], 1e-3);
  EXPECT_LT(errors.back(), 1e-2);
  expect_standard_normal(prior, "prior");
  expect_standard_normal(noise, "noise");
}

}  // namespace
}  // namespace wellspring::test
