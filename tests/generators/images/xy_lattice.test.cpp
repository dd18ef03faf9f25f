#include "generators/images/xy_lattice.h"

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

namespace wellspring {
namespace {

using Lattice = test::XySpins;
using test::bessel;
using test::distance;
using test::field;
constexpr double kTau = test::kWholeTurn;

// ---- one spin -----------------------------------------------------------------------------------

/// A draw by the rules of the generator, from the blocks 2 i and 2 i + 1.
bool draw(const xy::VonMises& law, const SampleRng& rng, std::uint32_t i, xy::Direction& to) {
  for (std::uint32_t k = 0; k < xy::kBlocks; ++k) {
    const Philox4 words = rng.block(Purpose::noise, xy::kBlocks * i + k);
    if (law.propose(words.word[0], words.word[1], to)) return true;
    if (law.propose(words.word[2], words.word[3], to)) return true;
  }
  return false;
}

// 400 000 angles each, two tests of five laws: Kolmogorov's, and the mean of the cosine, I_1 / I_0,
// in which 2 % of kappa are 8 standard errors.
TEST(XyHeatBath, AnglesFollowVonMises) {
  for (const double kappa : {0.0, 0.02, 1.0, 4.0, 80.0}) {
    constexpr std::uint32_t kCount = 400000;
    std::vector<double> angles, cosines;
    double farthest = 0;
    std::uint32_t failed = 0;
    const xy::VonMises law(static_cast<float>(kappa));
    for (std::uint32_t i = 0; i < kCount; ++i) {
      xy::Direction to{};
      if (!draw(law, {11, 12}, i, to)) {
        ++failed;
        continue;
      }
      const double c = double{to.cosine}, s = double{to.sine};
      farthest = std::max(farthest, std::abs(c * c + s * s - 1));
      angles.push_back(std::atan2(s, c));
      cosines.push_back(2 * std::pow(std::sin(0.5 * angles.back()), 2));
    }
    // Rounding of one division and some sums, which 1 - cos(turn) = 2^-6 magnifies at kappa = 80.
    EXPECT_LT(farthest, 1e-5) << kappa;
    // A third is refused at large kappa: 0.3427^4 = 1 / 72.5 of four tries.
    EXPECT_LT(failed, kCount / 72.5 + 5 * std::sqrt(kCount / 72.5)) << kappa;
    if (kappa == 0) {
      EXPECT_EQ(failed, 0u);
    }
    // The distribution function on a fine grid, linear between.
    constexpr int kCells = 20000;
    std::vector<double> cdf(kCells + 1);
    for (int i = 0; i < kCells; ++i) {
      const double a = kTau * (i + 0.5) / kCells - std::numbers::pi;
      cdf[static_cast<std::size_t>(i) + 1] =
          cdf[static_cast<std::size_t>(i)] + std::exp(kappa * (std::cos(a) - 1));
    }
    EXPECT_GT(test::kolmogorov_p(
                  angles,
                  [&](double a) {
                    const double place = std::clamp((a / kTau + 0.5) * kCells, 0.0, kCells - 1e-6);
                    const auto cell = static_cast<std::size_t>(place);
                    const double share = place - static_cast<double>(cell);
                    return ((1 - share) * cdf[cell] + share * cdf[cell + 1]) / cdf.back();
                  }),
              test::kGate)
        << kappa;
    const test::Moments m = test::moments(cosines);
    const auto mean = [](double k) { return 1 - bessel(1, k) / bessel(0, k); };
    const double error = std::sqrt(m.variance / static_cast<double>(m.count));
    EXPECT_GT(test::normal_p((m.mean - mean(kappa)) / error), test::kGate) << kappa;
    if (kappa >= 1) {
      EXPECT_GT(std::abs(mean(1.02 * kappa) - mean(kappa)), 5 * error) << kappa;
    }
  }
}

// ---- against a plain reference ------------------------------------------------------------------

/// Best and Fisher's own formulae, in double precision: the angle to the field, or a third element
/// near 0 where one of the tries was decided by less than rounding.
struct PlainDraw {
  double angle = 0;
  bool found = false;
  double margin = 1;
};
PlainDraw best_fisher(double kappa, const SampleRng& rng, std::uint32_t site) {
  const double tau = 1 + std::sqrt(1 + 4 * kappa * kappa);
  const double rho = (tau - std::sqrt(2 * tau)) / (2 * kappa);
  const double r = (1 + rho * rho) / (2 * rho);
  PlainDraw result;
  for (std::uint32_t k = 0; k < 4 && !result.found; ++k) {
    const Philox4 words = rng.block(Purpose::noise, 2 * site + k / 2);
    const double turns = double{unit_float(words.word[k % 2 * 2])};
    const double u = double{unit_float(words.word[k % 2 * 2 + 1])};
    const double z = std::cos(kTau * turns);
    const double f = (1 + r * z) / (r + z), c = kappa * (r - f);
    const double ratio = c * std::exp(1 - c);
    result.margin = std::min(result.margin, std::abs(u - ratio));
    result.found = u < ratio;
    result.angle = (turns < 0.5 ? 1 : -1) * std::acos(std::clamp(f, -1.0, 1.0));
  }
  return result;
}

// Sides whose colours have a number of spins that no block of four words divides, too.
TEST(Xy, ChainsBeginColdOrHot) {
  for (const int side : {4, 6, 18, 32}) {
    Lattice lattice(side);
    const XyLattice rule = lattice.relax(1, 8, 0, true);
    for (int i = 0; i < side * side; ++i) {
      const int colour = i < side * side / 2 ? 0 : 1;
      const int row = (i - colour * side * side / 2) / (side / 2);
      const int column = 2 * (i % (side / 2)) + (row + colour) % 2;
      const Philox4 words = rule.rng.block(Purpose::init, static_cast<std::uint32_t>(i / 4));
      ASSERT_LT(distance(lattice.angle(column, row), kTau * double{unit_float(words.word[i % 4])}),
                1e-6)
          << side << ", site " << i;
    }
    rule.begin(lattice.team, lattice.work, false, 0.3f);
    for (const double angle : lattice.angles()) ASSERT_LT(distance(angle, 0.3 * kTau), 1e-6);
  }
}

/// What a sweep of either kind makes of a lattice, site by site, in double precision.
TEST(Xy, SweepsAreTheirRulesOnEverySide) {
  constexpr double kT = 0.8, kCoupling = 0.7;
  for (const int side : {4, 6, 16, 18, 34}) {
    Lattice lattice(side);
    const XyLattice rule = lattice.relax(kT, 5, 0, true, kCoupling);
    for (std::uint32_t n = 0; n < 3; ++n) {
      std::vector<double> angles = lattice.angles();
      int left_alone = 0;
      for (int colour = 0; colour < 2; ++colour) {
        std::uint32_t site = n * static_cast<std::uint32_t>(side * side) +
                             static_cast<std::uint32_t>(colour * side * side / 2);
        for (int y = 0; y < side; ++y) {
          for (int x = 0; x < side; ++x) {
            if ((x + y) % 2 != colour) continue;
            const auto [hx, hy] = field(angles, side, x, y, kCoupling);
            const PlainDraw to = best_fisher(std::hypot(hx, hy) / kT, rule.rng, site++);
            ASSERT_GT(to.margin, 1e-6) << "choose another seed";
            double& angle = angles[static_cast<std::size_t>(y * side + x)];
            if (to.found) angle = std::atan2(hy, hx) + to.angle;
            left_alone += to.found ? 0 : 1;
          }
        }
      }
      rule.heat_bath(lattice.team, lattice.work, n);
      // Single precision: some ten roundings of vectors of length 1, divided by fields, of which
      // the least of some thousand has a length of about 0.03. The second colour sees the first's.
      for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x)
          ASSERT_LT(distance(lattice.angle(x, y), angles[static_cast<std::size_t>(y * side + x)]),
                    1e-3)
              << "heat bath, side " << side << ", " << x << ", " << y;
      EXPECT_LT(left_alone, side * side / 10);

      angles = lattice.angles();
      for (int colour = 0; colour < 2; ++colour) {
        for (int y = 0; y < side; ++y) {
          for (int x = 0; x < side; ++x) {
            if ((x + y) % 2 != colour) continue;
            const auto [hx, hy] = field(angles, side, x, y, kCoupling);
            double& angle = angles[static_cast<std::size_t>(y * side + x)];
            angle = 2 * std::atan2(hy, hx) - angle;
          }
        }
      }
      const double before = lattice.energy(kCoupling);
      rule.over_relax(lattice.team, lattice.work);
      for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x)
          ASSERT_LT(distance(lattice.angle(x, y), angles[static_cast<std::size_t>(y * side + x)]),
                    1e-3)
              << "over-relaxation, side " << side << ", " << x << ", " << y;
      // Each spin's rounding costs it some 2^-22.
      EXPECT_NEAR(lattice.energy(kCoupling), before, side * side * std::ldexp(1.0, -22));
    }
  }
}

// Over-relaxation takes energy from nobody: 2000 sweeps, each spin off by some 2^-22 with either
// sign; and spins stay of length 1.
TEST(Xy, OverRelaxationKeepsTheEnergy) {
  Lattice lattice(16);
  const XyLattice rule = lattice.relax(0.7, 3, 4);
  const double before = lattice.energy();
  const std::vector<double> start = lattice.angles();
  for (int i = 0; i < 2000; ++i) rule.over_relax(lattice.team, lattice.work);
  EXPECT_NEAR(lattice.energy(), before, 256 * std::sqrt(2000.0) * std::ldexp(1.0, -22));
  double moved = 0;
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x) {
      EXPECT_NEAR(std::hypot(lattice.x(x, y), lattice.y(x, y)), 1, 1e-4);
      moved += distance(lattice.angle(x, y), start[static_cast<std::size_t>(16 * y + x)]) / 256;
    }
  }
  EXPECT_GT(moved, 0.3);
}

// ---- vortices -----------------------------------------------------------------------------------

TEST(Xy, VorticesAddUpToNothing) {
  for (const int side : {4, 6, 18, 64}) {
    for (std::uint64_t sample = 0; sample < 20; ++sample) {
      Lattice lattice(side);
      const XyLattice rule = lattice.relax(2, sample, sample % 2 == 0 ? 0 : 2, true);
      rule.measure(lattice.team, lattice.work);
      int sum = 0, positive = 0, beyond = 0;
      for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) {
          const int winding = rule.winding(lattice.work.words, x, y);
          sum += winding;
          positive += std::max(winding, 0);
          beyond += std::abs(winding) > 1 ? 1 : 0;
        }
      }
      EXPECT_EQ(sum, 0);
      EXPECT_EQ(beyond, 0);
      EXPECT_EQ(positive, lattice.work.sums->vortices);
      if (side == 64) {
        EXPECT_GT(positive, 100);
      }
    }
  }
}

// Where spins stand opposite to each other neither way is the short one, and still each bond counts
// once for either plaquette.
TEST(Xy, VorticesOfOppositeSpinsAddUpToNothing) {
  constexpr int kSide = 8;
  Lattice lattice(kSide);
  for (std::uint32_t sample = 0; sample < 20; ++sample) {
    for (int i = 0; i < kSide * kSide; ++i) {
      const Philox4 words =
          SampleRng{1, sample}.block(Purpose::init, static_cast<std::uint32_t>(i));
      lattice.turn(i % kSide, i / kSide, kTau / 4 * below(words.word[0], 4));
    }
    const XyLattice rule = {lattice.shape, 1, 1, {}};
    rule.measure(lattice.team, lattice.work);
    int sum = 0, vortices = 0;
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        sum += rule.winding(lattice.work.words, x, y);
        vortices += rule.winding(lattice.work.words, x, y) != 0 ? 1 : 0;
      }
    }
    EXPECT_EQ(sum, 0);
    EXPECT_GT(vortices, 0);
  }
}

TEST(Xy, VorticesAreWhereAnglesGoRound) {
  // A vortex and one that turns back, 8 plaquettes apart on a side of 16; their images far away
  // bend the angles, but not by half a turn.
  constexpr int kSide = 16;
  Lattice lattice(kSide);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      double angle = 0;
      for (int image = -2; image <= 2; ++image) {
        const double row = y - 7.5 + kSide * image;
        angle += std::atan2(row, x - 3.5) - std::atan2(row, x - 11.5);
      }
      lattice.turn(x, y, angle);
    }
  }
  const XyLattice rule = {lattice.shape, 1, 1, {}};
  rule.measure(lattice.team, lattice.work);
  EXPECT_EQ(std::abs(rule.winding(lattice.work.words, 3, 7)), 1);
  EXPECT_EQ(rule.winding(lattice.work.words, 11, 7), -rule.winding(lattice.work.words, 3, 7));
  EXPECT_EQ(rule.winding(lattice.work.words, 8, 2), 0);
  EXPECT_EQ(lattice.work.sums->vortices, 1);
}

}  // namespace
}  // namespace wellspring
