#include "generators/images/pde.h"

#include "generators/generator.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/solo_team.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

constexpr double kTau = 2 * std::numbers::pi;
/// Half a unit in the last place of 1: the rounding of an operation on values below 2.
const double kRounding = std::ldexp(1.0, -24);

/// One grid on the host, a team of one.
class Grid {
 public:
  explicit Grid(int side_)
      : side(side_),
        words_(static_cast<std::size_t>(PdeWork::words_of(side, Pde::kMostWaves)) + 1),
        work(PdeWork::in(side, Pde::kMostWaves, words_.data())),
        grid{side} {}

  template <class Value>
  void begin(const Value& value) {
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x)
        pde::store(work.fields + y * side + x, static_cast<float>(value(x, y)));
    steps = 0;
  }
  void run(const PdeStep& rule, int count) {
    for (int i = 0; i < count; ++i) grid.advance(team, work, rule, ++steps);
  }
  double at(int x, int y) const {
    x = (x + side) % side, y = (y + side) % side;
    const int field = PdeGrid::field_after(steps);
    return double{pde::load(work.fields + field * side * side + y * side + x)};
  }
  std::vector<double> values() const {
    std::vector<double> all;
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) all.push_back(at(x, y));
    return all;
  }

  int side, steps = 0;

 private:
  std::vector<std::uint32_t> words_;

 public:
  PdeWork work;
  PdeGrid grid;
  SoloTeam team{ScratchCursor{}};
};

double random_value(int i, std::uint64_t sample = 6) {
  return 2 * double{unit_float(SampleRng{5, sample}
                                   .block(Purpose::noise, static_cast<std::uint32_t>(i))
                                   .word[0])} -
         1;
}
double sine_squared(int periods, int side) {
  return std::pow(std::sin(std::numbers::pi * periods / side), 2);
}
/// The factor of n steps on the wave with (p, q) periods per side.
std::complex<double> factor(const PdeStep& rule, int side, int p, int q, int n) {
  const double curve = sine_squared(p, side) + sine_squared(q, side);
  if (rule.waves)
    return std::cos(n * 2 * std::asin(std::sqrt(std::min(double{rule.spread} * curve, 1.0))));
  const double turn = 2 * double{rule.half_x} * std::sin(kTau * p / side) +
                      2 * double{rule.half_y} * std::sin(kTau * q / side);
  return std::pow(std::complex<double>(1 - 4 * double{rule.spread} * curve, -turn), n);
}

constexpr PdeStep kHeat = {false, 0.21f, 0, 0};
constexpr PdeStep kAdvection = {false, 0.17f, 0.11f, -0.07f};
constexpr PdeStep kWaves = {true, 0.4f, 0, 0};

// ---- the schemes --------------------------------------------------------------------------------

// To rounding, after any number of steps. A step rounds values below 2 some eight times, and
// factors of other waves, at most 1, do not enlarge that; in leapfrog an error of step m grows by
// at most a factor of n - m.
TEST(PdeGrid, MultipliesWavesExactly) {
  for (const PdeStep& rule : {kHeat, kAdvection, kWaves}) {
    for (const int side : {9, 24}) {
      for (const auto& [p, q] : {std::pair{1, 0}, {0, 2}, {3, -4}, {-2, 3}, {4, 4}}) {
        const auto wave = [&, p = p, q = q](int x, int y) {
          return std::polar(0.8, kTau * (p * x + q * y) / side + 0.4);
        };
        for (const int steps : {1, 2, 50}) {
          Grid grid(side);
          grid.begin([&](int x, int y) { return wave(x, y).real(); });
          grid.run(rule, steps);
          const std::complex<double> g = factor(rule, side, p, q, steps);
          const double tolerance =
              8 * kRounding * (rule.waves ? steps * (steps + 1) / 2 : steps) + 2 * kRounding;
          for (int y = 0; y < side; ++y)
            for (int x = 0; x < side; ++x)
              ASSERT_NEAR(grid.at(x, y), (g * wave(x, y)).real(), tolerance)
                  << side << ": " << p << ", " << q << " at " << x << ", " << y;
          // The test must find 2 % of the spread.
          PdeStep other = rule;
          other.spread *= 1.02f;
          if (steps == 1) {
            EXPECT_GT(std::abs(factor(other, side, p, q, 1) - g) * 0.8, 2 * tolerance);
          }
        }
      }
    }
  }
}

// Against a direct step in double precision, for fields without symmetry.
TEST(PdeGrid, StepsByTheRules) {
  for (const PdeStep& rule : {kHeat, kAdvection, kWaves}) {
    for (const int side : {3, 4, 8, 37}) {
      Grid grid(side);
      grid.begin([&](int x, int y) { return random_value(y * side + x); });
      std::vector<double> before;
      for (int step = 1; step <= 4; ++step) {
        const std::vector<double> now = grid.values();
        const auto of = [&](int x, int y) {
          return now[static_cast<std::size_t>((y + side) % side * side + (x + side) % side)];
        };
        grid.run(rule, 1);
        for (int y = 0; y < side; ++y) {
          for (int x = 0; x < side; ++x) {
            const double here = of(x, y);
            const double curve =
                of(x - 1, y) + of(x + 1, y) + of(x, y - 1) + of(x, y + 1) - 4 * here;
            const double slope = double{rule.half_x} * (of(x + 1, y) - of(x - 1, y)) +
                                 double{rule.half_y} * (of(x, y + 1) - of(x, y - 1));
            double next = here - slope + double{rule.spread} * curve;
            if (rule.waves) {
              next = step == 1 ? here + 0.5 * double{rule.spread} * curve
                               : 2 * here - before[static_cast<std::size_t>(y * side + x)] +
                                     double{rule.spread} * curve;
            }
            ASSERT_NEAR(grid.at(x, y), next, 64 * kRounding) << side << ": " << x << ", " << y;
          }
        }
        before = now;
      }
    }
  }
}

// Outflow of a cell is inflow of the next. 300 steps of 32 x 32 cells round 8 times each, with
// either sign: five times the root of their number.
TEST(PdeGrid, ConservesSums) {
  for (const PdeStep& rule : {kHeat, kAdvection}) {
    Grid grid(32);
    grid.begin([](int x, int y) { return random_value(32 * y + x) + 0.5; });
    const auto sum = [&] {
      double total = 0;
      for (const double value : grid.values()) total += value;
      return total;
    };
    const double before = sum();
    grid.run(rule, 300);
    EXPECT_GT(std::abs(before), 400);
    EXPECT_NEAR(sum(), before, 5 * std::sqrt(300 * 1024 * 8.0) * kRounding);
  }
}

// Up to r = 1/4 a new value is a mean of old ones, so no maximum rises; beyond, the finest wave
// grows by 8 r - 1 per step.
TEST(PdeGrid, HeatObeysTheMaximumPrincipleUpToAQuarter) {
  for (const float spread : {0.1f, 0.25f, 0.26f}) {
    Grid grid(16);
    grid.begin([](int x, int y) { return (x + y) % 2 == 0 ? 0.5 : -0.5 + 1e-3 * (x == 3); });
    double high = 0.5, low = -0.5;
    for (int step = 0; step < 100; ++step) {
      grid.run({false, spread, 0, 0}, 1);
      const std::vector<double> values = grid.values();
      const auto [least, most] = std::minmax_element(values.begin(), values.end());
      if (spread <= 0.25f) {
        ASSERT_LE(*most, high + 4 * kRounding) << spread;
        ASSERT_GE(*least, low - 4 * kRounding) << spread;
      }
      high = *most;
      low = *least;
    }
    if (spread > 0.25f) {
      EXPECT_GT(high, 0.4 * std::pow(8 * double{spread} - 1, 100));
    }
  }
}

/// The error of a wave's factor after n steps of the coarsest grid, on that grid and with cells of
/// half and a quarter of the size.
std::array<double, 3> errors_of(const PdeStep& rule, int p, int q, int n,
                                std::complex<double> exact) {
  std::array<double, 3> errors{};
  for (std::size_t level = 0; level < 3; ++level) {
    const int finer = 1 << level, side = 8 * finer;
    // For constant r or s, time steps shrink with the square of the cells, or with the cells.
    const int steps = n * (rule.waves ? finer : finer * finer);
    PdeStep step = rule;
    step.half_x /= static_cast<float>(finer);
    step.half_y /= static_cast<float>(finer);
    Grid grid(side);
    grid.begin([&](int x, int y) { return std::cos(kTau * (p * x + q * y) / side); });
    grid.run(step, steps);
    std::complex<double> observed;
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x)
        observed += 2 * grid.at(x, y) * std::polar(1.0, -kTau * (p * x + q * y) / side) /
                    double(side * side);
    errors[level] = std::abs(observed - exact);
  }
  return errors;
}

// Against exp(-kappa k^2 t - i k . v t) and cos(c k t): a quarter of the error for half the cell.
// At r = 1/6 the errors of space and time cancel along an axis, and a sixteenth is left. Rounding
// is 1e-6 of errors of 4e-4 and more.
TEST(PdeGrid, ConvergesWithTheSquareOfTheCell) {
  const double k = kTau / 8;  // radians per cell of the coarsest grid
  const auto ratio_of = [](const std::array<double, 3>& errors) { return errors[1] / errors[2]; };
  const PdeStep heat = {false, 0.2f, 0, 0};
  const auto decay = [&](double r, int n, int waves) { return std::exp(-r * k * k * waves * n); };
  EXPECT_NEAR(ratio_of(errors_of(heat, 1, 1, 5, decay(0.2, 5, 2))), 4, 0.2);
  const PdeStep sixth = {false, 1.f / 6, 0, 0};
  EXPECT_GT(ratio_of(errors_of(sixth, 1, 0, 5, decay(1.0 / 6, 5, 1))), 12);
  const PdeStep advection = {false, 0.2f, 0.1f, 0.05f};
  const std::complex<double> carried = decay(0.2, 5, 2) * std::polar(1.0, -k * (0.2 + 0.1) * 5);
  EXPECT_NEAR(ratio_of(errors_of(advection, 1, 1, 5, carried)), 4, 0.4);
  const double c = std::sqrt(double{0.3f});
  EXPECT_NEAR(ratio_of(errors_of({true, 0.3f, 0, 0}, 1, 0, 4, std::cos(c * k * 4))), 4, 0.3);
}

// ---- initial state ------------------------------------------------------------------------------

TEST(PdeGrid, DrawsWaveDirectionsUniformly) {
  constexpr int kHighest = 2;
  Grid grid(16);
  std::vector<double> observed(25), amplitudes;
  for (std::uint64_t sample = 0; sample < 3000; ++sample) {
    grid.grid.draw_waves(grid.team, grid.work, 4, kHighest, {3, sample});
    double sum = 0, most = 0, least = 1;
    for (int m = 0; m < 4; ++m) {
      const pde::Wave wave = PdeGrid::wave(grid.work, m);
      ++observed[static_cast<std::size_t>((wave.q + kHighest) * 5 + wave.p + kHighest)];
      sum += double{wave.amplitude};
      most = std::max(most, double{wave.amplitude});
      least = std::min(least, double{wave.amplitude});
      EXPECT_TRUE(wave.phase >= 0 && wave.phase < 1);
    }
    EXPECT_NEAR(sum, 1, 8 * kRounding);
    EXPECT_LT(most, 4.00001 * least);
  }
  EXPECT_EQ(observed[12], 0) << "no constant";
  observed.erase(observed.begin() + 12);
  EXPECT_GT(test::uniform_chi_square_p(observed), test::kGate);
}

// ---- the generator ------------------------------------------------------------------------------

// A single wave with at most one period per side on 64 cells follows the equation itself to half a
// percent: its contrast is exp(-kappa k^2 t), or |cos(c k t)|, k^2 one or two times (2 pi)^2.
TEST(Pde, LatentsSolveTheEquations) {
  for (const std::string equation : {"heat", "wave"}) {
    const auto generator = make_generator(
        "pde", 64, {{"equation", equation, {}}, {"waves", "1", {}}, {"highest", "1", {}}});
    const auto samples = test::collect(*generator, {4, 0, 40});
    for (std::size_t row = 0; row < samples.count(); ++row) {
      EXPECT_EQ(samples.label[row], 0);
      const double time = samples.latent(row, 0), contrast = samples.latent(row, 5);
      if (equation == "heat") {
        const double rate = -std::log(contrast) / (samples.latent(row, 1) * kTau * kTau * time);
        EXPECT_LT(std::min(std::abs(rate - 1), std::abs(rate - 2)), 0.01);
      } else {
        const double once = std::abs(std::cos(samples.latent(row, 4) * kTau * time));
        const double twice =
            std::abs(std::cos(samples.latent(row, 4) * kTau * std::sqrt(2) * time));
        EXPECT_LT(std::min(std::abs(contrast - once), std::abs(contrast - twice)), 0.01);
      }
    }
  }
}

TEST(Pde, RefusesImpossibleParameters) {
  const auto refused = [](std::vector<ParamSetting> settings, int size = 64) {
    return test::message_of(ErrorKind::config, [&] {
      const auto generator = make_generator("pde", size, settings);
      MemoryPlan memory(Device::cpu());
      generator->plan(memory, 1);
    });
  };
  test::expect_parts(refused({{"time_low", "2", {}}}), {"time_low = 2", "time_high = 1"});
  test::expect_parts(refused({{"diffusivity_low", "1", {}}}),
                     {"diffusivity_low", "diffusivity_high: 1 or more"});
  test::expect_parts(refused({{"cells", "8", {}}}), {"cells = 8", "4 periods", "cells: 9"});
  // 4 * 0.01 * 64^2 = 163.84.
  test::expect_parts(refused({{"equation", "heat", {}}, {"steps", "100", {}}}),
                     {"steps = 100", "64 cells", "reaches 0.4096", "1/4", "steps: 164"});
  test::expect_parts(
      refused({{"equation", "heat", {}}, {"steps", "100", {}}, {"cells", "64", {}}}, 8),
      {"steps = 100", "steps: 164"});
  test::expect_parts(refused({{"equation", "wave", {}}, {"steps", "50", {}}}),
                     {"c dt / dx", "steps: 91"});
  test::expect_parts(refused({{"equation", "advection", {}}, {"steps", "200", {}}}),
                     {"(vx^2 + vy^2) dt / (2 kappa) reaches 1.2", "steps: 250"});
  test::expect_parts(refused({{"diffusivity_high", "10", {}}}), {"at most 65536", "lower"});
  test::expect_parts(refused({}, 1025), {"1025 pixels", "at most 1024", "set cells"});
}

// Barely stable steps stay stable: the largest numbers on the fewest steps, a thousand times.
TEST(Pde, AllowsOnlyStableSteps) {
  constexpr int kSide = 16;
  for (const PdeStep& rule : {PdeStep{false, 0.25f, 0, 0},
                              PdeStep{false, 0.1f, 0.5f * std::sqrt(0.1f), 0.5f * std::sqrt(0.1f)},
                              PdeStep{true, 0.499f, 0, 0}}) {
    Grid grid(kSide);
    double squares = 0;
    grid.begin([&](int x, int y) { return random_value(y * kSide + x, 7); });
    for (const double value : grid.values()) squares += value * value;
    grid.run(rule, 1000);
    double after = 0;
    for (const double value : grid.values()) after += value * value;
    EXPECT_LE(after, 1.001 * squares);
    for (int p = 0; p < kSide; ++p)
      for (int q = 0; q < kSide; ++q)
        EXPECT_LE(std::abs(factor(rule, kSide, p, q, 1)), 1 + 1e-6) << p << ", " << q;
  }
}

}  // namespace
}  // namespace wellspring
