// GFLASH's media. tests/truth rebuilds showers from its formulas.
#include "generators/events/gflash.h"

#include "generators/events/calo_media.h"

#include <gtest/gtest.h>

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
}

}  // namespace
}  // namespace wellspring
