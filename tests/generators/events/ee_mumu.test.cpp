#include "generators/events/ee_mumu.h"

#include "tests/generators/collect.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace wellspring {
namespace {

// Reference values computed independently in double precision: 1 / alpha = 128.952, sin^2 theta_w =
// 0.23153, MZ = 91.1876, GZ = 2.4952, no initial-state radiation.
TEST(EeMumu, AsymmetryAndCrossSectionMatchTheReference) {
  const struct {
    double sqrt_s, asymmetry, picobarn;
  } table[] = {{30, -0.063775, 109.13},
               {60, -0.374133, 29.143},
               {91.1876, 0.016101, 1977.0},
               {110, 0.744344, 18.503},
               {200, 0.555295, 2.9515}};
  for (const auto& row : table) {
    const MuonPairRates rates = MuonPairRates::at(row.sqrt_s, {});
    EXPECT_NEAR(rates.forward_backward_asymmetry(), row.asymmetry, 1e-6) << row.sqrt_s;
    EXPECT_NEAR(rates.cross_section(row.sqrt_s) / row.picobarn, 1, 5e-5) << row.sqrt_s;
  }
}

// With MadGraph5's standard-model constants (1 / alpha = 132.507, MZ = 91.188, GZ = 2.441404, MW =
// 80.419), MadGraph's log gives <|M|^2> = 1.371706e-2 +- 3.27e-6 at 1500 GeV.
TEST(EeMumu, SquaredAmplitudeMatchesMadGraph) {
  const MuonPairRates rates = MuonPairRates::at(1500, {132.507, 0.2222465, 91.188, 2.441404});
  // |M|^2 = s^2 / 4 (same + opposite) (1 +- c)^2; (1 +- c)^2 averages to 4/3.
  EXPECT_NEAR(std::pow(1500, 4) / 4 * (rates.same + rates.opposite) * 4 / 3, 1.371758e-2, 5e-8);
}

TEST(EeMumu, LowEnergyIsPureQed) {
  const MuonPairRates rates = MuonPairRates::at(1, {137.04, 0.23153, 91.1876, 2.4952});
  EXPECT_NEAR(rates.forward_backward_asymmetry(), 0, 1e-4);
  EXPECT_NEAR(rates.cross_section(1), 86.8e3, 0.1e3);  // 86.8 nb GeV^2 / s
}

// With 200,000 events per energy, the Kolmogorov test detects a distance of 0.006 (an error of
// 0.025 in A_FB), and the test of the mean detects an error of 0.009 in A_FB.
TEST(EeMumu, AnglesFollowTheClosedForm) {
  for (const char* energy : {"[30]", "[91.1876]", "[110]"}) {
    const auto samples = test::collect(*make_generator("ee_mumu", 1, {{"energies", energy}}),
                                       {4, 0, 200000}, {Device::cpu(), 65536, 0});
    const double a = MuonPairRates::at(samples.latent(0, 0), {}).forward_backward_asymmetry();
    std::vector<double> cosine, phi, cells(16), rows(4), columns(4);
    double sum = 0, squares = 0, forward = 0;
    for (std::size_t i = 0; i < samples.count(); ++i) {
      const double c = samples.image(i)[0];
      cosine.push_back(c);
      phi.push_back(samples.image(i)[1]);
      sum += c;
      squares += c * c;
      forward += c > 0 ? 1 : 0;
      const auto row = static_cast<std::size_t>((samples.image(i)[0] + 1) * 1.9999f);
      const auto column = static_cast<std::size_t>((samples.image(i)[1] + 1) * 1.9999f);
      cells[row * 4 + column] += 1;
      rows[row] += 1;
      columns[column] += 1;
    }
    const auto n = static_cast<double>(samples.count());
    EXPECT_GT(test::kolmogorov_p(cosine,
                                 [a](double c) {
                                   return 0.5 + 0.375 * (c + c * c * c / 3) + 0.5 * a * (c * c - 1);
                                 }),
              test::kGate)
        << energy;
    EXPECT_GT(test::kolmogorov_p(phi, [](double p) { return 0.5 * (p + 1); }), test::kGate);
    // E[c] = 2 A / 3, E[c^2] = 2 / 5, E[c^4] = 9 / 35.
    const double mean = 2 * a / 3;
    EXPECT_GT(test::normal_p((sum / n - mean) / std::sqrt((0.4 - mean * mean) / n)), test::kGate);
    EXPECT_GT(test::normal_p((squares / n - 0.4) / std::sqrt((9. / 35 - 0.16) / n)), test::kGate);
    const double share = 0.5 + a / 2;
    EXPECT_GT(test::normal_p((forward / n - share) / std::sqrt(share * (1 - share) / n)),
              test::kGate);
    double chi2 = 0;  // for independence of cosine and phi: 9 degrees of freedom
    for (std::size_t i = 0; i < 16; ++i) {
      const double expected = rows[i / 4] * columns[i % 4] / n;
      chi2 += (cells[i] - expected) * (cells[i] - expected) / expected;
    }
    EXPECT_GT(test::upper_gamma(4.5, chi2 / 2), test::kGate);
  }
}

TEST(EeMumu, TruthMatchesTheEvent) {
  const auto generator = make_generator("ee_mumu", 1, {{"energies", "[30, 200, 110]"}});
  EXPECT_EQ(generator->info().classes, (std::vector<std::string>{"30 GeV", "200 GeV", "110 GeV"}));
  const auto samples = test::collect(*generator, {1, 0, 1000});
  const float energies[] = {30, 200, 110};
  for (std::size_t i = 0; i < samples.count(); ++i) {
    ASSERT_EQ(samples.latent(i, 0), energies[samples.label[i]]);
    ASSERT_EQ(samples.latent(i, 1), samples.image(i)[0]);
    ASSERT_FLOAT_EQ(samples.latent(i, 2), samples.image(i)[1] * std::numbers::pi_v<float>);
    ASSERT_EQ(samples.weight[i], 1);
  }
}

double density(double energy, double c) {
  return 0.375 * (1 + c * c) + MuonPairRates::at(energy, {}).forward_backward_asymmetry() * c;
}

TEST(EeMumu, BestAccuracyIntegratesTheLargestDensity) {
  for (const auto& energies :
       std::vector<std::vector<double>>{{80, 110}, {30, 200}, {30, 60, 91.1876, 110, 200}, {100}}) {
    std::string list = "[";
    for (const double e : energies) list += (list.size() > 1 ? ", " : "") + std::to_string(e);
    const auto generator = make_generator("ee_mumu", 1, {{"energies", list + "]"}});
    constexpr int kSteps = 20000;  // the midpoint rule's error is below 1e-8
    double integral = 0;
    for (int i = 0; i < kSteps; ++i) {
      const double c = -1 + 2 * (i + 0.5) / kSteps;
      double largest = 0;
      for (const double e : energies) largest = std::max(largest, density(e, c));
      integral += largest * 2 / kSteps;
    }
    EXPECT_NEAR(generator->best_accuracy().value(), integral / static_cast<double>(energies.size()),
                1e-6)
        << list;
  }
}

TEST(EeMumu, BestClassifierReachesTheBestAccuracy) {
  const auto generator = make_generator("ee_mumu", 1);
  const auto samples = test::collect(*generator, {9, 0, 100000}, {Device::cpu(), 65536, 0});
  double right = 0;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const double c = samples.image(i)[0];
    right += (density(110, c) > density(80, c) ? 1 : 0) == samples.label[i] ? 1 : 0;
  }
  const auto n = static_cast<double>(samples.count());
  const double best = generator->best_accuracy().value();
  EXPECT_GT(test::normal_p((right / n - best) / std::sqrt(best * (1 - best) / n)), test::kGate);
  EXPECT_FALSE(make_generator("noise", 4)->best_accuracy().has_value());
}

}  // namespace
}  // namespace wellspring
