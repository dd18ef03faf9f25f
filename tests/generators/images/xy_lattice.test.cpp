#include "generators/images/xy_lattice.h"

#include "tests/generators/images/xy_spins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace wellspring::test {
namespace {

using Lattice = test::XySpins;
constexpr double kTau = test::kWholeTurn;

// ---- sweeps -------------------------------------------------------------------------------------

// Includes sides where the number of spins per colour is not a multiple of four, the number of
// words per block.
TEST(Xy, StartsColdOrHot) {
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

// Over-relaxation conserves the energy and the unit length of spins. The tolerance is for 2000
// sweeps that change each spin by about 2^-22 with random sign.
TEST(Xy, OverRelaxationConservesEnergy) {
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

TEST(Xy, VorticesSumToZero) {
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

// Between opposite spins, both directions of rotation are equally short, but both plaquettes of a
// bond must use the same direction.
TEST(Xy, VorticesOfOppositeSpinsSumToZero) {
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

TEST(Xy, FindsVortices) {
  // A vortex and an antivortex, 8 plaquettes apart on a lattice of side 16. Their periodic images
  // change the angles by less than half a turn.
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
}  // namespace wellspring::test
