// Showers and read-out of generator `calo_gflash`, rebuilt number by number from the random words,
// in double precision: what no statistical test of a second could tell from a shift of 2 %.
#include "generators/events/calo_gflash.h"
#include "kernels/random/gamma.h"
#include "tests/generators/collect.h"
#include "tests/generators/events/calo_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

using Latent = CaloGflash::Latent;
constexpr std::uint64_t kSeed = 5;

SampleRng random_of(std::uint64_t sample) {
  return {named_key(kSeed, "calo_gflash"), sample};
}
double open(std::uint32_t word) {
  return ((word >> 8) + 1) * 0x1p-24;
}
std::pair<double, double> normal(std::uint32_t w0, std::uint32_t w1) {
  const double radius = std::sqrt(-2 * std::log(open(w0)));
  const double angle = 2 * std::numbers::pi * (w1 >> 8) * 0x1p-24;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

test::Samples showers(std::vector<ParamSetting> settings) {
  const std::pair<const char*, const char*> common[] = {
      {"material", "W"}, {"mode", "mean"}, {"layers", "5"}, {"layer_depth", "6"}, {"rings", "2"}};
  for (const auto& [name, value] : common) settings.push_back({name, value, {}});
  return test::collect(*make_generator("calo_gflash", 1, settings), {kSeed, 0, 200});
}

TEST(CaloDraws, LatentsAreThoseOfTheirWords) {
  const auto samples = showers(
      {{"particles", "[electron, photon, pion]"}, {"energy_low", "5"}, {"energy_high", "500"}});
  const auto reference = test::CaloReference::tungsten();
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const SampleRng rng = random_of(i);
    const Philox4 scene = rng.block(Purpose::scene, 0), more = rng.block(Purpose::scene, 1);
    const std::uint32_t label = below(rng.block(Purpose::label, 0).word[0], 3);
    ASSERT_EQ(samples.label[i], static_cast<std::int32_t>(label));
    const double energy = 5 * std::pow(100, (scene.word[0] >> 8) * 0x1p-24);
    ASSERT_NEAR(samples.latent(i, Latent::kEnergy) / 1000 / energy, 1, 2e-6);
    const double e = -std::log(open(scene.word[3]));
    const auto [z1, z2] = normal(scene.word[1], scene.word[2]);
    const double start[] = {0, e * 9 / 7, e * reference.interaction / reference.radiation};
    ASSERT_NEAR(samples.latent(i, Latent::kStart), start[label], 2e-6 * (1 + start[label]));
    if (label == 2) {
      const double f =
          1 - std::pow(energy, -0.18) + 0.1 * normal(more.word[0], more.word[1]).second;
      ASSERT_NEAR(samples.latent(i, Latent::kEmFraction), std::clamp(f, 0.0, 1.0), 2e-6);
      continue;
    }
    const double rho = reference.correlation(energy);
    const double along = std::sqrt((1 + rho) / 2) * z1, across = std::sqrt((1 - rho) / 2) * z2;
    const double t =
        reference.mean_t(energy) * std::exp(reference.sigma_t(energy) * (along + across));
    const double alpha =
        reference.mean_alpha(energy) * std::exp(reference.sigma_alpha(energy) * (along - across));
    ASSERT_NEAR(samples.latent(i, Latent::kShowerMax), t, 1e-5 * t);
    ASSERT_NEAR(samples.latent(i, Latent::kAlpha), std::max(alpha, 1.1), 1e-5 * alpha);
  }
}

// Slice by slice; one spot more or less where a number lies on the edge of rounding.
TEST(CaloDraws, SpotsFollowTheirOwnProfile) {
  const auto reference = test::CaloReference::tungsten();
  std::vector<ParamSetting> settings = {
      {"energies", "[10]"}, {"material", "W"}, {"layers", "1"}, {"layer_depth", "6"}};
  const auto samples = test::collect(*make_generator("calo_gflash", 1, settings), {kSeed, 0, 100});
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const double t = samples.latent(i, Latent::kShowerMax) * (0.698 + 0.00212 * 74);
    const double alpha = std::max(1.1, samples.latent(i, Latent::kAlpha) * (0.639 + 0.00334 * 74));
    double spots = 0, before = 0;
    for (int slice = 1; slice <= 6; ++slice) {
      const double upto = test::CaloReference::depth_share(alpha, (alpha - 1) / t, slice);
      spots += std::max(1.0, std::floor(reference.spots(10) * (upto - before) + 0.5));
      before = upto;
    }
    ASSERT_NEAR(samples.latent(i, Latent::kSpots), spots, 2);
  }
}

// A layer of one slice, spot by spot. Some 20,000 of them; one in 10^5 lies so near to an edge that
// f32 and double disagree.
TEST(CaloDraws, SpotsLieWhereTheirWordsSay) {
  const auto reference = test::CaloReference::tungsten();
  const std::vector<ParamSetting> settings = {
      {"energies", "[10]"}, {"material", "W"}, {"layers", "1"},     {"layer_depth", "1"},
      {"front", "5"},       {"rings", "3"},    {"ring_width", "5"}, {"sectors", "4"}};
  const auto samples = test::collect(*make_generator("calo_gflash", 1, settings), {kSeed, 0, 60});
  int elsewhere = 0;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const double t = samples.latent(i, Latent::kShowerMax),
                 alpha = samples.latent(i, Latent::kAlpha);
    const double rate = (alpha - 1) / t, mean = reference.mean_alpha(10);
    const auto law = reference.lateral(5.5 * rate / alpha * mean / (mean - 1), 10);
    const auto spots = static_cast<std::uint32_t>(samples.latent(i, Latent::kSpots));
    const double unit = 10000 / static_cast<double>(spots) *
                        (test::CaloReference::depth_share(alpha, rate, 6) -
                         test::CaloReference::depth_share(alpha, rate, 5));
    std::vector<double> cells(12);
    for (std::uint32_t spot = 0; spot < spots; ++spot) {
      const Philox4 words = random_of(i).block(Purpose::texture, spot);
      const double v = unit_float(words.word[1]);
      const double width = unit_float(words.word[0]) < law.share ? law.core : law.tail;
      const double r = width * reference.moliere * std::sqrt(v / (1 - v));
      if (r < 15) cells[below(words.word[2], 4) * 3 + static_cast<std::uint32_t>(r / 5)] += unit;
    }
    for (std::size_t c = 0; c < cells.size(); ++c) {
      elsewhere += std::abs(samples.image(i)[c] - cells[c]) > 0.5 * unit ? 1 : 0;
    }
  }
  EXPECT_LE(elsewhere, 4);
}

TEST(CaloDraws, ReadOutIsThatOfItsWords) {
  const std::vector<ParamSetting> beam = {{"energies", "[10]"}};
  auto read_out = beam;
  for (const auto& [name, value] :
       {std::pair("sampling_term", "0.2"), {"constant_term", "0.05"}, {"noise", "3"}}) {
    read_out.push_back({name, value, {}});
  }
  const auto exact = showers(beam), seen = showers(read_out);
  const double scale = 1000 * 0.2 * 0.2;
  constexpr std::uint32_t kCells = 10, kQuarter = 3;
  for (std::size_t i = 0; i < seen.count(); ++i) {
    const SampleRng rng = random_of(i);
    const Philox4 more = rng.block(Purpose::scene, 1);
    const double factor = 1 + 0.05 * normal(more.word[0], more.word[1]).first;
    for (std::uint32_t c = 0; c < kCells; ++c) {
      const float shape = exact.image(i)[c] / static_cast<float>(scale);
      const double sampled =
          shape > 0 ? scale * draw_gamma(rng, Purpose::texture, (1u << 31) + c, kCells, shape) : 0;
      const Philox4 block = rng.block(Purpose::noise, c % kQuarter);
      const auto first = normal(block.word[0], block.word[1]);
      const auto second = normal(block.word[2], block.word[3]);
      const double noise[] = {first.first, first.second, second.first, second.second};
      const double x = sampled * factor + 3 * noise[c / kQuarter];
      ASSERT_NEAR(seen.image(i)[c], x, 2e-5 * (1 + std::abs(sampled))) << c;
    }
  }
}

}  // namespace
}  // namespace wellspring
