#include "generators/images/textures.h"

#include "generators/generator.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace wellspring {
namespace {

using Kind = Textures::Kind;

// ---- the noises ---------------------------------------------------------------------------------

/// The header's noise of the given kind at one point.
double noise_at(Kind kind, lattice::Key key, float x, float y) {
  if (kind == Kind::perlin) return lattice::gradient_noise(key, x, y);
  if (kind == Kind::simplex) return lattice::simplex_noise(key, x, y);
  const float xs[1] = {x}, ys[1] = {y};
  float f1[1], f2[1];
  lattice::feature_distances(key, xs, ys, f1, f2);
  if (kind == Kind::worley_f1) return f1[0];
  return kind == Kind::worley_f2 ? f2[0] : f2[0] - f1[0];
}

constexpr Kind kAllKinds[] = {Kind::perlin, Kind::simplex, Kind::worley_f1, Kind::worley_f2,
                              Kind::worley_edges};

/// Point i of a series. Each point has its own lattice, so no two points share lattice points.
struct Place {
  lattice::Key key;
  float x, y;

  explicit Place(std::uint32_t i) {
    const Philox4 words = SampleRng{8, i}.block(Purpose::scene, 0);
    key = {words.word[0] ^ 0x1234567u, words.word[1] ^ 0x7654321u};
    x = 64 * unit_float(words.word[2]) - 32;
    y = 64 * unit_float(words.word[3]) - 32;
  }
};

TEST(LatticeNoise, IsZeroAtLatticePoints) {
  for (int x = -40; x <= 40; ++x) {
    for (int y = -40; y <= 40; ++y) {
      const auto fx = static_cast<float>(x), fy = static_cast<float>(y);
      ASSERT_EQ(lattice::gradient_noise({5, 6}, fx, fy), 0);
      ASSERT_EQ(lattice::gradient_noises({5, 6}, fx, fy).second, 0);
    }
  }
}

// Takes steps of 2^-16 in any direction, half of them across cell borders. Slopes are at most 8, so
// values change by less than 2^-13, including rounding. A kernel truncated at a radius of sqrt(0.6)
// would jump by up to 0.007.
TEST(LatticeNoise, IsContinuous) {
  for (const Kind kind : kAllKinds) {
    for (std::uint32_t i = 0; i < 5000; ++i) {
      Place at(i);
      if (i % 2 == 0) at.x = std::round(at.x) - 0x1p-17f;
      const double step = 0x1p-16, turn = 0.001 * i;
      const double moved = noise_at(kind, at.key, at.x + static_cast<float>(step * std::cos(turn)),
                                    at.y + static_cast<float>(step * std::sin(turn)));
      ASSERT_NEAR(moved, noise_at(kind, at.key, at.x, at.y), 0x1p-13) << static_cast<int>(kind);
    }
  }
}

// Uses 100,000 independent values. Worley's constants were measured and rounded to 10^-4, which is
// less than a third of the standard errors here (6e-4 and 4e-4).
TEST(LatticeNoise, HasItsStatedMoments) {
  for (const Kind kind : kAllKinds) {
    const Textures::Law law = Textures::law_of(kind);
    std::vector<double> values;
    for (std::uint32_t i = 0; i < 100000; ++i) {
      const Place at(i);
      values.push_back(noise_at(kind, at.key, at.x, at.y));
    }
    const auto n = static_cast<double>(values.size());
    const test::Moments m = test::moments(values);
    EXPECT_GT(test::normal_p((m.mean - law.mean) / std::sqrt(m.variance / n)), test::kGate)
        << static_cast<int>(kind) << ": " << m.mean;
    std::vector<double> squares;
    for (const double v : values) squares.push_back((v - law.mean) * (v - law.mean));
    const test::Moments s = test::moments(squares);
    EXPECT_GT(test::normal_p((s.mean - law.deviation * law.deviation) / std::sqrt(s.variance / n)),
              test::kGate)
        << static_cast<int>(kind) << ": " << std::sqrt(s.mean);
    if (kind == Kind::perlin || kind == Kind::simplex) {
      EXPECT_LE(*std::max_element(values.begin(), values.end()), 1);
      EXPECT_GE(*std::min_element(values.begin(), values.end()), -1);
      EXPECT_GT(*std::max_element(values.begin(), values.end()), 0.85);
    }
  }
}

// ---- the sum of octaves -------------------------------------------------------------------------

constexpr int kRun = 32;

PixelRun<kRun> row_of(float y) {
  PixelRun<kRun> run;
  run.footprint = 1;
  run.column = run.row = 0;
  for (int i = 0; i < kRun; ++i) {
    run.x[i] = static_cast<float>(i) + 0.5f;
    run.y[i] = y;
  }
  return run;
}

Textures::Params of_kind(Kind kind) {
  Textures::Params params;
  params.kind = kind;
  return params;
}

Textures::Scene scene_of(const Textures& functor, std::uint64_t sample, int side) {
  Truth<Textures::kLatents> truth;
  return functor.draw({{3, sample}, {}, {side, side, 3}}, truth);
}

TEST(Textures, BoundsGradientNoiseByItsAmplitudes) {
  for (const Kind kind : {Kind::perlin, Kind::simplex}) {
    const Textures functor(of_kind(kind));
    for (std::uint64_t sample = 0; sample < 200; ++sample) {
      const Textures::Scene scene = scene_of(functor, sample, 64);
      double bound = 0;
      for (int o = 0; o < scene.octaves; ++o) bound += std::pow(static_cast<double>(scene.gain), o);
      float value[kRun];
      functor.field(scene, row_of(7.5f), value);
      for (const float v : value) ASSERT_LE(std::abs(v), bound * (1 + 1e-6));
    }
  }
}

TEST(Textures, RefusesImpossibleParameters) {
  const auto refused = [](std::vector<ParamSetting> settings) {
    return test::message_of(ErrorKind::config, [&] { make_generator("textures", 32, settings); });
  };
  test::expect_parts(refused({{"frequency_low", "20", {}}}),
                     {"frequency_low = 20 is larger", "frequency_low: 16 or less"});
  test::expect_parts(refused({{"gain_high", "0.2", {}}}), {"gain_high: 0.4 or more"});
  test::expect_parts(refused({{"octaves_low", "5", {}}, {"octave_cells", "3", {}}}),
                     {"octave_cells = 3", "octave_cells: 2 or fewer"});
  test::expect_parts(refused({{"warp_high", "0", {}}}), {"warp_cells = 2", "warp_cells: 1"});
  EXPECT_NO_THROW(make_generator("textures", 32, {{"preset", "perlin-fbm", {}}}));
  EXPECT_NO_THROW(make_generator("textures", 32, {{"preset", "worley-1996", {}}}));
}

}  // namespace
}  // namespace wellspring
