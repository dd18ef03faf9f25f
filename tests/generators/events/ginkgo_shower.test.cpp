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
#include <numbers>
#include <random>
#include <utility>
#include <vector>

namespace wellspring::ginkgo {
namespace {

using test::GinkgoReference;
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

/// Direction of `child` in the parent's rest frame: cosine to the z axis, and azimuth / (2 pi).
std::pair<double, double> direction_at_rest(const Parton& parent, const Parton& child) {
  const Four p = Four::of(parent), c = Four::of(child);
  const double m = std::sqrt(p.square());
  const double along = p.x * c.x + p.y * c.y + p.z * c.z;
  const double k = (along / (p.e + m) - c.e) / m;  // boosted by -p
  const double x = c.x + k * p.x, y = c.y + k * p.y, z = c.z + k * p.z;
  return {z / std::sqrt(x * x + y * y + z * z), std::atan2(y, x) / (2 * std::numbers::pi) + 0.5};
}

double truncated_exponential(double rate, double x) {
  return std::expm1(-rate * x) / std::expm1(-rate * GinkgoReference::kCut);
}

/// The x at which truncated_exponential() is `share`.
double quantile(double rate, double share) {
  return -std::log1p(share * std::expm1(-rate * GinkgoReference::kCut)) / rate;
}

// With 50,000 numbers the test detects a distance of 0.012, that is, an error of 0.08 in a rate of
// 1.5.
TEST(GinkgoShower, FractionsFollowATruncatedExponential) {
  for (const double rate : {0.1, 1.5, 3.0, 30.0}) {
    const Rate law = Rate::of(rate);
    std::vector<double> values;
    for (std::uint32_t i = 0; i < 50000; ++i) {
      const float value = law.fraction(philox4x32({{i, 0, 0, 0}}, 7).word[0]);
      ASSERT_GE(value, 0);
      ASSERT_LE(value, kLargestFraction);
      values.push_back(value);
    }
    EXPECT_GT(test::kolmogorov_p(values, [&](double x) { return truncated_exponential(rate, x); }),
              test::kGate)
        << rate;
    EXPECT_LE(law.fraction(0xffffffffu), kLargestFraction);
    EXPECT_GE(law.fraction(0), 0);
  }
}

// Tested separately at the root and below it, because the rates differ.
TEST(GinkgoShower, BranchesAsPublished) {
  struct Numbers {
    std::vector<double> a, b, cosine, azimuth;
  } numbers[2];
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const Jet jet = make_jet({30, 16, 3, 1.5}, i);
    for (std::size_t k = 0; k < jet.branchings.size() && k < 3; ++k) {
      const Branching& b = jet.branchings[k];
      const auto [cosine, azimuth] = direction_at_rest(b.parent, b.first);
      Numbers& n = numbers[k == 0 ? 0 : 1];
      n.a.push_back(b.first.t / static_cast<double>(b.parent.t));
      const double left = std::sqrt(static_cast<double>(b.parent.t)) - std::sqrt(b.first.t);
      n.b.push_back(b.second.t / (left * left));
      n.cosine.push_back(cosine);
      n.azimuth.push_back(azimuth);
    }
  }
  for (int below = 0; below < 2; ++below) {
    const Numbers& n = numbers[below];
    const double rate = below == 1 ? 1.5 : 3.0;
    const auto law = [rate](double x) { return truncated_exponential(rate, x); };
    ASSERT_GT(n.a.size(), 15000u);
    EXPECT_GT(test::kolmogorov_p(n.a, law), test::kGate);
    EXPECT_GT(test::kolmogorov_p(n.b, law), test::kGate);
    EXPECT_GT(test::kolmogorov_p(n.cosine, [](double c) { return 0.5 * (c + 1); }), test::kGate);
    EXPECT_GT(test::kolmogorov_p(n.azimuth, [](double u) { return u; }), test::kGate);
    // Independence: three equally likely ranges per number give 81 equally likely cells.
    const auto range = [](double x, double low, double high) {
      return static_cast<std::size_t>((x > low ? 1 : 0) + (x > high ? 1 : 0));
    };
    const double low = quantile(rate, 1. / 3), high = quantile(rate, 2. / 3);
    std::vector<double> cells(81);
    for (std::size_t i = 0; i < n.a.size(); ++i) {
      cells[27 * range(n.a[i], low, high) + 9 * range(n.b[i], low, high) +
            3 * range(n.cosine[i], -1. / 3, 1. / 3) + range(n.azimuth[i], 1. / 3, 2. / 3)] += 1;
    }
    EXPECT_GT(test::uniform_chi_square_p(cells), test::kGate);
  }
}

// Let u be the rounding error of one operation. `branch` computes a momentum with fewer than 20
// roundings of numbers up to the parent's energy E; part 2 is a difference, with one more rounding.
// So each component of momentum is conserved to u E. Each energy follows from mass and momentum and
// is exact to 20 u E. The pair's mass squared is (E1 + E2)^2 - p^2; its error is 2 E times that of
// the energies.
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

// Rounding the masses changes m - m1, the mass left after part 1, by 2 u m. So twice its logarithm
// and the exponent (r times the square of a fraction of it) change by (2 + 2 r) 2 u m / (m - m1),
// also in the other order. The tolerance also covers about 20 roundings of terms below 40.
double log_density_tolerance(double rate, const Branching& b) {
  const double m = std::sqrt(static_cast<double>(b.parent.t));
  const double rest1 = m - std::sqrt(static_cast<double>(b.first.t));
  const double rest2 = m - std::sqrt(static_cast<double>(b.second.t));
  return kEpsilon * (800 + 20 * rate + 4 * (1 + rate) * (m / rest1 + m / rest2));
}
/// True if rounding decides whether the pair could also be drawn in the other order.
bool on_the_edge(const Branching& b) {
  const double t = b.parent.t, t1 = b.first.t, t2 = b.second.t;
  const double rest = std::pow(std::sqrt(t) - std::sqrt(t2), 2);
  return std::abs(t1 / rest - GinkgoReference::kCut) < 1e-5;
}

TEST(GinkgoShower, LogDensityMatchesTheReference) {
  int edges = 0, total = 0;
  double largest = 0;
  for (const Law& law : {kQcd, kW, Law{80, 100, 30, 0.5}}) {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      for (const Branching& b : make_jet(law, i).branchings) {
        ++total;
        if (on_the_edge(b)) {
          ++edges;
          continue;
        }
        for (const double rate : {law.root_rate, law.rate}) {
          const double expected =
              std::log(GinkgoReference::branching(rate, b.parent.t, b.first.t, b.second.t));
          const double error = std::abs(Rate::of(rate).log_density(b) - expected);
          ASSERT_LE(error, log_density_tolerance(rate, b)) << i;
          largest = std::max(largest, log_density_tolerance(rate, b));
        }
      }
    }
  }
  EXPECT_LT(edges, total / 1000);
  EXPECT_LT(largest, 0.1);
}

// The reference's integral over a cell of (t1, t2) is the probability of branching into that cell.
// Uses 10 x 10 cells in sqrt t1 and sqrt t2 and the midpoint rule; merges cells with fewer than 100
// expected pairs.
TEST(GinkgoShower, MassPairsFollowThePublishedDensity) {
  constexpr int kCells = 10, kSteps = 40, kJets = 100000;
  const Law law{30, 16, 3, 1.5};
  const double m = law.mass, side = m / kCells;
  std::vector<double> counts(kCells * kCells), expected(kCells * kCells);
  const auto cell = [&](double mass) {
    return std::min(static_cast<std::size_t>(mass / side), static_cast<std::size_t>(kCells - 1));
  };
  const Rate rate = Rate::of(law.root_rate);
  for (std::uint32_t i = 0; i < kJets; ++i) {
    const Branching b =
        branch({static_cast<float>(m * m), {0, 0, 0}}, rate, philox4x32({{i, 0, 0, 0}}, 3));
    const std::size_t x = cell(std::sqrt(b.first.t)), y = cell(std::sqrt(b.second.t));
    counts[std::min(x, y) * kCells + std::max(x, y)] += 1;
  }
  double total = 0;
  for (int i = 0; i < kCells; ++i) {
    for (int j = 0; j < kCells; ++j) {
      for (int k = 0; k < kSteps * kSteps; ++k) {  // midpoints; dt = 2 m dm
        const double m1 = side * (i + (k / kSteps + 0.5) / kSteps);
        const double m2 = side * (j + (k % kSteps + 0.5) / kSteps);
        if (m1 + m2 >= m) continue;
        const double density =
            4 * std::numbers::pi * GinkgoReference::branching(3, m * m, m1 * m1, m2 * m2);
        expected[static_cast<std::size_t>(std::min(i, j) * kCells + std::max(i, j))] +=
            kJets * density * 4 * m1 * m2 * (side / kSteps) * (side / kSteps);
      }
    }
  }
  for (const double e : expected) total += e;
  EXPECT_NEAR(total / kJets, 1, 2e-3);  // the midpoint rule's error at the edge m1 + m2 = m
  std::vector<double> observed, law_of;
  double few_observed = 0, few = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (expected[k] >= 100) {
      observed.push_back(counts[k]);
      law_of.push_back(expected[k]);
    } else {
      few_observed += counts[k];
      few += expected[k];
    }
  }
  if (few > 0) {
    observed.push_back(few_observed);
    law_of.push_back(few);
  }
  EXPECT_GT(test::chi_square_p(observed, law_of), test::kGate);
}

// Two-sample test with 20,000 jets each from the generator and from the reference.
TEST(GinkgoShower, CountsMatchAnIndependentRecursion) {
  for (const Law& law : {kQcd, kW}) {
    constexpr std::size_t kJets = 20000;
    std::vector<double> ours(128), theirs(128);
    std::mt19937_64 random(12);
    double sum = 0;
    for (std::uint64_t i = 0; i < kJets; ++i) {
      const auto count = static_cast<double>(make_jet(law, i).finals.size());
      ours[static_cast<std::size_t>(count)] += 1;
      sum += count;
      theirs[static_cast<std::size_t>(GinkgoReference::count(random, law.mass * law.mass, law.t_cut,
                                                             law.root_rate, law.rate))] += 1;
    }
    // For samples of equal size, sum (a - b)^2 / (a + b) follows chi^2, with one degree of freedom
    // less than there are cells.
    double chi2 = 0, few_ours = 0, few_theirs = 0;
    int cells = 0;
    for (std::size_t k = 0; k < ours.size(); ++k) {
      if (ours[k] + theirs[k] < 20) {
        few_ours += ours[k];
        few_theirs += theirs[k];
        continue;
      }
      ++cells;
      chi2 += std::pow(ours[k] - theirs[k], 2) / (ours[k] + theirs[k]);
    }
    if (few_ours + few_theirs > 0) {
      ++cells;
      chi2 += std::pow(few_ours - few_theirs, 2) / (few_ours + few_theirs);
    }
    EXPECT_GT(test::upper_gamma(0.5 * (cells - 1), chi2 / 2), test::kGate);
    // Mean and deviation of 200,000 jets of another program: 7.60 +- 1.93 and 35.57 +- 9.07.
    const double mean = law.t_cut == kQcd.t_cut ? 7.60 : 35.57;
    const double deviation = law.t_cut == kQcd.t_cut ? 1.93 : 9.07;
    EXPECT_NEAR(sum / kJets, mean, 0.005 + 5 * deviation * std::sqrt(1. / kJets + 1. / 200000));
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

// m0^2 / t_cut = 64,000 = 4^7.98 needs nine slots, but at most eight partons can wait.
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
