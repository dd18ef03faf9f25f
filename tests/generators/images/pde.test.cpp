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
/// Half a unit in the last place of 1: what an operation on values below 2 rounds by.
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
/// By what n steps multiply the wave of (p, q) periods a side.
std::complex<double> factor(const PdeStep& rule, int side, int p, int q, int n) {
  const double bend = sine_squared(p, side) + sine_squared(q, side);
  if (rule.waves)
    return std::cos(n * 2 * std::asin(std::sqrt(std::min(double{rule.spread} * bend, 1.0))));
  const double turn = 2 * double{rule.half_x} * std::sin(kTau * p / side) +
                      2 * double{rule.half_y} * std::sin(kTau * q / side);
  return std::pow(std::complex<double>(1 - 4 * double{rule.spread} * bend, -turn), n);
}

constexpr PdeStep kHeat = {false, 0.21f, 0, 0};
constexpr PdeStep kAdvection = {false, 0.17f, 0.11f, -0.07f};
constexpr PdeStep kWaves = {true, 0.4f, 0, 0};

// ---- the schemes --------------------------------------------------------------------------------

// To rounding, after any number of steps. A step rounds values below 2 some eight times, which the
// factors of the other waves, at most 1, do not enlarge; of leapfrog what step m left behind grows
// to n - m times as much at most.
TEST(PdeGrid, WavesAreMultipliedExactly) {
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
          // 2 % of the spread would be seen.
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

// Against a step written apart, in double precision, of fields without any symmetry.
TEST(PdeGrid, StepsAreTheirRulesEverywhere) {
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
            const double bend =
                of(x - 1, y) + of(x + 1, y) + of(x, y - 1) + of(x, y + 1) - 4 * here;
            const double slope = double{rule.half_x} * (of(x + 1, y) - of(x - 1, y)) +
                                 double{rule.half_y} * (of(x, y + 1) - of(x, y - 1));
            double next = here - slope + double{rule.spread} * bend;
            if (rule.waves) {
              next = step == 1 ? here + 0.5 * double{rule.spread} * bend
                               : 2 * here - before[static_cast<std::size_t>(y * side + x)] +
                                     double{rule.spread} * bend;
            }
            ASSERT_NEAR(grid.at(x, y), next, 64 * kRounding) << side << ": " << x << ", " << y;
          }
        }
        before = now;
      }
    }
  }
}

// What flows out of a cell flows into the next. 300 steps of 32 x 32 cells round 8 times each, with
// either sign: the root of their number, five times over.
TEST(PdeGrid, SumsAreKept) {
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
// grows by 8 r - 1 a step.
TEST(PdeGrid, HeatHasAMaximumPrincipleUpToAQuarter) {
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

/// The error of a wave's factor after the time that n steps of the coarsest grid take, and on the
/// grids of half and a quarter the cell.
std::array<double, 3> errors_of(const PdeStep& rule, int p, int q, int n,
                                std::complex<double> exact) {
  std::array<double, 3> errors{};
  for (std::size_t level = 0; level < 3; ++level) {
    const int finer = 1 << level, side = 8 * finer;
    // With r or s as it is, time steps are shorter by the square of the cells, or like them.
    const int steps = n * (rule.waves ? finer : finer * finer);
    PdeStep step = rule;
    step.half_x /= static_cast<float>(finer);
    step.half_y /= static_cast<float>(finer);
    Grid grid(side);
    grid.begin([&](int x, int y) { return std::cos(kTau * (p * x + q * y) / side); });
    grid.run(step, steps);
    std::complex<double> seen;
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x)
        seen += 2 * grid.at(x, y) * std::polar(1.0, -kTau * (p * x + q * y) / side) /
                double(side * side);
    errors[level] = std::abs(seen - exact);
  }
  return errors;
}

// To exp(-kappa k^2 t - i k . v t) and cos(c k t): a quarter of the error for half the cell. At r =
// 1/6 the errors of space and time cancel along an axis, and a sixteenth is left. Rounding is 1e-6
// of errors of 4e-4 and more.
TEST(PdeGrid, ErrorsFallWithTheSquareOfTheCell) {
  const double k = kTau / 8;  // radians a cell of the coarsest grid
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

// ---- the beginning ------------------------------------------------------------------------------

TEST(PdeGrid, DirectionsOfWavesAreEquallyOften) {
  constexpr int kHighest = 2;
  Grid grid(16);
  std::vector<double> seen(25), amplitudes;
  for (std::uint64_t sample = 0; sample < 3000; ++sample) {
    grid.grid.draw_waves(grid.team, grid.work, 4, kHighest, {3, sample});
    double sum = 0, most = 0, least = 1;
    for (int m = 0; m < 4; ++m) {
      const pde::Wave wave = PdeGrid::wave(grid.work, m);
      ++seen[static_cast<std::size_t>((wave.q + kHighest) * 5 + wave.p + kHighest)];
      sum += double{wave.amplitude};
      most = std::max(most, double{wave.amplitude});
      least = std::min(least, double{wave.amplitude});
      EXPECT_TRUE(wave.phase >= 0 && wave.phase < 1);
    }
    EXPECT_NEAR(sum, 1, 8 * kRounding);
    EXPECT_LT(most, 4.00001 * least);
  }
  EXPECT_EQ(seen[12], 0) << "no constant";
  seen.erase(seen.begin() + 12);
  EXPECT_GT(test::uniform_chi_square_p(seen), test::kGate);
}

// ---- the generator ------------------------------------------------------------------------------

/// Red and green of a picture are the waves before and after, each multiplied by its factor. The
/// factor has some 300 steps, with rounding as above, and numbers rounded to floats.
TEST(Pde, PicturesAreTheirWavesBeforeAndAfter) {
  constexpr int kSide = 24, kWaveCount = 5, kHighest = 4;
  const auto generator = make_generator("pde", kSide);
  const auto samples = test::collect(*generator, {9, 0, 24});
  std::array<int, 3> classes{};
  for (std::size_t row = 0; row < samples.count(); ++row) {
    const double time = samples.latent(row, 0), kappa = samples.latent(row, 1);
    const double vx = samples.latent(row, 2), vy = samples.latent(row, 3);
    const double speed = samples.latent(row, 4);
    const auto label = static_cast<std::size_t>(samples.label[row]);
    ++classes[label];
    EXPECT_EQ(label == 2, speed > 0);
    EXPECT_EQ(label == 2, kappa == 0);
    EXPECT_EQ(label == 1, vx != 0);
    EXPECT_EQ(label == 1, vy != 0);
    // 4 kappa t n^2 = 23.04, sqrt(2) c t n = 33.9, v^2 t / kappa = 250: 251 steps.
    constexpr int kSteps = 251;
    const double dt = time / kSteps;
    PdeStep rule;
    rule.waves = label == 2;
    rule.spread = static_cast<float>(rule.waves ? std::pow(speed * dt * kSide, 2)
                                                : kappa * dt * kSide * kSide);
    rule.half_x = static_cast<float>(0.5 * vx * dt * kSide);
    rule.half_y = static_cast<float>(0.5 * vy * dt * kSide);
    Grid drawn(kSide);
    drawn.grid.draw_waves(drawn.team, drawn.work, kWaveCount, kHighest, {named_key(9, "pde"), row});
    double first_squares = 0, last_squares = 0;
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        std::complex<double> before, after;
        for (int m = 0; m < kWaveCount; ++m) {
          const pde::Wave wave = PdeGrid::wave(drawn.work, m);
          const std::complex<double> value =
              std::polar(double{wave.amplitude},
                         kTau * (double(wave.p * x + wave.q * y) / kSide + double{wave.phase}));
          before += value;
          after += value * factor(rule, kSide, wave.p, wave.q, kSteps);
        }
        const float* const pixel = samples.image(row) + 3 * (y * kSide + x);
        ASSERT_NEAR(2 * pixel[0] - 1, before.real(), 2e-6);
        ASSERT_NEAR(2 * pixel[1] - 1, after.real(), label == 2 ? 1e-3 : 2e-4) << row;
        ASSERT_EQ(pixel[2], 0.5f);
        first_squares += before.real() * before.real();
        last_squares += after.real() * after.real();
      }
    }
    EXPECT_NEAR(samples.latent(row, 5), std::sqrt(last_squares / first_squares), 2e-3);
  }
  for (const int count : classes) EXPECT_GT(count, 2);
}

// A single wave of at most one period a side on 64 cells obeys the equation itself to half a
// percent: its contrast is exp(-kappa k^2 t), or |cos(c k t)|, k^2 one or two times (2 pi)^2.
TEST(Pde, LatentsAreThoseOfTheEquations) {
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

TEST(Pde, LatentsFollowTheirLaws) {
  const auto generator = make_generator("pde", 1, {{"steps", "300", {}}, {"cells", "9", {}}});
  const auto samples = test::collect(*generator, {4, 0, 6000});
  std::vector<double> times, logarithms, velocities, speeds;
  for (std::size_t row = 0; row < samples.count(); ++row) {
    times.push_back(samples.latent(row, 0));
    if (samples.label[row] == 2) {
      speeds.push_back(samples.latent(row, 4));
    } else {
      logarithms.push_back(std::log10(double{samples.latent(row, 1)}));
    }
    if (samples.label[row] != 1) continue;
    velocities.push_back(samples.latent(row, 2));
    velocities.push_back(samples.latent(row, 3));
  }
  // Of 1900 uniform numbers and more none lies in a given hundredth of the range once in 10^8.
  const auto expect_uniform = [](const std::vector<double>& values, double low, double high) {
    ASSERT_GT(values.size(), 1900u);
    const double slack = 0.01 * (high - low);
    EXPECT_NEAR(*std::min_element(values.begin(), values.end()), low, slack);
    EXPECT_NEAR(*std::max_element(values.begin(), values.end()), high, slack);
    const auto law = [=](double x) { return (x - low) / (high - low); };
    EXPECT_GT(test::kolmogorov_p(values, law), test::kGate);
  };
  expect_uniform(times, 0.25, 1);
  expect_uniform(logarithms, -3, -2);
  expect_uniform(velocities, -0.5, 0.5);
  expect_uniform(speeds, 0.25, 1);
}

TEST(Pde, ImpossibleParametersAreRefused) {
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

// What is just stable stays so: the greatest numbers on the fewest steps, a thousand times over.
TEST(Pde, TheStepsThatAreAllowedAreStable) {
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
