// Compares lattices of `xy` in equilibrium with exactly known distributions.
#include "tests/generators/images/xy_spins.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace wellspring::test {
namespace {

using Lattice = test::XySpins;
constexpr double kTau = test::kWholeTurn;

// ---- against exact distributions ----------------------------------------------------------------

struct Mean {
  double sum = 0, squares = 0;
  int count = 0;
  void add(double value) {
    sum += value;
    squares += value * value;
    ++count;
  }
  double mean() const { return sum / count; }
  double error() const { return std::sqrt((squares / count - mean() * mean()) / count); }
  /// Accepts five standard errors, which are exceeded with a probability of 5.7e-7.
  void expect(double value, const std::string& what) const {
    EXPECT_NEAR(mean(), value, 5 * error()) << what;
  }
};

float helicity(const XySums& sums, double t, int side) {
  const double sites = side * side, unit = 1 / (double{XySums::kUnit} * sites);
  const auto of = [unit](std::int64_t sum) { return static_cast<double>(sum) * unit; };
  return static_cast<float>(
      0.5 * (of(sums.cosine_x) + of(sums.cosine_y) -
             (of(sums.sine_x) * of(sums.sine_x) + of(sums.sine_y) * of(sums.sine_y)) * sites / t));
}

// For 4 x 4 spins, tests/truth/test_xy.py computes energies and helicity moduli to 6 digits by a
// sum over all integer currents (exp(z cos a) = sum of I_n(z) exp(i n a)), where helicity is T
// times the mean square of the current around the torus. Tests both starts.
TEST(Xy, SmallTorusHasItsExactEnergyAndHelicity) {
  struct Exact {
    double t, energy, helicity;
  };
  Lattice lattice(4);
  for (const auto& [t, energy, exact_helicity] :
       {Exact{0.9, -1.493330, 0.713098}, {1.2, -1.221288, 0.512700}, {2.0, -0.607409, 0.107426}}) {
    for (const bool hot : {false, true}) {
      Mean energies, helicities;
      for (std::uint64_t i = 0; i < 20000; ++i) {
        lattice.relax(t, i, 12, hot).measure(lattice.team, lattice.work);
        const XySums& sums = *lattice.work.sums;
        energies.add(-static_cast<double>(sums.cosine_x + sums.cosine_y) /
                     (double{XySums::kUnit} * 16));
        helicities.add(double{helicity(sums, t, 4)});
      }
      const std::string what = "T " + std::to_string(t) + (hot ? ", hot" : ", cold");
      energies.expect(energy, what);
      helicities.expect(exact_helicity, what);
      // Changing T by 2 % changes the energy by 0.02 near T = 1 and by 0.011 at T = 2.
      EXPECT_LT(5 * energies.error(), 0.02 * 0.6) << what;
    }
  }
}

// Without vertical bonds the rows are closed chains. Z is the sum of I_n(1 / T)^side over all n,
// and the energy is minus the derivative of its logarithm; for an infinite chain, this is I_1 / I_0
// per bond.
TEST(Xy, UncoupledRowsBehaveAsChains) {
  constexpr int kSide = 8;
  for (const double t : {0.25, 0.7, 2.0}) {
    double z = 0, slope = 0;
    for (int n = -40; n <= 40; ++n) {
      const double value = bessel(n, 1 / t);
      const double next = 0.5 * (bessel(n - 1, 1 / t) + bessel(n + 1, 1 / t));
      z += std::pow(value, kSide);
      slope += std::pow(value, kSide - 1) * next;
    }
    Lattice lattice(kSide);
    Mean energies;
    for (std::uint64_t i = 0; i < 6000; ++i) {
      lattice.relax(t, i, 24, false, 0).measure(lattice.team, lattice.work);
      energies.add(-static_cast<double>(lattice.work.sums->cosine_x) /
                   (double{XySums::kUnit} * kSide * kSide));
    }
    energies.expect(-slope / z, "T " + std::to_string(t));
    if (t == 2) {
      EXPECT_NEAR(slope / z, bessel(1, 0.5) / bessel(0, 0.5), 1e-4);
    }
    EXPECT_LT(5 * energies.error(), 0.02 * t * 0.4) << "must detect 2 % of T";
  }
}

// For any direction v in the space of angles, <(v . grad E)^2> = T <v . H v>, because Boltzmann's
// factor is its own derivative. Single spins test the heat bath at T. The longest waves reach
// equilibrium last, so they show, from both starts, that the default number of rounds suffices.
TEST(Xy, ForcesBalanceCurvature) {
  for (const auto& [side, t] : {std::pair{8, 0.3}, {24, 0.3}, {24, 0.9}, {16, 1.3}}) {
    for (const bool hot : {false, true}) {
      if (hot && t < 1) continue;  // at low T, the vortices of a hot start annihilate slowly
      Lattice lattice(side);
      Mean single, wave, curvature;
      const auto count = static_cast<std::uint64_t>(360000 / (side * side));
      for (std::uint64_t i = 0; i < count; ++i) {
        lattice.relax(t, i, Xy::Params{}.rounds, hot);
        const std::vector<double> a = lattice.angles();
        const auto of = [&, n = side](int x, int y) {
          return a[static_cast<std::size_t>(y % n * n + x % n)];
        };
        const auto height = [n = side](int x, bool sine) {
          const double phase = kTau * x / n;
          return sine ? std::sin(phase) : std::cos(phase);
        };
        double forces = 0, stiffness = 0;
        double push[4] = {}, bend[4] = {};
        for (int y = 0; y < side; ++y) {
          for (int x = 0; x < side; ++x) {
            const auto [hx, hy] = field(a, side, x, y, 1);
            const double c = std::cos(of(x, y)), s = std::sin(of(x, y));
            const double force = hx * s - hy * c;  // dE / da
            forces += force * force;
            stiffness += hx * c + hy * s;
            const double across = of(x + 1, y) - of(x, y), down = of(x, y + 1) - of(x, y);
            for (int k = 0; k < 4; ++k) {
              const double gap = k < 2 ? height(x + 1, k % 2 == 1) - height(x, k % 2 == 1)
                                       : height(y + 1, k % 2 == 1) - height(y, k % 2 == 1);
              push[k] += gap * std::sin(k < 2 ? across : down);
              bend[k] += gap * gap * std::cos(k < 2 ? across : down);
            }
          }
        }
        single.add((forces - t * stiffness) / (side * side));
        curvature.add(t * stiffness / (side * side));
        for (int k = 0; k < 4; ++k) wave.add((push[k] * push[k] - t * bend[k]) / (t * bend[k]));
      }
      const std::string what = "side " + std::to_string(side) + ", T " + std::to_string(t);
      single.expect(0, what);
      EXPECT_LT(5 * single.error(), 0.02 * curvature.mean()) << what << ": must detect 2 % of T";
      // The square is divided by the curvature of the configuration itself, which varies little.
      // Squares of normal numbers have long tails: for 2500 squares, 6 standard errors are as rare
      // as 5 for a normal number.
      EXPECT_NEAR(wave.mean(), 0, 6 * wave.error()) << what;
    }
  }
}

// At small T, waves are independent. <(a_i - a_j)^2> = T (1 - 1 / sites) / 2, so e = -2 + T / 2 (1
// - 1 / sites) plus terms of order T^2, starting with T^2 / 16; and <m^2> is the mean over r of
// exp(-T (G(0) - G(r))), where G is the waves' propagator and T is raised by that order.
TEST(Xy, SmallTemperaturesHaveIndependentWaves) {
  constexpr int kSide = 12, kSites = kSide * kSide;
  constexpr double kT = 0.08, kEffective = kT * (1 + kT / 4);
  double squared = 0;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      double gap = 0;  // G(0) - G(r)
      for (int q = 0; q < kSide; ++q) {
        for (int p = 0; p < kSide; ++p) {
          if (p + q == 0) continue;
          const double k = 4 - 2 * std::cos(kTau * p / kSide) - 2 * std::cos(kTau * q / kSide);
          gap += (1 - std::cos(kTau * (p * x + q * y) / kSide)) / k / kSites;
        }
      }
      squared += std::exp(-kEffective * gap) / kSites;
    }
  }
  Lattice lattice(kSide);
  Mean energies, squares;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    lattice.relax(kT, i, Xy::Params{}.rounds);
    energies.add(lattice.energy() / kSites);
    squares.add(std::pow(lattice.magnetisation(), 2));
  }
  const double expected = -2 + kT / 2 * (1 - 1.0 / kSites) + kT * kT / 16;
  EXPECT_NEAR(energies.mean(), expected, 5 * energies.error() + 0.5 * std::pow(kT, 3));
  EXPECT_NEAR(squares.mean(), squared, 5 * squares.error() + 0.5 * std::pow(kT, 3));
  EXPECT_LT(5 * energies.error(), 0.02 * kT / 2) << "must detect 2 % of T";
}

// Tests detailed balance of whole sweeps. A reversed sweep starts with the other colour, which
// equals a sweep of the lattice shifted by one site. So <f before, g after> = <g before, f after>
// for shift-invariant f and g.
TEST(Xy, SweepsAreReversible) {
  Lattice lattice(4);
  for (const bool mirror : {false, true}) {
    Mean difference;
    for (std::uint64_t i = 0; i < 20000; ++i) {
      const XyLattice rule = lattice.relax(1.1, i, 12);
      const double e0 = lattice.energy(), m0 = lattice.magnetisation();
      if (mirror) {
        rule.over_relax(lattice.team, lattice.work);
      } else {
        rule.heat_bath(lattice.team, lattice.work, 12);
      }
      const double e1 = lattice.energy(), m1 = lattice.magnetisation();
      difference.add(e0 * m1 * m1 - m0 * m0 * e1);
    }
    difference.expect(0, mirror ? "over-relaxation" : "heat bath");
  }
}

}  // namespace
}  // namespace wellspring::test
