#include "generators/events/ginkgo_shower.h"

#include "tests/generators/events/ginkgo_one.h"
#include "tests/generators/events/ginkgo_reference.h"
#include "tests/support/draw_counter.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wellspring::ginkgo {
namespace {

constexpr double kEpsilon = 0x1p-24;  // largest relative error of rounding to f32

struct Jet {
  std::vector<Branching> branchings;
  std::vector<Parton> finals;
};

struct Law {
  double mass, t_cut, root_rate, rate;
  std::uint64_t seed = 1;
};
constexpr Law kQcd{30, 16, 1.5, 1.5};  // the published parameters
constexpr Law kW{80, 1.21, 3, 1.5};

Jet make_jet(const Law& law, std::uint64_t sample) {
  Jet jet;
  const auto t0 = static_cast<float>(law.mass * law.mass);
  const ShowerCount count = test::shower(
      {law.seed, sample}, 1, t0, static_cast<float>(law.t_cut), Rate::of(law.root_rate),
      Rate::of(law.rate), [&](const Branching& b, bool) { jet.branchings.push_back(b); },
      [&](const Parton& p) { jet.finals.push_back(p); });
  EXPECT_EQ(count.finals, static_cast<int>(jet.finals.size()));
  EXPECT_EQ(count.unfinished, 0);
  return jet;
}

/// A parton in double precision, to measure the rounding errors of its energy, momentum and mass.
struct Four {
  double e, x, y, z;
  static Four of(const Parton& p) {
    const double x = p.p.x, y = p.p.y, z = p.p.z;
    return {std::sqrt(p.t + x * x + y * y + z * z), x, y, z};
  }
  Four operator+(const Four& o) const { return {e + o.e, x + o.x, y + o.y, z + o.z}; }
  double square() const { return e * e - (x * x + y * y + z * z); }
};

// Let u be the rounding error of one operation. `branch` computes a momentum with fewer than 20
// rounding errors of numbers up to the parent's energy E; part 2 is a difference, with one more. So
// each component of momentum is conserved to u E. Each energy follows from mass and momentum and is
// exact to 20 u E. The pair's squared mass is (E1 + E2)^2 - p^2; its error is 2 E times the
// energies' error.
TEST(GinkgoShower, ConservesFourMomentumAtEachBranching) {
  for (const Law& law : {kQcd, kW}) {
    for (std::uint64_t i = 0; i < 1500; ++i) {
      const Jet jet = make_jet(law, i);
      double energies = law.mass, momenta = 0;
      for (const Branching& b : jet.branchings) {
        const Four parent = Four::of(b.parent), pair = Four::of(b.first) + Four::of(b.second);
        ASSERT_NEAR(pair.x, parent.x, 2 * kEpsilon * parent.e);
        ASSERT_NEAR(pair.y, parent.y, 2 * kEpsilon * parent.e);
        ASSERT_NEAR(pair.z, parent.z, 2 * kEpsilon * parent.e);
        ASSERT_NEAR(pair.e, parent.e, 40 * kEpsilon * parent.e);
        ASSERT_NEAR(pair.square(), b.parent.t, 80 * kEpsilon * parent.e * parent.e);
        energies += 40 * kEpsilon * parent.e;
        momenta += 2 * kEpsilon * parent.e;
      }
      energies -= law.mass;
      Four sum{0, 0, 0, 0};
      for (const Parton& p : jet.finals) sum = sum + Four::of(p);
      ASSERT_NEAR(sum.x, 0, momenta);
      ASSERT_NEAR(sum.y, 0, momenta);
      ASSERT_NEAR(sum.z, 0, momenta);
      ASSERT_NEAR(sum.e, law.mass, energies);
      ASSERT_LT(energies, 3e-3 * law.mass);  // the bound is meaningful
    }
  }
}

TEST(GinkgoShower, StopsAtTheCutOffMass) {
  for (const Law& law : {kQcd, kW, Law{80, 1, 0.01, 0.01}}) {
    const auto t_cut = static_cast<float>(law.t_cut);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const Jet jet = make_jet(law, i);
      ASSERT_EQ(jet.finals.size(), jet.branchings.size() + 1);
      ASSERT_EQ(jet.branchings[0].parent.t, static_cast<float>(law.mass * law.mass));
      for (const Branching& b : jet.branchings) {
        ASSERT_GT(b.parent.t, t_cut);
        ASSERT_GE(b.first.t, 0);
        ASSERT_GE(b.second.t, 0);
        // sqrt t1 + sqrt t2 is below sqrt t by at least 5e-4 of the mass left after part 1, which
        // is more than the rounding errors.
        const double m = std::sqrt(static_cast<double>(b.parent.t));
        ASSERT_LE(
            std::sqrt(static_cast<double>(b.first.t)) + std::sqrt(static_cast<double>(b.second.t)),
            m * (1 + 4 * kEpsilon));
      }
      for (const Parton& p : jet.finals) ASSERT_LE(p.t, t_cut);
    }
  }
}

// A rate of 0.1 gives nearly uniform fractions and therefore the most partons.
TEST(GinkgoShower, FitsTheLargestSpan) {
  const float t_cut = 1;
  const auto t0 = static_cast<float>(kLargestSpan);
  const Rate slow = Rate::of(0.1);
  int largest = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    // The number of waiting partons rises by one per branching and falls by one per final parton.
    int waiting = 0, most = 0;
    test::shower(
        {5, i}, 1, t0, t_cut, slow, slow,
        [&](const Branching& b, bool) {
          most = std::max(most, ++waiting);
          ASSERT_LE(std::min(b.first.t, b.second.t), b.parent.t * 0.25f * (1 + 4e-7f));
        },
        [&](const Parton&) { --waiting; });
    ASSERT_EQ(waiting, -1);
    ASSERT_LT(most, kMostWaiting);
    largest = std::max(largest, most);
  }
  EXPECT_GE(largest, 5);
}

// m0^2 / t_cut = 64,000 = 4^7.98, so fewer than 8.98 partons wait, and nine slots suffice.
TEST(GinkgoShower, ReportsAnUnfinishedShower) {
  const Rate slow = Rate::of(0.1);
  const float t_cut = 0.1f;
  int unfinished = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    int heavy = 0, branchings = 0;
    double sum = 0;
    const ShowerCount count = test::shower(
        {5, i}, 1, 6400, t_cut, slow, slow, [&](const Branching&, bool) { ++branchings; },
        [&](const Parton& p) {
          heavy += p.t > t_cut ? 1 : 0;
          sum += p.energy();
        });
    ASSERT_LE(count.finals, kMostFinals);
    ASSERT_EQ(branchings, count.finals - 1);
    ASSERT_EQ(count.unfinished, heavy);
    ASSERT_NEAR(sum, 80, 0.01);
    unfinished += count.unfinished > 0 ? 1 : 0;
  }
  EXPECT_GT(unfinished, 25);
}

TEST(GinkgoShower, DrawsOneBlockPerBranching) {
  SKIP_UNLESS_DRAWS_ARE_COUNTED();
  for (std::uint64_t i = 0; i < 100; ++i) {
    std::size_t branchings = 0;
    const auto drawn =
        test::blocks_drawn_by([&] { branchings = make_jet(kW, i).branchings.size(); });
    ASSERT_EQ(drawn, branchings);
  }
}

// Let r1 and r2 be two rates at the root. Over jets of rate r2, the mean of p1 / p2 is 1; over jets
// with given constituents, it is the ratio of the sets' likelihoods. So the mean of h(set) (ratio
// of trees - ratio of sets) is 0 for every h. This tests the densities, the Jacobian and the sum
// over trees.
TEST(GinkgoReference, SetRatiosAverageTreeRatios) {
  const Law law{80, 300, 1.5, 1.5};
  const double rate1 = 6, rate2 = law.root_rate;
  std::vector<double> residuals[3];
  for (std::uint64_t i = 0; i < 8000; ++i) {
    const Jet jet = make_jet(law, i);
    if (jet.finals.size() > 10) continue;  // allowed, because this cut depends on the set alone
    std::vector<test::GinkgoConstituent> set;
    for (const Parton& p : jet.finals) {
      const Four f = Four::of(p);
      set.push_back({p.t, f.e, f.x, f.y, f.z});
    }
    const Branching& root = jet.branchings[0];
    const double tree = std::exp(static_cast<double>(Rate::of(rate1).log_density(root)) -
                                 static_cast<double>(Rate::of(rate2).log_density(root)));
    const double whole =
        std::exp(test::GinkgoSetLikelihood(set, law.mass * law.mass, law.t_cut, law.rate)
                     .log_ratio(rate1, rate2));
    residuals[0].push_back(tree - whole);
    residuals[1].push_back((tree - whole) * (whole > 1 ? 1 : 0));
    residuals[2].push_back((tree - whole) * (jet.finals.size() < 5 ? 1 : 0));
  }
  for (const auto& residual : residuals) {
    const test::Moments m = test::moments(residual);
    EXPECT_GT(test::normal_p(m.mean / std::sqrt(m.variance / static_cast<double>(m.count))),
              test::kGate)
        << m.mean;
  }
}

}  // namespace
}  // namespace wellspring::ginkgo
