#include "generators/events/calo_gflash.h"

#include "tests/generators/collect.h"
#include "tests/generators/events/calo_reference.h"
#include "tests/generators/team_test.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

using Latent = CaloGflash::Latent;
using Settings = std::map<std::string, std::string>;

/// `all`, plus the settings of a small tungsten cylinder.
std::vector<ParamSetting> small(Settings all) {
  all.insert({{"material", "W"}, {"energies", "[10]"}, {"layers", "6"}});
  all.insert({{"layer_depth", "4"}, {"rings", "3"}, {"ring_width", "6"}});
  std::vector<ParamSetting> settings;
  for (const auto& [name, value] : all) settings.push_back({name, value, {}});
  return settings;
}

std::vector<ParamSetting> mean_of(const std::string& preset) {
  return {{"preset", preset}, {"mode", "mean"}, {"threshold", "0"}, {"sampling_term", "0"}};
}
test::Samples showers(const std::vector<ParamSetting>& settings, std::uint64_t count,
                      std::uint64_t seed = 1) {
  return test::collect(*make_generator("calo_gflash", 1, settings), {seed, 0, count});
}

double sum(const test::Samples& samples, std::size_t i) {
  double total = 0;
  for (std::size_t c = 0; c < samples.elements; ++c) total += samples.image(i)[c];
  return total;
}

// ---- the parameterisation -----------------------------------------------------------------------

// With 20,000 numbers, a Kolmogorov test detects a shift of the mean by 0.05 standard deviations.
TEST(CaloGflash, DrawsLognormalMaximumAndShape) {
  const auto samples = showers(small({{"mode", "mean"}, {"layers", "1"}, {"rings", "1"}}), 20000);
  const CaloReference reference = CaloReference::tungsten();
  std::vector<double> t, alpha;
  double product = 0;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const double u =
        (std::log(samples.latent(i, Latent::kShowerMax)) - std::log(reference.mean_t(10))) /
        reference.sigma_t(10);
    const double v =
        (std::log(samples.latent(i, Latent::kAlpha)) - std::log(reference.mean_alpha(10))) /
        reference.sigma_alpha(10);
    t.push_back(u);
    alpha.push_back(v);
    product += u * v;
  }
  const auto n = static_cast<double>(samples.count());
  for (const auto& values : {t, alpha}) {
    EXPECT_GT(test::kolmogorov_p(values, [](double x) { return std::erfc(-x / std::sqrt(2)) / 2; }),
              test::kGate);
    const test::Moments m = test::moments(values);
    EXPECT_GT(test::normal_p(m.mean * std::sqrt(n)), test::kGate);
    EXPECT_GT(test::normal_p((m.variance - 1) * std::sqrt(n / 2)), test::kGate);
  }
  // The product of two standard normal numbers with correlation r has variance 1 + r^2.
  const double r = reference.correlation(10);
  EXPECT_GT(test::normal_p((product / n - r) / std::sqrt((1 + r * r) / n)), test::kGate);
}

// ---- spatial distribution of the energy --------------------------------------------------------

/// Energy per ring (MeV), summed over its sectors.
std::vector<double> ring_sums(const test::Samples& samples, std::size_t i,
                              const std::vector<CaloLayerSpec>& layers) {
  std::vector<double> sums;
  std::size_t c = 0;
  for (const CaloLayerSpec& layer : layers) {
    const std::size_t rings = layer.r_edges.size() - 1;
    std::vector<double> in_layer(rings);
    for (int sector = 0; sector < layer.sectors; ++sector)
      for (std::size_t r = 0; r < rings; ++r) in_layer[r] += samples.image(i)[c++];
    sums.insert(sums.end(), in_layer.begin(), in_layer.end());
  }
  return sums;
}

// The tolerance of 1e-5 of the shower's energy covers the gamma function and the f32 rounding of T
// and alpha, whose relative error of 1e-7 is amplified up to 40 times with depth.
void expect_reference(const CaloReference& reference, const std::vector<CaloLayerSpec>& layers,
                      const std::vector<ParamSetting>& settings) {
  const auto samples = showers(settings, 40);
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const double energy = samples.latent(i, Latent::kEnergy);
    const std::vector<double> shares =
        reference.rings(layers, 1, energy / 1000, samples.latent(i, Latent::kShowerMax),
                        samples.latent(i, Latent::kAlpha), samples.latent(i, Latent::kStart));
    const std::vector<double> sums = ring_sums(samples, i, layers);
    ASSERT_EQ(sums.size(), shares.size());
    for (std::size_t r = 0; r < sums.size(); ++r) {
      ASSERT_NEAR(sums[r] / energy, shares[r], 1e-5) << "ring " << r << " of shower " << i;
    }
  }
}

TEST(CaloGflash, DepositsMatchTheFormulas) {
  std::vector<CaloLayerSpec> cylinder;
  for (int i = 0; i < 6; ++i) {
    cylinder.push_back({0.5 + 4.0 * i, 4.5 + 4.0 * i, {0, 6, 12, 18}, 5});
  }
  const Settings free = {{"mode", "mean"}, {"sectors", "5"}, {"front", "0.5"}};
  expect_reference(CaloReference::tungsten(), cylinder, small(free));
  Settings photons = free;
  photons.emplace("particles", "[photon]");
  expect_reference(CaloReference::tungsten(), cylinder, small(photons));
  const gflash::Medium sandwich =
      gflash::sandwich(gflash::Material::tungsten, 1.4, gflash::Material::silicon, 0.3);
  expect_reference(CaloReference::tungsten_silicon(), ds2_layers(sandwich), mean_of("ds2"));
}

// Compares the mean energy shares per layer of 3000 showers with the integral over T and alpha,
// computed by the midpoint rule in two independent normal variables.
TEST(CaloGflash, MeanProfileMatchesTheIntegral) {
  const auto samples =
      showers(small({{"mode", "mean"}, {"rings", "1"}, {"ring_width", "1000"}}), 3000);
  const CaloReference reference = CaloReference::tungsten();
  const double rho = reference.correlation(10);
  std::vector<double> expected(6), steps;
  constexpr int kSteps = 64;
  for (int i = 0; i < kSteps; ++i) steps.push_back(-4.5 + 9 * (i + 0.5) / kSteps);
  double weights = 0;
  for (const double z1 : steps) {
    for (const double z2 : steps) {
      const double weight = std::exp(-(z1 * z1 + z2 * z2) / 2);
      const double along = std::sqrt((1 + rho) / 2) * z1, across = std::sqrt((1 - rho) / 2) * z2;
      const double t = reference.mean_t(10) * std::exp(reference.sigma_t(10) * (along + across));
      const double alpha =
          reference.mean_alpha(10) * std::exp(reference.sigma_alpha(10) * (along - across));
      const double rate = (std::max(alpha, 1.1) - 1) / std::max(t, 1.0);
      for (int layer = 0; layer < 6; ++layer) {
        expected[static_cast<std::size_t>(layer)] +=
            weight * (CaloReference::depth_share(std::max(alpha, 1.1), rate, 4 * layer + 4) -
                      CaloReference::depth_share(std::max(alpha, 1.1), rate, 4 * layer));
      }
      weights += weight;
    }
  }
  for (std::size_t layer = 0; layer < 6; ++layer) {
    std::vector<double> shares;
    for (std::size_t i = 0; i < samples.count(); ++i)
      shares.push_back(samples.image(i)[layer] / 10000);
    const test::Moments m = test::moments(shares);
    // A ring of radius 1000 mm misses 1e-4 of a layer's energy, so the sum is correct to 1e-4.
    EXPECT_NEAR(m.mean, expected[layer] / weights,
                5 * std::sqrt(m.variance / static_cast<double>(m.count)) + 3e-4)
        << layer;
  }
}

// Energy, leakage and cells are each rounded to f32 once, so 2^-23 of the shower's energy suffices.
TEST(CaloGflash, ConservesEnergy) {
  for (const char* mode : {"gflash", "gflash_lite", "mean"}) {
    for (const char* particles : {"[electron, photon]", "[pion]"}) {
      const auto samples = showers(small({{"mode", mode}, {"particles", particles}}), 60);
      for (std::size_t i = 0; i < samples.count(); ++i) {
        const double energy = samples.latent(i, Latent::kEnergy);
        ASSERT_EQ(energy, 10000);
        ASSERT_NEAR(sum(samples, i) + samples.latent(i, Latent::kLeakage) +
                        samples.latent(i, Latent::kInvisible),
                    energy, 0x1p-22 * energy)
            << mode << particles;
      }
    }
  }
}

// All modes give the same showers, because spots do not share random numbers with T, alpha etc. The
// mean energy of a cell with several hundred spots is normally distributed.
TEST(CaloGflash, SpotsAverageToTheMeanMode) {
  for (const char* medium : {"homogeneous", "sampling"}) {
    for (const char* particles : {"[electron, photon]", "[pion]"}) {
      const Settings settings = {
          {"medium", medium}, {"particles", particles}, {"sectors", "2"}, {"energies", "[2]"}};
      Settings mean = settings;
      mean.emplace("mode", "mean");
      const auto expected = showers(small(mean), 250, 3);
      for (const char* mode : {"gflash", "gflash_lite"}) {
        Settings spots = settings;
        spots.emplace("mode", mode);
        const auto samples = showers(small(spots), 250, 3);
        int compared = 0;
        for (std::size_t c = 0; c < samples.elements; ++c) {
          std::vector<double> differences;
          double whole = 0;
          for (std::size_t i = 0; i < samples.count(); ++i) {
            differences.push_back(samples.image(i)[c] - expected.image(i)[c]);
            whole += expected.image(i)[c];
          }
          if (whole < 0.005 * 2000 * static_cast<double>(samples.count())) continue;
          ++compared;
          const test::Moments m = test::moments(differences);
          EXPECT_GT(test::normal_p(m.mean / std::sqrt(m.variance / 250)), test::kGate / 100)
              << mode << medium << particles << " cell " << c;
        }
        EXPECT_GE(compared, 8);
      }
    }
  }
}

TEST(CaloGflash, HasThePublishedNumberOfSpots) {
  const auto many = showers(small({}), 20);
  const auto lite = showers(small({{"mode", "gflash_lite"}}), 20);
  const double spots = CaloReference::tungsten().spots(10);
  for (std::size_t i = 0; i < many.count(); ++i) {
    EXPECT_EQ(lite.latent(i, Latent::kSpots), std::round(spots));
    // The number of spots is rounded in each of the 24 slices, and up to 3 % of the spots are
    // beyond the last slice.
    EXPECT_NEAR(many.latent(i, Latent::kSpots), spots, 24 + 0.03 * spots);
    // A cell holds a whole number of spots of equal energy, in units of 2^-40.
    const double unit = 10000 / std::round(spots);
    for (std::size_t c = 0; c < lite.elements; ++c) {
      const double count = lite.image(i)[c] / unit;
      EXPECT_NEAR(count, std::round(count), 1e-3);
    }
  }
}

TEST(CaloGflash, CountsBothKindsOfSpotsForPions) {
  const auto samples = showers(small({{"mode", "gflash_lite"}, {"particles", "[pion]"}}), 50);
  const CaloReference reference = CaloReference::tungsten();
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const double em = samples.latent(i, Latent::kEmFraction);
    const double spots = reference.spots(std::max(0.05, em * 10)) + 20 * 10 * (1 - em);
    EXPECT_NEAR(samples.latent(i, Latent::kSpots), spots, 0.51);
  }
}

TEST(CaloGflash, HasUniformAzimuth) {
  const auto samples = showers(small({{"mode", "gflash_lite"}, {"sectors", "8"}}), 40);
  const double unit = 10000 / std::round(CaloReference::tungsten().spots(10));
  std::vector<double> counts(8);
  for (std::size_t i = 0; i < samples.count(); ++i)
    for (std::size_t c = 0; c < samples.elements; ++c)
      counts[c / 3 % 8] += std::round(samples.image(i)[c] / unit);
  EXPECT_GT(test::uniform_chi_square_p(counts), test::kGate);
}

// By definition, nine tenths of the energy are within one Moliere radius, and typically 99 % are
// within 3.5 radii (Particle Data Group, section 34.5); the parameterisation is slightly narrower.
TEST(CaloGflash, HoldsNineTenthsWithinAMoliereRadius) {
  const auto share = [](const char* radius) {
    const auto samples = showers(
        small({{"mode", "mean"}, {"layers", "15"}, {"rings", "1"}, {"ring_width", radius}}), 100);
    double total = 0;
    for (std::size_t i = 0; i < samples.count(); ++i) total += sum(samples, i) / 10000 / 100;
    return total;
  };
  EXPECT_NEAR(share("9.28"), 0.92, 0.03);
  EXPECT_NEAR(share("32.5"), 0.99, 0.01);
}

// ds2 and ds3 give the same showers, but ds3 has finer cells.
TEST(CaloGflash, FinerCellsSumToCoarserCells) {
  const auto coarse = showers(mean_of("ds2"), 6), fine = showers(mean_of("ds3"), 6);
  const gflash::Medium medium =
      gflash::sandwich(gflash::Material::tungsten, 1.4, gflash::Material::silicon, 0.3);
  for (std::size_t i = 0; i < 6; ++i) {
    const double energy = coarse.latent(i, Latent::kEnergy);
    ASSERT_EQ(energy, fine.latent(i, Latent::kEnergy));
    const auto wide = ring_sums(coarse, i, ds2_layers(medium));
    const auto narrow = ring_sums(fine, i, ds3_layers(medium));
    for (std::size_t r = 0; r < wide.size(); ++r) {
      ASSERT_NEAR(wide[r], narrow[2 * r] + narrow[2 * r + 1], 2e-6 * energy) << r;
    }
  }
}

TEST(CaloGflash, HasThePublishedGeometries) {
  const std::pair<const char*, int> published[] = {
      {"ds1-photon", 368}, {"ds1-pion", 533}, {"ds2", 6480}, {"ds3", 40500}};
  for (const auto& [name, cells] : published) {
    const auto generator = make_generator("calo_gflash", 1, {{"preset", name, {}}});
    EXPECT_EQ(generator->layout().features, cells) << name;
    EXPECT_EQ(generator->info().features.size(), static_cast<std::size_t>(cells));
  }
  const gflash::Medium lead = gflash::homogeneous(gflash::Material::lead);
  const std::pair<std::vector<CaloLayerSpec>, std::vector<double>> sums[] = {
      {ds1_photon_layers(lead), {1395, 827, 2227, 1350, 3700}},
      {ds1_pion_layers(lead), {1395, 557, 1225, 1350, 5080, 5680, 5050}}};
  for (const auto& [layers, expected] : sums) {
    ASSERT_EQ(layers.size(), expected.size());
    for (std::size_t l = 0; l < layers.size(); ++l) {
      double edges = 0;
      for (const double r : layers[l].r_edges) edges += r;
      EXPECT_EQ(edges, expected[l]) << "edges of layer " << l;
    }
  }
  const auto info = make_generator("calo_gflash", 1, {{"preset", "ds1-photon", {}}})->info();
  EXPECT_EQ(info.features[8 + 16].name, "layer1_sector1_ring0");
}

// ---- photons and pions --------------------------------------------------------------------------

TEST(CaloGflash, ConvertsPhotonsAfterNineSeventhsOfARadiationLength) {
  const auto samples = showers(
      small({{"mode", "mean"}, {"particles", "[photon]"}, {"layer_depth", "1"}, {"rings", "1"}}),
      5000);
  std::vector<double> starts;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const double start = samples.latent(i, Latent::kStart);
    starts.push_back(start);
    for (std::size_t layer = 0; layer < 6; ++layer) {
      if (static_cast<double>(layer) + 1 < start) {
        ASSERT_EQ(samples.image(i)[layer], 0);
      }
    }
  }
  EXPECT_GT(test::kolmogorov_p(starts, [](double x) { return 1 - std::exp(-x * 7 / 9); }),
            test::kGate);
}

// Uses the formulas from this generator's page with the default constants.
TEST(CaloGflash, SplitsPionsIntoElectromagneticAndHadronicParts) {
  const auto samples = showers(small({{"mode", "mean"},
                                      {"particles", "[pion]"},
                                      {"rings", "1"},
                                      {"ring_width", "50"},
                                      {"energies", "[50]"},
                                      {"layer_depth", "20"}}),
                               5000);
  const CaloReference reference = CaloReference::tungsten();
  const double lambda = reference.interaction / reference.radiation;  // in radiation lengths
  const double a = 0.6165 + 0.3183 * std::log(50.0);
  const double d = (0.9099 - 0.0237 * std::log(50.0)) / lambda;
  std::vector<double> starts, fractions;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const double start = samples.latent(i, Latent::kStart),
                 em = samples.latent(i, Latent::kEmFraction);
    starts.push_back(start);
    fractions.push_back(em);
    ASSERT_NEAR(samples.latent(i, Latent::kInvisible), 50000 * 0.3 * (1 - em), 0.02);
    ASSERT_NEAR(samples.latent(i, Latent::kAlpha), a, 1e-5);
    if (i >= 50) continue;
    // A slice is one radiation length deep. Half of the hadronic energy is within 0.2 interaction
    // lengths.
    const double had_within = 50 * 50 / (50 * 50 + std::pow(0.2 * reference.interaction, 2));
    for (int layer = 0; layer < 6; ++layer) {
      double expected = 0;
      for (int k = 0; k < 20; ++k) {
        const double front = std::max(0.0, 20.0 * layer + k - start),
                     back = std::max(0.0, 20.0 * layer + k + 1 - start);
        const auto law = reference.lateral((front + back) / 2 * 0.2198 / a, em * 50);
        expected += em * law.within(50, reference.moliere) *
                    (CaloReference::depth_share(a, 0.2198, back) -
                     CaloReference::depth_share(a, 0.2198, front));
        expected +=
            0.7 * (1 - em) * had_within *
            (CaloReference::depth_share(a, d, back) - CaloReference::depth_share(a, d, front));
      }
      ASSERT_NEAR(samples.image(i)[layer] / 50000, expected, 1e-5) << layer;
    }
  }
  EXPECT_GT(test::kolmogorov_p(starts, [&](double x) { return 1 - std::exp(-x / lambda); }),
            test::kGate);
  // 0 and 1 are five standard deviations (of 0.1) away, so the clamp does not matter.
  const double mean = 1 - std::pow(50, -0.18);
  EXPECT_GT(
      test::kolmogorov_p(fractions,
                         [&](double x) { return std::erfc((mean - x) / 0.1 / std::sqrt(2)) / 2; }),
      test::kGate);
}

// ---- read-out -----------------------------------------------------------------------------------

/// The same showers under several read-outs.
test::Samples read_out(Settings more, std::uint64_t count = 3000) {
  more.emplace("mode", "mean");
  return showers(small(more), count, 7);
}

// A sum of gamma variates of equal scale is one too, so the law of the sum over cells is known.
TEST(CaloGflash, SamplingTermIsGammaDistributed) {
  const auto exact = read_out({}), measured = read_out({{"sampling_term", "0.5"}});
  const double scale = 1000 * 0.5 * 0.5;
  std::vector<double> levels;
  double squares = 0;
  for (std::size_t i = 0; i < measured.count(); ++i) {
    const double deposited = sum(exact, i);
    levels.push_back(1 - test::upper_gamma(deposited / scale, sum(measured, i) / scale));
    squares += std::pow(sum(measured, i) - deposited, 2) / deposited / 1000;
  }
  EXPECT_GT(test::kolmogorov_p(levels, [](double x) { return x; }), test::kGate);
  // (E - mean)^2 / mean has mean a^2 and about the variance of a squared normal number.
  const auto n = static_cast<double>(measured.count());
  EXPECT_NEAR(squares / n, 0.25, 5 * 0.25 * std::sqrt(2.2 / n));
}

TEST(CaloGflash, ConstantTermScalesTheWholeShower) {
  const auto exact = read_out({}), measured = read_out({{"constant_term", "0.1"}});
  std::vector<double> factors;
  for (std::size_t i = 0; i < measured.count(); ++i) {
    factors.push_back((sum(measured, i) / sum(exact, i) - 1) / 0.1);
    ASSERT_NEAR(measured.image(i)[0] / exact.image(i)[0], sum(measured, i) / sum(exact, i), 1e-5);
  }
  EXPECT_GT(test::kolmogorov_p(factors, [](double x) { return std::erfc(-x / std::sqrt(2)) / 2; }),
            test::kGate);
}

TEST(CaloGflash, DrawsIndependentNoisePerCell) {
  // After 20 radiation lengths of material the last cells are nearly empty.
  const Settings far = {{"front", "20"}, {"rings", "3"}};
  Settings noisy = far;
  noisy.emplace("noise", "3");
  const auto exact = read_out(far, 1500), measured = read_out(noisy, 1500);
  std::vector<double> all;
  double products = 0;
  for (std::size_t i = 0; i < measured.count(); ++i) {
    for (std::size_t c = 0; c < measured.elements; ++c) {
      all.push_back((measured.image(i)[c] - exact.image(i)[c]) / 3);
      if (c > 0) products += all[all.size() - 2] * all.back();
    }
  }
  EXPECT_GT(test::kolmogorov_p(all, [](double x) { return std::erfc(-x / std::sqrt(2)) / 2; }),
            test::kGate);
  EXPECT_GT(test::normal_p(products / std::sqrt(1500.0 * 17)), test::kGate);
}

// The order is sampling, factor, noise, threshold. Each step has its own random numbers, so the
// test can repeat the last two.
TEST(CaloGflash, AppliesTheThresholdLast) {
  const Settings all = {{"sampling_term", "0.1"}, {"constant_term", "0.05"}, {"noise", "2"}};
  Settings cut = all;
  cut.emplace("threshold", "5");
  const auto open = read_out(all, 500), measured = read_out(cut, 500);
  const auto smeared = read_out({{"sampling_term", "0.1"}}, 500);
  const auto scaled = read_out({{"constant_term", "0.05"}}, 500), exact = read_out({}, 500);
  const auto noisy = read_out({{"noise", "2"}}, 500);
  for (std::size_t i = 0; i < measured.count(); ++i) {
    const double factor = scaled.image(i)[0] / exact.image(i)[0];
    for (std::size_t c = 0; c < measured.elements; ++c) {
      const float x = open.image(i)[c];
      ASSERT_EQ(measured.image(i)[c], x < 5 ? 0 : x);
      const double noise = noisy.image(i)[c] - exact.image(i)[c];
      ASSERT_NEAR(x, smeared.image(i)[c] * factor + noise, 1e-5 * (x + 100));
    }
  }
}

TEST(CaloGflash, ConvertsUnits) {
  const auto mev = showers(small({{"noise", "1"}}), 5);
  const auto gev = showers(small({{"noise", "1"}, {"unit", "GeV"}}), 5);
  for (std::size_t i = 0; i < mev.x.size(); ++i) ASSERT_FLOAT_EQ(mev.x[i] / 1000, gev.x[i]);
  ASSERT_FLOAT_EQ(gev.latent(0, Latent::kEnergy), 10);
  ASSERT_FLOAT_EQ(gev.latent(0, Latent::kLeakage), mev.latent(0, Latent::kLeakage) / 1000);
}

// The golden case keeps its cells in planned memory; this test keeps them in scratch.
TEST(CaloGflash, GivesEqualBytesForAnyTeamSizeInScratch) {
  const auto params = [](const char* mode) {
    return CaloGflash::table().read(small({{"mode", mode},
                                           {"particles", "[electron, photon, pion]"},
                                           {"sectors", "3"},
                                           {"sampling_term", "0.3"},
                                           {"noise", "1"}}));
  };
  for (const char* mode : {"gflash", "gflash_lite", "mean"}) {
    test::expect_equal_for_all_teams<CaloGflash>(params(mode), {1, 1, 1});
  }
}

TEST(CaloGflash, RefusesImpossibleParameters) {
  const auto refused = [](const std::vector<ParamSetting>& settings) {
    return test::message_of(ErrorKind::config, [&] { make_generator("calo_gflash", 1, settings); });
  };
  test::expect_parts(refused({{"energy_low", "0.01"}}), {"0.01 to 100 GeV", "0.08769", "10000"});
  test::expect_parts(refused({{"energy_low", "200"}}), {"energy_low = 200 is larger"});
  test::expect_parts(refused({{"energies", "[0.05, 1]"}}), {"0.05 to 1 GeV", "at least"});
  test::expect_parts(refused({{"particles", "[pion]"}, {"energy_low", "0.1"}}),
                     {"pion", "0.19", "at least"});
  test::expect_parts(refused({{"particles", "[electon]"}}), {"'electon'", "electron"});
  test::expect_parts(refused({{"particles", "[photon, photon]"}}), {"photon twice"});
  test::expect_parts(refused({{"particles", "[]"}}), {"particles is empty"});
  test::expect_parts(refused({{"threshold", "2000"}}), {"threshold", "less than 1000 MeV"});
  test::expect_parts(refused({{"layers", "64"}, {"rings", "64"}, {"sectors", "64"}}),
                     {" cells", "65536"});
  test::expect_parts(refused({{"layer_depth", "100"}, {"slice", "0.1"}}), {" slices", "512"});
  test::expect_parts(refused({{"energies", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]"}}),
                     {"17 values", "16"});
}

}  // namespace
}  // namespace wellspring::test
