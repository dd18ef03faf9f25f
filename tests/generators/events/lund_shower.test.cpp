#include "generators/events/lund_shower.h"

#include "export/samples.h"
#include "generators/generator.h"
#include "tests/generators/events/jet_row.h"
#include "tests/support/error_testing.h"
#include "tests/support/one_event.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace wellspring {
namespace {

using Params = LundShower::Params;

constexpr double kEpsilon = 0x1p-24;

using Row = test::JetRow<LundShower, 7>;

std::vector<Row> make_rows(const Params& params, std::uint64_t count) {
  const LundShower shower(params);
  std::vector<Row> rows(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    test::make_one(shower, {named_key(29, "lund_shower"), i}, rows[i], rows[i].truth);
  }
  return rows;
}

Params one_class(const std::string& name) {
  Params params;
  params.classes = {name};
  params.columns = LundShower::Columns::lund;
  return params;
}

double factor(const std::string& name) {
  return name == "gluon" ? 3 : 4.0 / 3;
}
double density(const Params& params, double colour) {
  return 2 * params.alpha_s * colour / std::numbers::pi;
}
double room(const Params& params, double kt) {
  return std::log(params.pt_low * params.radius / kt);
}

/// Chi-square test against a Poisson distribution; merges counts expected less than ten times.
double poisson_p(const std::vector<int>& counts, double mean) {
  std::vector<double> observed, expected;
  double rest_expected = static_cast<double>(counts.size()), rest_observed = rest_expected;
  double low_observed = 0, low_expected = 0;
  for (int n = 0; rest_expected > 10; ++n) {
    const double p = std::exp(n * std::log(mean) - mean - std::lgamma(n + 1));
    low_expected += p * static_cast<double>(counts.size());
    low_observed += static_cast<double>(std::ranges::count(counts, n));
    const bool last = rest_expected - p * static_cast<double>(counts.size()) < 10;
    rest_expected -= p * static_cast<double>(counts.size());
    rest_observed -= static_cast<double>(std::ranges::count(counts, n));
    if (low_expected < 10 || last) continue;
    observed.push_back(low_observed);
    expected.push_back(low_expected);
    low_observed = low_expected = 0;
  }
  observed.push_back(rest_observed + low_observed);
  expected.push_back(rest_expected + low_expected);
  return test::chi_square_p(observed, expected);
}

double log_kt(const Row& row, const std::array<float, 7>& item) {
  return std::log(double{row.truth.latents[LundShower::kPt]}) - double{item[4]} - double{item[5]};
}

// The number of primary emissions above any kt is Poisson distributed, even when gluons radiate.
// Its mean is the area of the Lund plane above kt. With 20,000 jets, an error of 3 % in the
// coupling is 5.7 standard errors for quarks and more for gluons. 16 tests at a significance of
// 10^-6.
TEST(LundShower, EmissionsAboveACutArePoissonDistributed) {
  for (const std::string name : {"quark", "gluon"}) {
    for (const auto cascade : {LundShower::Cascade::primary, LundShower::Cascade::full}) {
      Params params = one_class(name);
      params.cascade = cascade;
      const std::vector<Row> rows = make_rows(params, 20000);
      for (const double cut : {1.0, 10.0}) {
        const double l = room(params, cut);
        const double mean = density(params, factor(name)) * l * l / 2;
        std::vector<int> counts;
        double sum = 0;
        for (const Row& row : rows) {
          const auto above = std::ranges::count_if(row.items, [&](const auto& item) {
            return item[6] == 1 && log_kt(row, item) > std::log(cut) - 1e-5;
          });
          counts.push_back(static_cast<int>(above));
          sum += static_cast<double>(above);
          if (cut == 1.0) {
            ASSERT_EQ(row.truth.latents[LundShower::kEmissions], static_cast<float>(above));
          }
        }
        EXPECT_GT(poisson_p(counts, mean), test::kGate) << name << " above " << cut;
        EXPECT_GT(test::normal_p((sum / 20000 - mean) / std::sqrt(mean / 20000)), test::kGate)
            << name << " above " << cut << ": " << sum / 20000 << ", " << mean;
      }
    }
  }
}

// Emissions fill the triangle uniformly: 1 - (1 - down / L)^2 and softer / (L - down) are uniform.
TEST(LundShower, EmissionsFillTheLundPlaneUniformly) {
  const Params params = one_class("gluon");
  const double l = room(params, params.kt_cut);
  std::vector<double> down, softer;
  for (const Row& row : make_rows(params, 10000)) {
    for (const auto& item : row.items) {
      if (item[6] != 1) continue;
      const double d = double{item[4]} + std::log(params.radius);
      ASSERT_TRUE(d > -1e-5 && item[5] >= 0 && d + double{item[5]} < l + 1e-5);
      down.push_back(1 - std::pow(1 - d / l, 2));
      softer.push_back(double{item[5]} / (l - d));
    }
  }
  const auto uniform = [](double u) { return std::clamp(u, 0.0, 1.0); };
  EXPECT_GT(test::kolmogorov_p(down, uniform), test::kGate);
  EXPECT_GT(test::kolmogorov_p(softer, uniform), test::kGate);
}

// The probability of no emission above kt is exp(-rho ln^2(p R / kt) / 2). A binomial test checks
// it at the cut, and the cumulative distribution of the hardest emission checks it elsewhere. With
// 40,000 jets, an error of 4 % in the coupling is six standard errors.
TEST(LundShower, HardestEmissionFollowsTheSudakovFactor) {
  for (const std::string name : {"quark", "gluon"}) {
    Params params = one_class(name);
    if (name == "gluon") params.alpha_s = 0.05;
    params.cascade = LundShower::Cascade::primary;
    constexpr std::uint64_t kJets = 40000;
    const double rho = density(params, factor(name)), l = room(params, params.kt_cut);
    const double none = std::exp(-rho * l * l / 2);
    std::vector<double> hardest;
    for (const Row& row : make_rows(params, kJets)) {
      const auto& latents = row.truth.latents;
      if (latents[LundShower::kEmissions] == 0) {
        ASSERT_EQ(latents[LundShower::kLogKt], static_cast<float>(std::log(params.kt_cut)));
        continue;
      }
      double highest = -1e30;
      std::array<float, 7> first{};
      for (const auto& item : row.items) {
        if (item[6] != 1 || log_kt(row, item) <= highest) continue;
        highest = log_kt(row, item);
        first = item;
      }
      ASSERT_NEAR(latents[LundShower::kLogKt], highest, 1e-5);
      ASSERT_NEAR(latents[LundShower::kLogInverseAngle], first[4], 2e-5);
      ASSERT_NEAR(latents[LundShower::kLogInverseZ], first[5], 2e-5);
      const double area = std::pow(room(params, std::exp(double{latents[LundShower::kLogKt]})), 2);
      hardest.push_back((1 - std::exp(-rho * area / 2)) / (1 - none));
    }
    const double share = 1 - static_cast<double>(hardest.size()) / kJets;
    EXPECT_GT(test::normal_p((share - none) / std::sqrt(none * (1 - none) / kJets)), test::kGate)
        << name << ": " << share << ", " << none;
    EXPECT_GT(test::kolmogorov_p(hardest, [](double u) { return std::clamp(u, 0.0, 1.0); }),
              test::kGate);
  }
}

// With x = L sqrt(2 alpha_s C_A / pi), the generating function of the number of partons of a gluon,
// G = u exp(K), K'' = rho (G - 1), gives the mean n = cosh x and K_uu = q = cosh(2x) / 6 + 1/2 -
// (2/3) cosh x, so the variance is n - 1 + q. A quark has C_F / C_A times the cumulants of n - 1.
// An error of 2 % in the coupling is six standard errors of a gluon's mean.
TEST(LundShower, MultiplicityMatchesAngularOrdering) {
  for (const std::string name : {"quark", "gluon"}) {
    const Params params = one_class(name);
    constexpr double kJets = 20000;
    const double share = factor(name) / 3;
    const double x = room(params, params.kt_cut) * std::sqrt(density(params, 3));
    const double q = std::cosh(2 * x) / 6 + 0.5 - 2 * std::cosh(x) / 3;
    const double mean = 1 + share * (std::cosh(x) - 1);
    const double variance = share * (std::cosh(x) - 1 + q);
    std::vector<double> counts;
    for (const Row& row : make_rows(params, 20000)) {
      ASSERT_EQ(row.count, static_cast<int>(row.items.size()));
      ASSERT_EQ(row.truth.latents[LundShower::kConstituents], static_cast<float>(row.count));
      counts.push_back(row.count);
    }
    const test::Moments m = test::moments(counts);
    EXPECT_GT(test::normal_p((m.mean - mean) / std::sqrt(variance / kJets)), test::kGate)
        << name << ": " << m.mean << ", " << mean;
    double fourth = 0;
    for (const double n : counts) fourth += std::pow(n - m.mean, 4) / kJets;
    const double error = std::sqrt((fourth - m.variance * m.variance) / kJets);
    EXPECT_GT(test::normal_p((m.variance - variance) / error), test::kGate)
        << name << ": " << m.variance << ", " << variance;
  }
}

struct Four {
  double e = 0, x = 0, y = 0, z = 0;
  Four() = default;
  explicit Four(const std::array<float, 7>& v) : e(v[0]), x(v[1]), y(v[2]), z(v[3]) {}
  Four operator+(const Four& o) const {
    Four sum = *this;
    sum.e += o.e;
    sum.x += o.x;
    sum.y += o.y;
    sum.z += o.z;
    return sum;
  }
  double square() const { return e * e - x * x - y * y - z * z; }
  double mass() const { return std::sqrt(std::max(0.0, square())); }
  double pt() const { return std::hypot(x, y); }
  double eta() const { return std::asinh(z / pt()); }
  double dot(const Four& o) const { return e * o.e - x * o.x - y * o.y - z * o.z; }
};

/// Cosine of the angle between `part` and the flight direction of `mother`, in the mother's rest
/// frame.
double cosine(const Four& part, const Four& mother, double part_mass) {
  const double m = mother.mass(), e = part.dot(mother) / m;
  const double p = std::sqrt(std::max(0.0, e * e - part_mass * part_mass));
  const double momentum = std::sqrt(mother.e * mother.e - m * m);
  return (part.e * m - mother.e * e) / (momentum * p);  // E = (E_m e + P p cos) / m
}

// Without radiation the decay products are massless, W and top have their masses and the jet's
// momentum, and decays are isotropic in the rest frames. Momenta have errors of about 20 roundings
// of numbers up to E = 800 GeV; the error of a mass is E / m times as large.
TEST(LundShower, DecaysHeavyPartonsIsotropically) {
  for (const std::string name : {"W", "top"}) {
    Params params = one_class(name);
    params.alpha_s = 0;
    const double mass = name == "W" ? params.w_mass : params.top_mass;
    std::vector<double> of_w, of_b;
    for (const Row& row : make_rows(params, 10000)) {
      ASSERT_EQ(row.items.size(), name == "W" ? 2u : 3u);
      Four sum;
      for (const auto& item : row.items) sum = sum + Four(item);
      const auto& latents = row.truth.latents;
      ASSERT_NEAR(sum.mass(), mass, 20 * kEpsilon * 800 * 800 / mass);
      ASSERT_NEAR(sum.pt(), 500, 20 * kEpsilon * 800);
      ASSERT_NEAR(sum.eta(), latents[LundShower::kEta], 40 * kEpsilon * 800 / 500);
      ASSERT_NEAR(std::remainder(std::atan2(sum.y, sum.x) - double{latents[LundShower::kPhi]},
                                 2 * std::numbers::pi),
                  0, 40 * kEpsilon * 800 / 500);
      // The pair whose mass is closest to the W mass.
      std::size_t b = 0;
      double nearest = 1e30;
      Four w = sum;
      for (std::size_t k = 0; name == "top" && k < 3; ++k) {
        const Four pair = Four(row.items[(k + 1) % 3]) + Four(row.items[(k + 2) % 3]);
        if (std::abs(pair.mass() - params.w_mass) > nearest) continue;
        nearest = std::abs(pair.mass() - params.w_mass);
        b = k;
        w = pair;
      }
      ASSERT_NEAR(w.mass(), params.w_mass, 20 * kEpsilon * 800 * 800 / params.w_mass);
      if (name == "top") of_b.push_back(cosine(Four(row.items[b]), sum, 0));
      // The two are sorted by momentum, so the test uses them alternately.
      const std::size_t first = name == "top" ? (b + 1) % 3 : 0;
      const double c = cosine(Four(row.items[first]), w, 0);
      of_w.push_back(of_w.size() % 2 == 0 ? c : -c);
    }
    const auto even = [](double c) { return std::clamp(0.5 * (1 + c), 0.0, 1.0); };
    EXPECT_GT(test::kolmogorov_p(of_w, even), test::kGate) << name;
    if (name == "top") {
      EXPECT_GT(test::kolmogorov_p(of_b, even), test::kGate);
    }
  }
}

// Splittings conserve the sum of transverse momenta and the mean direction up to rounding: each
// adds one or two roundings of pt and of a coordinate below 4, and f32 momenta lose about 4
// roundings of a coordinate.
TEST(LundShower, RecoilConservesMomentumAndDirection) {
  for (const std::string name : {"quark", "gluon", "W", "top"}) {
    Params params = one_class(name);
    const std::vector<Row> rows = make_rows(params, 2000);
    params.alpha_s = 0;
    const std::vector<Row> bare = make_rows(params, 2000);
    const auto sums = [](const Row& row) {
      std::array<double, 3> sum{};
      for (const auto& item : row.items) {
        const Four p(item);
        const double phi =
            std::remainder(std::atan2(p.y, p.x) - double{row.truth.latents[LundShower::kPhi]},
                           2 * std::numbers::pi);
        sum[0] += p.pt();
        sum[1] += p.pt() * p.eta();
        sum[2] += p.pt() * phi;
      }
      return sum;
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto whole = sums(rows[i]), prongs = sums(bare[i]);
      const double n = static_cast<double>(rows[i].items.size());
      ASSERT_NEAR(whole[0], prongs[0], 4 * (n + 10) * kEpsilon * prongs[0]);
      // An azimuth beyond half a turn wraps around.
      const bool around = std::ranges::any_of(rows[i].items, [&](const auto& item) {
        const double phi = std::atan2(item[2], item[1]) - double{rows[i].truth.latents[2]};
        return std::cos(phi) < 0;
      });
      for (std::size_t k = 1; k < (around ? 2u : 3u); ++k)
        ASSERT_NEAR(whole[k], prongs[k], 16 * (n + 10) * kEpsilon * prongs[0]) << name << i;
      Four sum;
      for (const auto& item : rows[i].items) {
        ASSERT_NEAR(Four(item).square(), 0, 16 * kEpsilon * std::pow(item[0], 2));
        sum = sum + Four(item);
      }
      for (std::size_t k = 0; k < 4; ++k) {
        const std::array<double, 4> all = {sum.e, sum.x, sum.y, sum.z};
        ASSERT_NEAR(rows[i].jet[k], all[k], 2 * (n + 10) * kEpsilon * sum.e);
      }
    }
  }
}

TEST(LundShower, KeepsTheHardestConstituentsInOrder) {
  Params all, some;
  some.items = 5;
  const std::vector<Row> whole = make_rows(all, 300);
  for (const Row& row : whole) {
    for (std::size_t k = 1; k < row.items.size(); ++k) {
      ASSERT_GE(Four(row.items[k - 1]).pt() * (1 + 8 * kEpsilon), Four(row.items[k]).pt());
    }
  }
  const auto generator =
      make_generator("lund_shower", 1, {{"items", "5", {}}, {"columns", "lund", {}}});
  SampleMaker maker(*generator, {Device::cpu(), 64, 0});
  std::uint64_t samples = 0, items = 0;
  std::size_t jets = 0;
  maker.make({29, 0, 300}, [&](const HostSamples& made) {
    for (std::size_t i = 0; i < made.label().size(); ++i, ++jets) {
      const Row& row = whole[jets];
      const auto kept = std::min<std::size_t>(5, row.items.size());
      ASSERT_EQ(made.items()[i], static_cast<std::int32_t>(kept));
      for (std::size_t k = 0; k < kept; ++k) {
        for (std::size_t f = 0; f < 4; ++f)
          ASSERT_EQ(made.x()[i * 35 + k * 7 + f], row.items[k][f]);
      }
      samples += row.items.size() > 5 ? 1 : 0;
      items += row.items.size() - kept;
    }
  });
  EXPECT_EQ(maker.overflow().samples, samples);
  EXPECT_EQ(maker.overflow().items, items);
  EXPECT_GT(items, 100u);
}

// With a coupling of 1, a cascade would produce thousands of partons.
TEST(LundShower, ReportsUnfinishedCascades) {
  Params params = one_class("gluon");
  params.alpha_s = 1;
  params.kt_cut = 0.01;
  for (const Row& row : make_rows(params, 50)) {
    ASSERT_EQ(row.items.size(), 128u);
    ASSERT_GT(row.truth.latents[LundShower::kUnfinished], 0);
    ASSERT_EQ(row.count, 128 + static_cast<int>(row.truth.latents[LundShower::kUnfinished]));
    double pt = 0;
    for (const auto& item : row.items) pt += Four(item).pt();
    ASSERT_NEAR(pt, 500, 128 * 8 * kEpsilon * 500);
  }
}

double poisson(double mean, int n) {
  return std::exp(n * std::log(mean) - mean - std::lgamma(n + 1));
}

// The optimal score is the number of emissions. With 20,000 jets, the standard errors are below 0.5
// / sqrt(10,000) for areas and below 0.5 / sqrt(20,000) for accuracies.
TEST(LundShower, ReportsTheOptimumForQuarksAgainstGluons) {
  Params params;
  params.classes = {"quark", "gluon"};
  params.cascade = LundShower::Cascade::primary;
  const SampleInfo info = LundShower::describe(params);
  const double l = room(params, params.kt_cut);
  const double quark = density(params, 4.0 / 3) * l * l / 2, gluon = density(params, 3) * l * l / 2;
  double area = 0, accuracy = 0;
  for (int n = 0; n < 60; ++n) {
    accuracy += 0.5 * std::max(poisson(quark, n), poisson(gluon, n));
    for (int k = 0; k <= n; ++k) area += (k == n ? 0.5 : 1) * poisson(gluon, n) * poisson(quark, k);
  }
  EXPECT_NEAR(info.best_result("accuracy").value(), accuracy, 1e-9);
  EXPECT_NEAR(info.best_result("area under the curve").value(), area, 1e-9);

  const double cut = (gluon - quark) / std::log(gluon / quark);
  double right = 0, above = 0, quarks = 0;
  std::array<std::array<double, 128>, 2> numbers{};
  for (const Row& row : make_rows(params, 20000)) {
    const std::size_t n = row.items.size() - 1;
    right += (static_cast<double>(n) > cut ? 1 : 0) == row.truth.label ? 1 : 0;
    numbers[static_cast<std::size_t>(row.truth.label)][n] += 1;
  }
  double gluons = 0;
  for (std::size_t n = 0; n < 128; ++n) {
    above += numbers[1][n] * (quarks + 0.5 * numbers[0][n]);
    quarks += numbers[0][n];
    gluons += numbers[1][n];
  }
  EXPECT_NEAR(right / 20000, accuracy, 5 * 0.5 / std::sqrt(20000.0));
  EXPECT_NEAR(above / (quarks * gluons), area, 5 * 0.5 / std::sqrt(10000.0));

  params.pt_high = 2000;  // momenta are observable, so the optimum is an average over them
  const double wide = LundShower::describe(params).best_result("accuracy").value();
  EXPECT_GT(wide, accuracy);
  params.cascade = LundShower::Cascade::full;
  EXPECT_TRUE(LundShower::describe(params).best.empty());
}

TEST(LundShower, RefusesImpossibleParameters) {
  const auto refused = [](auto change) {
    Params params;
    change(params);
    return test::message_of(ErrorKind::config, [&] { LundShower{params}; });
  };
  test::expect_parts(refused([](auto& p) {
                       p.classes = {"quark", "Top"};
                     }),
                     {"names 'Top', which is unknown", "top"});
  test::expect_parts(refused([](auto& p) { p.classes = {"W", "W"}; }), {"names W twice"});
  test::expect_parts(refused([](auto& p) { p.classes = {}; }), {"classes is empty", "quark"});
  test::expect_parts(refused([](auto& p) { p.pt_low = 600; }), {"pt_low = 600 is larger"});
  test::expect_parts(refused([](auto& p) { p.kt_cut = 400; }), {"400 GeV", "raise pt_low"});
  test::expect_parts(refused([](auto& p) { p.w_mass = 200; }), {"w_mass is 200", "above w_mass"});
}

}  // namespace
}  // namespace wellspring
