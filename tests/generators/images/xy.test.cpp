#include "generators/images/xy.h"

#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace wellspring {
namespace {

constexpr double kTau = 2 * std::numbers::pi;

// ---- the generator ------------------------------------------------------------------------------

// Targets are scaled by a range, which a bound for arbitrary angles would make 10^5 times wider.
TEST(Xy, HelicityHasItsEquilibriumRange) {
  const auto info = [](std::vector<ParamSetting> settings) {
    return make_generator("xy", 64, settings)->info().latents[3];
  };
  EXPECT_EQ(info({}).name, "helicity");
  EXPECT_NEAR(info({}).low, -73.4, 0.1);
  EXPECT_NEAR(info({{"coupling", "0", {}}, {"label", "temperature", {}}}).low, -36.7, 0.1);
  EXPECT_LT(info({{"start", "hot", {}}}).low, -2e6);
  EXPECT_NEAR(info({{"side", "4", {}}}).low, -41, 0.1) << "must be the bound for arbitrary angles";
  // Covers all temperatures, including lattices not yet in equilibrium. The probability that one of
  // 6000 values is out of range is 2e-9.
  for (const char* const rounds : {"1", "4"}) {
    const auto generator = make_generator(
        "xy", 24, {{"rounds", rounds, {}}, {"t_low", "0.05", {}}, {"t_high", "3", {}}});
    const auto samples = test::collect(*generator, {8, 0, 3000});
    for (std::size_t i = 0; i < samples.count(); ++i)
      ASSERT_GT(samples.latent(i, 3), info({}).low) << "T " << samples.latent(i, 0);
  }
}

// A picture coloured by components gives every angle to 2^-24, and therefore all measured
// quantities.
TEST(Xy, LatentsMatchThePicture) {
  for (const int size : {16, 37, 190}) {
    const auto generator =
        make_generator("xy", size, {{"rounds", "2", {}}, {"colour", "vector", {}}});
    const int side = (size + 1) / 2 * 2;
    const auto samples = test::collect(*generator, {4, 0, 3});
    for (std::size_t row = 0; row < samples.count(); ++row) {
      EXPECT_EQ(samples.label[row] == 0, samples.latent(row, 0) < Xy::kCritical);
      if (side != size) continue;
      const float* const x = samples.image(row);
      double energy = 0, mx = 0, my = 0, sx = 0, sy = 0, vortices = 0;
      const auto angle = [&](int i, int j) {
        const float* const pixel = x + 3 * (j % side * side + i % side);
        return std::atan2(2 * double{pixel[1]} - 1, 2 * double{pixel[0]} - 1);
      };
      for (int j = 0; j < side; ++j) {
        for (int i = 0; i < side; ++i) {
          const double here = angle(i, j), right = angle(i + 1, j), down = angle(i, j + 1);
          energy -= std::cos(right - here) + std::cos(down - here);
          sx += std::sin(right - here);
          sy += std::sin(down - here);
          mx += std::cos(here);
          my += std::sin(here);
          const double turn = std::remainder(right - here, kTau) +
                              std::remainder(angle(i + 1, j + 1) - right, kTau) +
                              std::remainder(down - angle(i + 1, j + 1), kTau) +
                              std::remainder(here - down, kTau);
          vortices += turn > 1 ? 1 : 0;
        }
      }
      const double sites = side * side, t = double{samples.latent(row, 0)};
      // Angles are known to 2^-22, so a difference near half a turn may or may not count as a
      // vortex.
      EXPECT_NEAR(samples.latent(row, 1), energy / sites, 2e-6);
      EXPECT_NEAR(samples.latent(row, 2), std::hypot(mx, my) / sites, 2e-6);
      EXPECT_NEAR(samples.latent(row, 3), 0.5 * (-energy - (sx * sx + sy * sy) / t) / sites,
                  2e-5 + 1e-6 * (std::abs(sx) + std::abs(sy)) / t);
      EXPECT_NEAR(samples.latent(row, 4), vortices / sites, 1e-9 + 1e-7 * vortices / sites);
    }
  }
}

TEST(Xy, ShowsAnglesAsHues) {
  const std::vector<ParamSetting> quick = {{"rounds", "2", {}}};
  const auto hues = test::collect(*make_generator("xy", 12, quick), {4, 0, 2});
  std::vector<ParamSetting> vector = quick;
  vector.push_back({"colour", "vector", {}});
  const auto vectors = test::collect(*make_generator("xy", 12, vector), {4, 0, 2});
  for (std::size_t row = 0; row < 2; ++row) {
    for (int i = 0; i < 144; ++i) {
      const float* const hue = hues.image(row) + 3 * i;
      const float* const at = vectors.image(row) + 3 * i;
      const double turns = std::atan2(double{at[1]} - 0.5, double{at[0]} - 0.5) / kTau;
      const Rgb expected = hue_colour(static_cast<float>(turns), 0, 1);
      EXPECT_NEAR(hue[0], expected.r, 1e-5);
      EXPECT_NEAR(hue[1], expected.g, 1e-5);
      EXPECT_NEAR(hue[2], expected.b, 1e-5);
    }
  }
}

TEST(Xy, AlternatesTheNumberOfMirrors) {
  const Xy generator{Xy::Params{}};
  std::array<int, 17> counts{};
  for (int round = 0; round < 170; ++round)
    ++counts[static_cast<std::size_t>(generator.mirrors_of(round, 64))];
  for (const int count : counts) EXPECT_NEAR(count, 10, 2);
  Xy::Params none;
  none.mirrors = 0;
  for (int round = 0; round < 20; ++round) EXPECT_EQ(Xy(none).mirrors_of(round, 64), 0);
}

TEST(Xy, RefusesImpossibleParameters) {
  const auto refused = [](std::vector<ParamSetting> settings) {
    return test::message_of(ErrorKind::config, [&] { make_generator("xy", 16, settings); });
  };
  test::expect_parts(refused({{"coupling", "0", {}}}), {"coupling = 0", "label: temperature"});
  test::expect_parts(refused({{"t_low", "0.01", {}}}), {"t_low = 0.01", "out of range"});
  test::expect_parts(
      refused({{"label", "temperature", {}}, {"t_low", "1", {}}, {"t_high", "1", {}}}),
      {"one temperature cannot have 8 classes", "bins: 1"});
}

}  // namespace
}  // namespace wellspring
