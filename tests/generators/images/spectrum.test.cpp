#include "generators/images/spectrum.h"

#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_team.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

using Wave = std::complex<double>;
constexpr double kTau = 6.283185307179586;

/// The grids of one sample, as painted.
struct Painted {
  Spectrum::Scene scene;
  Truth<Spectrum::kLatents> truth;
  int side;
  std::vector<fft::Cell> cells;

  Painted(const Spectrum::Params& params, std::uint64_t sample, int size) {
    const Spectrum functor(params);
    Augmentation view;
    scene = functor.draw({{9, sample}, {}, {size, size, 3}}, view, truth);
    side = 1 << scene.log_side;
    cells.resize(static_cast<std::size_t>(functor.cells({size, size, 3})));
    SoloTeam team({nullptr, 0, 0});
    functor.paint(team, scene, 0, cells.data());
  }
  double at(int field, int x, int y) const {
    return fft::load(cells.data() + field * side * side + fft::place(x, y, scene.log_side));
  }
  /// The full spectrum of one field, transformed along rows, then along columns.
  std::vector<Wave> spectrum(int field) const {
    const auto n = static_cast<std::size_t>(side);
    std::vector<Wave> turn(n), rows(n * n), all(n * n);
    for (std::size_t i = 0; i < n; ++i)
      turn[i] = std::polar(1.0, -kTau * static_cast<double>(i) / side);
    for (std::size_t y = 0; y < n; ++y) {
      for (std::size_t kx = 0; kx < n; ++kx) {
        for (std::size_t x = 0; x < n; ++x)
          rows[y * n + kx] +=
              turn[kx * x % n] * at(field, static_cast<int>(x), static_cast<int>(y));
      }
    }
    for (std::size_t ky = 0; ky < n; ++ky) {
      for (std::size_t kx = 0; kx < n; ++kx) {
        for (std::size_t y = 0; y < n; ++y)
          all[ky * n + kx] += turn[ky * y % n] * rows[y * n + kx] / static_cast<double>(n * n);
      }
    }
    return all;
  }
  double amplitude(std::size_t ky, std::size_t kx) const {
    const auto n = static_cast<std::size_t>(side);
    const double fx = static_cast<double>(std::min(kx, n - kx)) / side;
    const double fy = static_cast<double>(std::min(ky, n - ky)) / side;
    if (kx + ky == 0) return 0;
    return 1 / (std::pow(fx, static_cast<double>(scene.power_x)) +
                std::pow(fy, static_cast<double>(scene.power_y)));
  }
};

Spectrum::Params with(Spectrum::Palette palette) {
  Spectrum::Params params;
  params.palette = palette;
  return params;
}

// A transform of N^2 numbers with mean square 1 has 2 log2 N stages and changes each amplitude by
// about 2^-24 sqrt(2 log2 N) / N, 3e-9 for N = 64. The largest amplitude is below 1.
TEST(Spectrum, AmplitudesFollowThePowerLaw) {
  for (const int size : {16, 32, 64}) {
    for (std::uint64_t sample = 0; sample < 3; ++sample) {
      const Painted p(with(Spectrum::Palette::independent), sample, size);
      const auto n = static_cast<std::size_t>(p.side);
      double squares = 0;
      for (std::size_t i = 0; i < n * n; ++i) squares += std::pow(p.amplitude(i / n, i % n), 2);
      for (int field = 0; field < 3; ++field) {
        const std::vector<Wave> spectrum = p.spectrum(field);
        for (std::size_t i = 0; i < n * n; ++i) {
          const double expected = p.amplitude(i / n, i % n) / std::sqrt(squares);
          ASSERT_NEAR(std::abs(spectrum[i]), expected, 1e-7 + 2e-6 * expected)
              << size << ": " << i / n << ", " << i % n;
        }
      }
    }
  }
}

// Through tiles in scratch memory, teams of any size paint the same bits as a lone thread, with all
// the scratch that paint would like and with less.
TEST(Spectrum, TilesGiveTheBitsOfALoneTeam) {
  for (const auto palette : {Spectrum::Palette::correlated, Spectrum::Palette::grey}) {
    for (const int size : {16, 32, 64, 128, 256, 512, 1024}) {
      if (size > 256 && palette == Spectrum::Palette::grey) continue;
      const Spectrum functor(with(palette));
      const SampleShape shape{size, size, 3};
      const std::size_t wanted = functor.paint_scratch(shape);
      const Painted lone(with(palette), 7, size);
      for (const auto& [members, bytes] :
           {std::pair{7, wanted}, {1, wanted}, {32, wanted / 2}, {256, wanted / 4 * 3}}) {
        if (size > 128 && members > 7) continue;
        std::vector<fft::Cell> cells(lone.cells.size(), 0xCDCDCDCD);
        const std::size_t scratch = bytes / 16 * 16;
        test::run_thread_league(1, members, scratch + 16,
                                [&](test::ThreadTeam& team, std::int64_t) {
                                  functor.paint(team, lone.scene, scratch, cells.data());
                                });
        // The grids and their range; a lone team keeps its tables after them.
        const auto compared = static_cast<std::ptrdiff_t>(functor.fields() * size * size + 2);
        EXPECT_TRUE(std::equal(cells.begin(), cells.begin() + compared, lone.cells.begin()))
            << size << ", " << members << " members, " << bytes << " bytes";
      }
    }
  }
}

// Tests all frequencies of a half plane except those that are their own opposites: 2046 phases per
// field and sample. Phase differences between two fields must be uniform, too.
TEST(Spectrum, PhasesAreUniformAndIndependent) {
  std::vector<double> phases, differences;
  for (std::uint64_t sample = 20; sample < 22; ++sample) {
    Spectrum::Params params = with(Spectrum::Palette::independent);
    params.slope_high = 1;  // keeps amplitudes far above rounding errors
    const Painted p(params, sample, 64);
    const auto n = static_cast<std::size_t>(p.side), half = n / 2;
    std::vector<std::vector<Wave>> fields;
    for (int field = 0; field < 3; ++field) fields.push_back(p.spectrum(field));
    for (std::size_t ky = 0; ky < n; ++ky) {
      for (std::size_t kx = 0; kx <= half; ++kx) {
        if ((kx == 0 || kx == half) && (ky == 0 || ky >= half)) continue;
        const auto turns = [&](const Wave& z) {
          const double t = std::arg(z) / kTau;
          return t < 0 ? t + 1 : t;
        };
        for (std::size_t f = 0; f < 3; ++f) {
          phases.push_back(turns(fields[f][ky * n + kx]));
          differences.push_back(
              turns(fields[f][ky * n + kx] * std::conj(fields[(f + 1) % 3][ky * n + kx])));
        }
      }
    }
    EXPECT_EQ(phases.size() % 2046, 0u);
  }
  const auto uniform = [](double t) { return t; };
  EXPECT_GT(test::kolmogorov_p(phases, uniform), test::kGate);
  EXPECT_GT(test::kolmogorov_p(differences, uniform), test::kGate);
}

TEST(Spectrum, FieldsAreNormalised) {
  for (const int size : {16, 33, 100, 256}) {
    const Painted p(with(Spectrum::Palette::independent), static_cast<std::uint64_t>(size), size);
    EXPECT_EQ(p.side, size == 16 ? 16 : (size == 33 ? 64 : (size == 100 ? 128 : 256)));
    for (int field = 0; field < 3; ++field) {
      double sum = 0, squares = 0;
      for (int y = 0; y < p.side; ++y) {
        for (int x = 0; x < p.side; ++x) {
          const double v = p.at(field, x, y);
          sum += v;
          squares += v * v;
        }
      }
      const double count = static_cast<double>(p.side) * p.side;
      EXPECT_NEAR(sum / count, 0, 1e-6) << size;
      EXPECT_NEAR(squares / count, 1, 1e-5) << size;
    }
  }
}

// At two sizes, the same sample has the same waves at all frequencies that both sizes have.
TEST(Spectrum, WavesDoNotDependOnTheSize) {
  const Painted small(with(Spectrum::Palette::independent), 5, 16),
      large(with(Spectrum::Palette::independent), 5, 64);
  const std::vector<Wave> a = small.spectrum(1), b = large.spectrum(1);
  for (std::size_t ky = 0; ky < 16; ++ky) {
    for (std::size_t kx = 0; kx < 8; ++kx) {
      if (ky == 8 || ky + kx == 0) continue;  // the highest frequencies of the smaller grid
      const Wave& coarse = a[ky * 16 + kx];
      const Wave& fine = b[(ky < 8 ? ky : ky + 48) * 64 + kx];
      EXPECT_NEAR(std::abs(std::arg(coarse / fine)), 0, 1e-3) << ky << ", " << kx;
    }
  }
}

TEST(Spectrum, PicturesSpanZeroToOne) {
  for (const int size : {16, 37, 64}) {
    const auto generator = make_generator("spectrum", size);
    const auto samples = test::collect(*generator, {6, 0, 6});
    for (std::size_t s = 0; s < samples.count(); ++s) {
      const auto [low, high] =
          std::minmax_element(samples.image(s), samples.image(s) + samples.elements);
      EXPECT_EQ(*low, 0) << size;
      EXPECT_NEAR(*high, 1, 1e-6) << size;
    }
  }
}

// The value halfway between two pixel centres is the mean of their values, even across the border
// of the periodic grid.
TEST(Spectrum, ReadsBilinearlyAndPeriodically) {
  const Spectrum functor(with(Spectrum::Palette::grey));
  Painted p(with(Spectrum::Palette::grey), 2, 16);
  const auto shown = [&](float x, float y, bool on_grid) {
    p.scene.on_grid = on_grid;
    PixelRun<1> run{{x}, {y}, 1, 0, 0};
    ColourRun<1> colour;
    functor.shade(p.scene, p.cells.data(), run, colour);
    return static_cast<double>(colour.r[0]);
  };
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x) {
      const float cx = static_cast<float>(x) + 0.5f, cy = static_cast<float>(y) + 0.5f;
      const double here = shown(cx, cy, true);
      EXPECT_NEAR(shown(cx, cy, false), here, 1e-6);
      EXPECT_EQ(shown(cx - 16, cy + 32, true), here);
      const double right = shown(x == 15 ? 0.5f : cx + 1, cy, true);
      const double below = shown(cx, y == 15 ? 0.5f : cy + 1, true);
      EXPECT_NEAR(shown(cx + 0.5f, cy, false), (here + right) / 2, 1e-6);
      EXPECT_NEAR(shown(cx, cy + 0.25f, false), 0.75 * here + 0.25 * below, 1e-6);
    }
  }
}

// Over 4000 samples the slope is uniform and the tilt is normal; the label is the cell of both.
TEST(Spectrum, LatentsAndLabelsHaveTheExpectedDistribution) {
  const Spectrum functor({});
  std::vector<double> slopes, tilts;
  for (std::uint64_t sample = 0; sample < 4000; ++sample) {
    Truth<Spectrum::kLatents> truth;
    functor.draw({{3, sample}, {}, {64, 64, 3}}, {}, truth);
    slopes.push_back(truth.latents[0]);
    tilts.push_back(truth.latents[1]);
    EXPECT_NEAR(2 * (slopes.back() - 0.5), truth.label / 2 + 0.5, 0.5 + 1e-5);
    EXPECT_EQ(tilts.back() > 0 ? 1 : 0, truth.label % 2);
  }
  EXPECT_GT(test::kolmogorov_p(slopes, [](double s) { return (s - 0.5) / 3; }), test::kGate);
  EXPECT_GT(test::kolmogorov_p(
                tilts, [](double d) { return 0.5 * std::erfc(-d / 0.05 / std::sqrt(2.0)); }),
            test::kGate);
}

TEST(Spectrum, RefusesImpossibleParameters) {
  const auto refused = [](std::vector<ParamSetting> settings) {
    return test::message_of(ErrorKind::config, [&] { make_generator("spectrum", 32, settings); });
  };
  test::expect_parts(refused({{"slope_low", "3.8", {}}}),
                     {"slope_low = 3.8 is larger", "slope_high: 3.8 or more"});
  test::expect_parts(refused({{"tilt", "0.1", {}}}), {"tilt = 0.1 is too wide", "tilt: 0.087"});
  test::expect_parts(refused({{"tilt", "0", {}}}), {"tilt_cells: 1"});
  test::expect_parts(refused({{"slope_high", "0.5", {}}}), {"slope_cells: 1"});
}

}  // namespace
}  // namespace wellspring
