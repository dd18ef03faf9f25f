#include "generators/images/ifs3d.h"

#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <set>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

const ifs3d::CategoryTable& three() {
  static const ifs3d::CategoryTable table = ifs3d::make_categories({}, 3, 2);
  return table;
}

// ---- systems and categories ---------------------------------------------------------------------

TEST(Ifs3d, ScalesEachCoefficientByTwelveFactors) {
  std::set<std::pair<int, float>> variations;
  for (int v = 1; v < ifs3d::kVariations; ++v) {
    const ifs3d::Weighting weight = ifs3d::weighting(v);
    ASSERT_TRUE(weight.coefficient >= 0 && weight.coefficient < 12);
    const int tenths = static_cast<int>(std::lround(weight.factor * 10));
    EXPECT_EQ(weight.factor, static_cast<float>(tenths) / 10);
    EXPECT_TRUE(tenths >= 4 && tenths <= 16 && tenths != 10) << v;
    variations.insert({weight.coefficient, weight.factor});
    ifs3d::System system = three().categories[0].system;
    ifs3d::vary(system, v);
    for (int i = 0; i < system.maps; ++i) {
      for (int c = 0; c < 12; ++c) {
        const float of = three().categories[0].system.map[i].value[c];
        EXPECT_EQ(system.map[i].value[c], c == weight.coefficient ? of * weight.factor : of);
      }
    }
  }
  EXPECT_EQ(variations.size(), 144u);
}

TEST(Ifs3d, RequiresSpreadAlongEveryAxis) {
  ifs3d::Survey wide;
  wide.high = 1;
  wide.variance[0] = wide.variance[1] = 0.3;
  wide.variance[2] = 0.05;
  EXPECT_FALSE(wide.spreads(0.05)) << "the bound must be exclusive";
  EXPECT_TRUE(wide.spreads(0.04999));
  wide.diverged = true;
  EXPECT_FALSE(wide.spreads(0.01));
  EXPECT_FALSE(ifs3d::Survey{}.spreads(0));
}

// ---- pictures -----------------------------------------------------------------------------------

Ifs3d with_three(Ifs3d::Params params) {
  params.categories = 3;
  Ifs3d functor(params);
  functor.read({three().categories.data(), three().frames.data()});
  return functor;
}

TEST(Ifs3d, OrdersCellsByDepth) {
  EXPECT_GT(ifs3d::nearness(1.5f), ifs3d::nearness(1.5000001f));
  EXPECT_GT(ifs3d::nearness(1e30f), 0u);
  EXPECT_EQ(ifs3d::depth_of(ifs3d::nearness(3.25f)), 3.25f);
}

TEST(Ifs3d, DrawsTwelveOrRandomViews) {
  for (const auto views : {Ifs3d::Views::twelve, Ifs3d::Views::random}) {
    Ifs3d::Params params;
    params.views = views;
    params.elevation = 60;
    const Ifs3d functor = with_three(params);
    std::vector<double> counts(12), jitters, azimuths, sines;
    for (std::uint64_t sample = 0; sample < 4000; ++sample) {
      Truth<Ifs3d::kLatents> truth;
      functor.draw({{3, sample}, {}, {32, 32, 3}}, truth);
      const double azimuth = truth.latents[2] * 180 / std::numbers::pi, view = truth.latents[1];
      azimuths.push_back(azimuth / 360);
      sines.push_back(0.5 + std::sin(truth.latents[3]) / (2 * std::sin(std::numbers::pi / 3)));
      if (views == Ifs3d::Views::random) continue;
      counts[static_cast<std::size_t>(view)] += 1;
      EXPECT_EQ(truth.latents[3], 0);
      const double off = std::remainder(azimuth - (30 + 30 * view), 360);
      ASSERT_LE(std::abs(off), std::numbers::pi + 1e-4);
      jitters.push_back(0.5 + off / (2 * std::numbers::pi));
    }
    const auto uniform = [](double x) { return x; };
    if (views == Ifs3d::Views::twelve) {
      EXPECT_GT(test::uniform_chi_square_p(counts), test::kGate);
      EXPECT_GT(test::kolmogorov_p(jitters, uniform), test::kGate);
    } else {
      EXPECT_GT(test::kolmogorov_p(azimuths, uniform), test::kGate);
      EXPECT_GT(test::kolmogorov_p(sines, uniform), test::kGate) << "must be uniform on the sphere";
    }
  }
}

}  // namespace
}  // namespace wellspring
