#include "generators/images/pde.h"

#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

using Settings = std::vector<ParamSetting>;

constexpr double kTau = 2 * std::numbers::pi;

/// A field on n x n cells, taken from one channel of a picture.
struct Field {
  int n;
  std::vector<double> u;

  Field(const test::Samples& samples, std::size_t row, int n_, int channel)
      : n(n_), u(static_cast<std::size_t>(n * n)) {
    for (std::size_t i = 0; i < u.size(); ++i)
      u[i] = 2 * double{samples.image(row)[3 * i + static_cast<std::size_t>(channel)]} - 1;
  }
  double rms() const {
    double sum = 0;
    for (const double value : u) sum += value * value;
    return std::sqrt(sum / static_cast<double>(u.size()));
  }
};

/// Multiplies each Fourier component of `before`, up to `highest` periods, by factor(p, q); returns
/// the largest difference from `after`.
template <class Factor>
double worst_error(const Field& before, const Field& after, int highest, const Factor& factor) {
  const int n = before.n, across = 2 * highest + 1;
  using Complex = std::complex<double>;
  const auto wave = [&](int p, int x) { return std::polar(1.0, kTau * (p * x % n) / n); };
  const auto at = [](int width, int row, int column) {
    return static_cast<std::size_t>(row * width + column);
  };
  std::vector<Complex> rows(static_cast<std::size_t>(n * across));  // [y, p]
  for (int y = 0; y < n; ++y)
    for (int p = -highest; p <= highest; ++p)
      for (int x = 0; x < n; ++x)
        rows[at(across, y, p + highest)] += before.u[at(n, y, x)] * std::conj(wave(p, x));
  std::vector<Complex> evolved(static_cast<std::size_t>(n * across));  // [y, p]
  for (int p = -highest; p <= highest; ++p) {
    for (int q = -highest; q <= highest; ++q) {
      Complex part;
      for (int y = 0; y < n; ++y) part += rows[at(across, y, p + highest)] * std::conj(wave(q, y));
      part *= factor(p, q) / static_cast<double>(n * n);
      for (int y = 0; y < n; ++y) evolved[at(across, y, p + highest)] += part * wave(q, y);
    }
  }
  double worst = 0;
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x) {
      Complex exact;
      for (int p = -highest; p <= highest; ++p)
        exact += evolved[at(across, y, p + highest)] * wave(p, x);
      worst = std::max(worst, std::abs(exact.real() - after.u[at(n, y, x)]));
    }
  }
  return worst;
}

// The final field is the initial one, evolved in Fourier space by the equation with the parameters
// in the latents. A phase of up to 2 `highest` turns is rounded a few times to a relative 2^-24,
// about 1e-6 turns. Pixels hold half the field, so the error is at most 1e-5 for a field of at most
// 1.
TEST(Pde, ShowsTheExactSolution) {
  struct Case {
    std::string equation;
    int size, highest;
    Settings more;
  };
  const std::vector<Case> cases = {
      {"heat", 64, 4, {}},
      {"advection", 64, 4, {}},
      {"wave", 64, 4, {}},
      {"advection", 17, 8, {{"cells", "17", {}}, {"waves", "16", {}}, {"velocity", "10", {}}}},
      {"advection",
       16,
       4,
       {{"velocity", "1000", {}}, {"diffusivity_low", "1e-9", {}}, {"time_high", "10000", {}}}},
      {"wave", 16, 4, {{"speed_high", "1000", {}}, {"time_high", "10000", {}}}},
      {"heat", 16, 4, {{"diffusivity_high", "10", {}}, {"time_low", "0", {}}}}};
  for (const Case& each : cases) {
    Settings settings = each.more;
    settings.push_back({"equation", each.equation, {}});
    settings.push_back({"highest", std::to_string(each.highest), {}});
    const auto generator = make_generator("pde", each.size, settings);
    const auto samples = test::collect(*generator, {4, 0, 12});
    for (std::size_t row = 0; row < samples.count(); ++row) {
      const auto latent = [&](std::size_t k) { return double{samples.latent(row, k)}; };
      const double time = latent(0), kappa = latent(1), speed = latent(4);
      const Field before(samples, row, each.size, 0), after(samples, row, each.size, 1);
      const double error = worst_error(before, after, each.highest, [&](int p, int q) {
        const double square = p * p + q * q;
        if (each.equation == "wave") {
          return std::complex<double>(std::cos(kTau * std::sqrt(square) * speed * time));
        }
        const double turns = (p * latent(2) + q * latent(3)) * time;
        return std::polar(std::exp(-kappa * kTau * kTau * square * time), -kTau * turns);
      });
      EXPECT_LT(error, 1e-5) << each.equation << ", sample " << row;
      EXPECT_NEAR(latent(5), after.rms() / before.rms(), 1e-5 / before.rms());
      EXPECT_EQ(samples.label[row], 0);
    }
  }
}

// Sixteen waves in only eight directions, so most of them share a direction, with equal or opposite
// sign.
TEST(Pde, MeasuresTheContrastOfCorrelatedWaves) {
  for (const std::string equation : {"heat", "wave"}) {
    const auto generator = make_generator(
        "pde", 12, {{"equation", equation, {}}, {"waves", "16", {}}, {"highest", "1", {}}});
    const auto samples = test::collect(*generator, {5, 0, 50});
    for (std::size_t row = 0; row < samples.count(); ++row) {
      const Field before(samples, row, 12, 0), after(samples, row, 12, 1);
      EXPECT_NEAR(double{samples.latent(row, 5)}, after.rms() / before.rms(), 1e-5 / before.rms());
    }
  }
}

// The image shows a part of the square, or repeats the square.
TEST(Pde, RepeatsTheSquare) {
  const Settings settings = {{"cells", "19", {}}};
  const auto large = test::collect(*make_generator("pde", 41, settings), {6, 0, 6});
  const auto small = test::collect(*make_generator("pde", 11, settings), {6, 0, 6});
  for (std::size_t row = 0; row < large.count(); ++row) {
    const float* const picture = large.image(row);
    for (std::size_t y = 0; y < 41; ++y) {
      for (std::size_t x = 0; x < 41; ++x) {
        const std::size_t from = 3 * (y % 19 * 41 + x % 19);
        for (std::size_t c = 0; c < 3; ++c) {
          const float here = picture[3 * (y * 41 + x) + c];
          ASSERT_NEAR(here, picture[from + c], 1e-5) << x << ", " << y;
          if (x < 11 && y < 11) {
            ASSERT_EQ(here, small.image(row)[3 * (y * 11 + x) + c]);
          }
        }
      }
    }
  }
}

TEST(Pde, DrawsWaveDirectionsUniformly) {
  constexpr int kHighest = 2;
  Pde::Params params;
  params.waves = 4;
  params.highest = kHighest;
  const Pde pde(params);
  std::vector<double> observed(25);
  for (std::uint64_t sample = 0; sample < 3000; ++sample) {
    Pde::Scene scene;
    Truth<Pde::kLatents> truth;
    pde.draw({{3, sample}, {}, {16, 16, 3}}, scene, truth);
    double sum = 0, most = 0, least = 1;
    for (int m = 0; m < 4; ++m) {
      const Pde::Wave& wave = scene.waves[m];
      ++observed[static_cast<std::size_t>((wave.q + kHighest) * 5 + wave.p + kHighest)];
      sum += double{wave.amplitude};
      most = std::max(most, double{wave.amplitude});
      least = std::min(least, double{wave.amplitude});
      EXPECT_TRUE(wave.phase >= 0 && wave.phase < 1);
    }
    EXPECT_NEAR(sum, 1, 8 * 0x1p-24);
    EXPECT_LT(most, 4.00001 * least);
  }
  EXPECT_EQ(observed[12], 0) << "a constant wave was drawn";
  observed.erase(observed.begin() + 12);
  EXPECT_GT(test::uniform_chi_square_p(observed), test::kGate);
}

TEST(Pde, RefusesImpossibleParameters) {
  const auto refused = [](const Settings& settings) {
    return test::message_of(ErrorKind::config, [&] { make_generator("pde", 64, settings); });
  };
  test::expect_parts(refused({{"time_low", "2", {}}}), {"time_low = 2", "time_high = 1"});
  test::expect_parts(refused({{"diffusivity_low", "1", {}}}),
                     {"diffusivity_low", "diffusivity_high: 1 or more"});
  test::expect_parts(refused({{"cells", "8", {}}}), {"cells = 8", "4 periods", "cells: 9"});
}

}  // namespace
}  // namespace wellspring
