#include "generators/events/calo_gflash.h"

#include "tests/generators/collect.h"
#include "tests/generators/team_test.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

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

test::Samples showers(const std::vector<ParamSetting>& settings, std::uint64_t count,
                      std::uint64_t seed = 1) {
  return test::collect(*make_generator("calo_gflash", 1, settings), {seed, 0, count});
}

double sum(const test::Samples& samples, std::size_t i) {
  double total = 0;
  for (std::size_t c = 0; c < samples.elements; ++c) total += samples.image(i)[c];
  return total;
}

// ---- spatial distribution of the energy --------------------------------------------------------

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

// ---- read-out -----------------------------------------------------------------------------------

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
