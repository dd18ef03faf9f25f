// GFLASH's formulas and media.
#include "generators/events/gflash.h"

#include "generators/events/calo_media.h"
#include "tests/generators/events/calo_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace wellspring {
namespace {

// Lengths (cm) are from the Particle Data Group's tables, rounded to 0.1 %. GFLASH's critical
// energies and Moliere radii are computed from them by hand.
TEST(Gflash, HasTheReferenceMedia) {
  const struct {
    gflash::Material material;
    double z, radiation, interaction, critical, moliere;
  } table[] = {{gflash::Material::tungsten, 74, 3.504, 99.46, 8.004, 9.28},
               {gflash::Material::lead, 82, 5.612, 175.9, 7.355, 16.18},
               {gflash::Material::iron, 26, 17.57, 167.7, 20.64, 18.05},
               {gflash::Material::copper, 29, 14.36, 153.2, 18.64, 16.33},
               {gflash::Material::pbwo4, 68.36, 8.903, 202.7, 8.765, 21.53},
               {gflash::Material::silicon, 14, 93.70, 465.2, 36.73, 54.08},
               {gflash::Material::argon, 18, 140.0, 857.7, 29.13, 101.9},
               {gflash::Material::plastic, 5.61, 413.1, 770.7, 85.89, 102.0}};
  for (const auto& row : table) {
    const gflash::Medium medium = gflash::homogeneous(row.material);
    EXPECT_FLOAT_EQ(medium.z, static_cast<float>(row.z));
    EXPECT_NEAR(medium.radiation_length / row.radiation, 1, 1e-3);
    EXPECT_NEAR(medium.interaction_length / row.interaction, 1, 1e-3);
    EXPECT_NEAR(medium.critical_energy * 1000 / row.critical, 1, 1e-3);
    EXPECT_NEAR(medium.moliere_radius / row.moliere, 1, 1e-3);
  }
  for (const bool sampling : {false, true}) {
    const test::CaloReference reference =
        sampling ? test::CaloReference::tungsten_silicon() : test::CaloReference::tungsten();
    const gflash::Medium medium =
        sampling ? gflash::sandwich(gflash::Material::tungsten, 1.4, gflash::Material::silicon, 0.3)
                 : gflash::homogeneous(gflash::Material::tungsten);
    EXPECT_NEAR(medium.z / reference.z, 1, 1e-6);
    EXPECT_NEAR(medium.critical_energy / reference.critical, 1, 1e-6);
    EXPECT_NEAR(medium.radiation_length / reference.radiation, 1, 1e-6);
    EXPECT_NEAR(medium.moliere_radius / reference.moliere, 1, 1e-6);
    EXPECT_NEAR(medium.interaction_length / reference.interaction, 1, 1e-6);
    if (!sampling) continue;
    EXPECT_NEAR(medium.inverse_frequency * reference.frequency, 1, 1e-6);
    EXPECT_NEAR(medium.e_mip, 1 - reference.e_hat, 1e-6);
  }
}

// Values computed independently in double precision for tungsten, Z = 74, Ec = 8.004 MeV.
TEST(Gflash, MatchesReferenceValues) {
  gflash::Medium medium = gflash::homogeneous(gflash::Material::tungsten);
  medium.critical_energy = 8.004e-3f;
  const struct {
    float energy;
    double t, alpha, sigma_t, sigma_alpha, correlation, spots;
  } table[] = {{1, 4.0159, 3.1686, 0.2135, 0.2800, 0.5940, 400},
               {100, 8.6210, 5.4184, 0.0954, 0.1328, 0.4880, 22613}};
  for (const auto& row : table) {
    const auto law = gflash::fluctuation(medium, std::log(row.energy / medium.critical_energy));
    EXPECT_NEAR(std::exp(law.log_t), row.t, 1e-4);
    EXPECT_NEAR(std::exp(law.log_alpha), row.alpha, 1e-4);
    EXPECT_NEAR(law.sigma_t, row.sigma_t, 1e-4);
    EXPECT_NEAR(law.sigma_alpha, row.sigma_alpha, 1e-4);
    EXPECT_NEAR(law.correlation, row.correlation, 1e-4);
    EXPECT_NEAR(gflash::spots(medium, row.energy, 0.1f).count, row.spots, 0.5);
  }
  const gflash::Lateral law = gflash::lateral(medium, 1, std::log(10.f));
  EXPECT_NEAR(law.core, 0.1205, 1e-4);
  EXPECT_NEAR(law.tail, 0.6775, 1e-4);
  EXPECT_NEAR(law.core_share, 0.8790, 1e-4);
}

// Changing any constant by 2 % would move some value by more than 1e-4.
TEST(Gflash, FollowsThePublishedFormulas) {
  for (const bool sampling : {false, true}) {
    const test::CaloReference reference =
        sampling ? test::CaloReference::tungsten_silicon() : test::CaloReference::tungsten();
    const gflash::Medium medium =
        sampling ? gflash::sandwich(gflash::Material::tungsten, 1.4, gflash::Material::silicon, 0.3)
                 : gflash::homogeneous(gflash::Material::tungsten);
    for (const double energy : {0.7, 5.0, 90.0, 4000.0}) {
      const auto law = gflash::fluctuation(medium, static_cast<float>(reference.l(energy)));
      EXPECT_NEAR(std::exp(law.log_t), reference.mean_t(energy), 2e-5);
      EXPECT_NEAR(std::exp(law.log_alpha), reference.mean_alpha(energy), 2e-5);
      EXPECT_NEAR(law.sigma_t, std::min(0.5, reference.sigma_t(energy)), 2e-6);
      EXPECT_NEAR(law.sigma_alpha, std::min(0.5, reference.sigma_alpha(energy)), 2e-6);
      EXPECT_NEAR(law.correlation, reference.correlation(energy), 1e-6);
      const auto spots = gflash::spots(medium, static_cast<float>(energy), 0.11f);
      EXPECT_NEAR(spots.count / reference.spots(energy), 1, 2e-6);
      EXPECT_NEAR(spots.t_ratio, sampling ? 0.813 + 0.0019 * reference.z : 0.698 + 0.00212 * 74,
                  1e-6);
      EXPECT_NEAR(spots.alpha_ratio, sampling ? 0.844 + 0.0026 * reference.z : 0.639 + 0.00334 * 74,
                  1e-6);
      for (const double tau : {0.05, 0.4, 1.0, 1.7, 3.0}) {
        const auto got =
            gflash::lateral(medium, static_cast<float>(tau), static_cast<float>(std::log(energy)));
        const test::CaloReference::Lateral exact = reference.lateral(tau, energy);
        EXPECT_NEAR(got.core, exact.core, 1e-6) << tau;
        EXPECT_NEAR(got.tail, exact.tail, 3e-6 * (1 + exact.tail)) << tau;
        EXPECT_NEAR(got.core_share, exact.share, 2e-6) << tau;
      }
    }
  }
  // The formulas for the spread are not valid below this energy.
  EXPECT_EQ(gflash::fluctuation(gflash::homogeneous(gflash::Material::tungsten), 2.3f).sigma_t,
            gflash::kMostSigma);
}

}  // namespace
}  // namespace wellspring
