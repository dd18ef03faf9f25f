#include "generators/images/ising.h"

#include "generators/generator.h"
#include "kernels/runtime/solo_team.h"
#include "tests/generators/collect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace wellspring {
namespace {

// ---- against a direct reference -----------------------------------------------------------------

// A lane's number takes 8 bits from two blocks, then 24 bits from the next word of a third block.
TEST(Ising, LanesAreSetWithTheirProbability) {
  const SampleRng rng{3, 4};
  for (std::uint32_t draw = 0; draw < 600; draw += 3) {
    const std::uint32_t lanes = rng.block(Purpose::key, draw).word[0] | (draw % 2 == 0 ? ~0u : 0u);
    const std::uint32_t rare = rng.block(Purpose::key, draw).word[1];
    const std::uint32_t chance = rng.block(Purpose::key, draw).word[2];
    const std::uint32_t rare_chance = rng.block(Purpose::key, draw).word[3];
    std::uint32_t expected = 0, open = 0;
    for (int lane = 0; lane < 32; ++lane) {
      if ((lanes >> lane & 1u) == 0) continue;
      const std::uint32_t t = (rare >> lane & 1u) != 0 ? rare_chance : chance;
      std::uint32_t u = 0;
      for (std::uint32_t k = 0; k < 8; ++k)
        u = 2 * u + (rng.block(Purpose::noise, draw + k / 4).word[k % 4] >> lane & 1u);
      bool below = u < t >> 24;
      if (u == t >> 24)
        below = rng.block(Purpose::noise, draw + 2).word[open++ % 4] >> 8 < (t & 0xffffffu);
      expected |= std::uint32_t{below} << lane;
    }
    ASSERT_EQ(ising::bernoulli(rng, Purpose::noise, draw, lanes, chance, rare, rare_chance),
              expected);
  }
}

// ---- against the exact distribution -------------------------------------------------------------

// The tolerance covers the f32 rounding of the exponent, of exp and of 1 - exp. Probabilities are
// stored as multiples of 2^-32.
TEST(Ising, ProbabilitiesFollowBoltzmann) {
  EXPECT_EQ(Ising::kCritical, static_cast<float>(2 / std::log(1 + std::sqrt(2.0))));
  for (const float t : {0.5f, 1.5f, 2.269f, 3.5f, 20.0f}) {
    const IsingChances chances = Ising::chances(t);
    const double unit = std::ldexp(1.0, 32), beta = 1.0 / double{t};
    EXPECT_NEAR(chances.bond / unit, 1 - std::exp(-2 * beta), 3e-7);
    EXPECT_NEAR(chances.four / unit, std::exp(-4 * beta),
                1 / unit + 3e-7 * std::exp(-4 * beta) * (1 + 4 * beta));
    EXPECT_NEAR(chances.eight / unit, std::exp(-8 * beta),
                1 / unit + 3e-7 * std::exp(-8 * beta) * (1 + 8 * beta));
  }
}

// ---- the generator ------------------------------------------------------------------------------

TEST(Ising, LatentsMatchThePicture) {
  // A lattice of side 232 exceeds a team's scratch memory.
  for (const int size : {16, 37, 232}) {
    const auto generator = make_generator("ising", size, {{"rounds", "2", {}}});
    const int side = (size + 1) / 2 * 2;
    const auto samples = test::collect(*generator, {4, 0, 3});
    for (std::size_t row = 0; row < samples.count(); ++row) {
      const float* const x = samples.image(row);
      if (side == size) {
        int energy = 0, spins = 0;
        const auto spin = [&](int i, int j) {
          return x[3 * (j % side * side + i % side)] > 0.5f ? 1 : -1;
        };
        for (int j = 0; j < side; ++j) {
          for (int i = 0; i < side; ++i) {
            spins += spin(i, j);
            energy -= spin(i, j) * (spin(i + 1, j) + spin(i, j + 1));
          }
        }
        EXPECT_EQ(samples.latent(row, 1),
                  static_cast<float>(energy) / static_cast<float>(side * side));
        EXPECT_EQ(samples.latent(row, 2),
                  static_cast<float>(spins) / static_cast<float>(side * side));
      }
      EXPECT_EQ(samples.label[row] == 0, samples.latent(row, 0) < Ising::kCritical);
      for (int i = 0; i < 3 * size * size; ++i) ASSERT_TRUE(x[i] == 0 || x[i] == 1);
    }
  }
}

}  // namespace
}  // namespace wellspring
