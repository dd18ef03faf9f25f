#include "generators/events/rambo.h"

#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
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
