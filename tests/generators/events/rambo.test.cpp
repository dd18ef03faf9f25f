#include "generators/events/rambo.h"

#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <vector>

namespace wellspring {
namespace {

using FourVector = std::array<double, 4>;  // E, px, py, pz

struct Events {
  std::vector<std::vector<FourVector>> bodies;
  std::vector<double> weight;
};

Events make(const std::vector<ParamSetting>& settings, std::uint64_t count) {
  const auto generator = make_generator("rambo", 1, settings);
  const auto samples = test::collect(*generator, {11, 0, count});
  Events events;
  for (std::size_t row = 0; row < samples.count(); ++row) {
    std::vector<FourVector> bodies(static_cast<std::size_t>(samples.latent(row, 1)));
    for (std::size_t i = 0; i < 4 * bodies.size(); ++i)
      bodies[i / 4][i % 4] = double{samples.image(row)[i]};
    events.bodies.push_back(bodies);
    events.weight.push_back(samples.weight[row]);
  }
  return events;
}

double square(const FourVector& p) {
  return p[0] * p[0] - p[1] * p[1] - p[2] * p[2] - p[3] * p[3];
}
FourVector sum(const FourVector& a, const FourVector& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]};
}
double momentum(const FourVector& p) {
  return std::sqrt(p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
}

// Momenta are doubles rounded to floats, each off by at most 2^-25 of the energy, so the sum over
// eight bodies is off by at most 2^-22.
TEST(Rambo, ConservesFourMomentum) {
  for (const std::vector<double>& masses :
       {std::vector<double>{}, {100, 100}, {0, 173, 80}, {50, 0, 0, 5, 100, 1, 2, 3}, {494}}) {
    const int bodies = std::max<int>(2, static_cast<int>(masses.size()));
    std::string list = "[";
    for (const double mass : masses) list += (list.size() > 1 ? ", " : "") + std::to_string(mass);
    const Events events = make({{"bodies_low", std::to_string(bodies), {}},
                                {"bodies_high", masses.empty() ? "8" : std::to_string(bodies), {}},
                                {"masses", list + "]", {}}},
                               500);
    for (const auto& event : events.bodies) {
      FourVector total{};
      for (std::size_t i = 0; i < event.size(); ++i) {
        total = sum(total, event[i]);
        const double mass = i < masses.size() ? masses[i] : 0;
        ASSERT_NEAR(event[i][0], std::hypot(mass, momentum(event[i])), std::ldexp(500.0, -22));
      }
      ASSERT_NEAR(total[0], 500, std::ldexp(500.0, -22));
      for (int i = 1; i < 4; ++i) ASSERT_NEAR(total[i], 0, std::ldexp(500.0, -22));
    }
  }
}

/// Cumulative distribution of Beta(a, b) for integers: the probability of at least a successes in a
/// + b - 1 trials.
double beta_cdf(int a, int b, double x) {
  const int trials = a + b - 1;
  double sum = 0, ways = 1;
  for (int k = 0; k <= trials; ++k) {
    if (k >= a) sum += ways * std::pow(x, k) * std::pow(1 - x, trials - k);
    ways *= static_cast<double>(trials - k) / (k + 1);
  }
  return sum;
}

// Fractions 2 E / w follow Beta(2, n - 2), directions are uniform, and s_ij / w^2 of two bodies has
// the moments k! (k + 1)! (n - 1)! (n - 2)! / ((n + k - 1)! (n + k - 2)!), which for n = 3 are
// the moments of Beta(1, 2). There are 32 tests at a significance of 10^-6, so 1 in 30,000 new
// seeds fails by chance.
TEST(Rambo, MasslessBodiesFollowPhaseSpace) {
  constexpr std::uint64_t kEvents = 8000;
  for (const int n : {3, 4, 7}) {
    const Events events = make(
        {{"bodies_low", std::to_string(n), {}}, {"bodies_high", std::to_string(n), {}}}, kEvents);
    for (const std::size_t i : {std::size_t{0}, static_cast<std::size_t>(n - 1)}) {
      std::vector<double> fractions, cosines, angles, pairs;
      for (const auto& event : events.bodies) {
        const FourVector& p = event[i];
        fractions.push_back(p[0] / 250);
        cosines.push_back(p[3] / momentum(p));
        angles.push_back(std::atan2(p[2], p[1]));
        pairs.push_back(square(sum(p, event[1])) / 250000);
      }
      EXPECT_GT(test::kolmogorov_p(fractions, [n](double x) { return beta_cdf(2, n - 2, x); }),
                test::kGate)
          << n;
      EXPECT_GT(test::kolmogorov_p(cosines, [](double c) { return 0.5 * (1 + c); }), test::kGate);
      EXPECT_GT(
          test::kolmogorov_p(angles, [](double a) { return 0.5 + 0.5 * a / std::numbers::pi; }),
          test::kGate);
      if (n == 3) {
        EXPECT_GT(test::kolmogorov_p(pairs, [](double y) { return beta_cdf(1, 2, y); }),
                  test::kGate);
      }
      const auto moment = [n](int k) {
        double value = std::tgamma(k + 1) * std::tgamma(k + 2);
        for (int j = 0; j < k; ++j) value /= (n + j) * (n - 1 + j);
        return value;
      };
      for (const int k : {1, 2}) {
        double mean = 0;
        for (const double y : pairs) mean += std::pow(y, k) / static_cast<double>(kEvents);
        const double error =
            std::sqrt((moment(2 * k) - moment(k) * moment(k)) / static_cast<double>(kEvents));
        EXPECT_GT(test::normal_p((mean - moment(k)) / error), test::kGate) << n << ", k " << k;
      }
    }
  }
}

double kallen(double a, double b, double c) {
  return a * a + b * b + c * c - 2 * (a * b + a * c + b * c);
}
/// Density of s_12 of three bodies, up to a constant factor.
double dalitz(double s, double s12, double m1, double m2, double m3) {
  return std::sqrt(std::max(0.0, kallen(s, s12, m3 * m3)) *
                   std::max(0.0, kallen(s12, m1 * m1, m2 * m2))) /
         s12;
}
TEST(Rambo, UnweightedEventsFillTheDalitzPlotUniformly) {
  const double w = 1.86966, k = 0.493677, pi = 0.13957, s = w * w;
  const double low = std::pow(k + pi, 2), high = std::pow(w - pi, 2);
  // The cumulative distribution of s_12, tabulated.
  constexpr std::size_t kSteps = 2000;
  std::vector<double> cdf(kSteps + 1);
  for (std::size_t i = 0; i < kSteps; ++i)
    cdf[i + 1] =
        cdf[i] + dalitz(s, low + (high - low) * (static_cast<double>(i) + 0.5) / kSteps, k, pi, pi);
  const Events events = make({{"preset", "d_to_k_pi_pi", {}}}, 10000);
  std::vector<double> pairs;
  for (std::size_t i = 0; i < events.bodies.size(); ++i) {
    ASSERT_EQ(events.weight[i], 1);
    pairs.push_back(square(sum(events.bodies[i][0], events.bodies[i][1])));
  }
  EXPECT_GT(test::kolmogorov_p(
                pairs,
                [&](double s12) {
                  const double at = std::clamp((s12 - low) / (high - low), 0.0, 1.0) * kSteps;
                  const auto i = std::min(static_cast<std::size_t>(at), kSteps - 1);
                  return std::lerp(cdf[i], cdf[i + 1], at - static_cast<double>(i)) / cdf[kSteps];
                }),
            test::kGate);
}

TEST(Rambo, RefusesImpossibleParameters) {
  const auto refused = [](std::vector<ParamSetting> settings) {
    return test::message_of(ErrorKind::config, [&] { make_generator("rambo", 1, settings); });
  };
  test::expect_parts(refused({{"bodies_low", "5", {}}, {"bodies_high", "3", {}}}),
                     {"bodies_low: 3 or less"});
  test::expect_parts(refused({{"energy_low", "600", {}}}), {"energy_low: 500 or less"});
  test::expect_parts(refused({{"masses", "[300, 250]", {}}}),
                     {"550 GeV", "raise energy_low to 555"});
  test::expect_parts(
      refused({{"bodies_low", "2", {}}, {"bodies_high", "2", {}}, {"masses", "[1, 2, 3]", {}}}),
      {"masses has 3 values", "at most 2"});
  test::expect_parts(refused({{"weights", "unweight", {}}}),
                     {"weights = unweight has no effect in rambo", "masses"});
}

// A scan over masses may start at 0. In that case all events have equal weight, so there are no
// weights to learn.
TEST(Rambo, TreatsZeroMassesAsMassless) {
  for (const char* const weights : {"keep", "unweight"}) {
    const auto generator =
        make_generator("rambo", 1, {{"masses", "[0, 0]", {}}, {"weights", weights, {}}});
    EXPECT_EQ(generator->info().latents[2].name, "log_weight");
    EXPECT_EQ(generator->info().latents[2].low, generator->info().latents[2].high);
    const auto samples = test::collect(*generator, {11, 0, 100});
    const auto massless = test::collect(*make_generator("rambo", 1), {11, 0, 100});
    EXPECT_EQ(samples.x, massless.x);
    EXPECT_EQ(samples.weight, massless.weight);
    EXPECT_EQ(samples.weight, std::vector<float>(100, 1));
  }
  EXPECT_LT(make_generator("rambo", 1, {{"masses", "[0, 1]", {}}})->info().latents[2].low, 0);
}

}  // namespace
}  // namespace wellspring
