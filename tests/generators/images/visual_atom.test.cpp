#include "generators/images/visual_atom.h"

#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace wellspring {
namespace {

TEST(VisualAtom, ClassesFollowThePublishedLaws) {
  const VisualAtom functor({});
  constexpr std::uint32_t kClasses = 40000;
  std::vector<double> vertices(801), orbits(200), radius(51), waves(21 * 21), expected;
  std::vector<double> noise, width, oval_x, oval_y;
  double segments = 0;
  for (std::uint32_t k = 0; k < kClasses; ++k) {
    const auto c = functor.class_of(k);
    vertices.at(static_cast<std::size_t>(c.vertices - 200)) += 1;
    orbits.at(static_cast<std::size_t>(c.orbits - 1)) += 1;
    radius.at(static_cast<std::size_t>(c.radius - 10)) += 1;
    waves.at(static_cast<std::size_t>(21 * c.wave_1 + c.wave_2)) += 1;
    noise.push_back(c.noise / 4);
    width.push_back(c.line_width / 0.1);
    oval_x.push_back(c.oval_x - 1);
    oval_y.push_back(c.oval_y - 1);
    segments += static_cast<double>(c.vertices) * c.orbits / kClasses;
  }
  EXPECT_GT(test::uniform_chi_square_p(vertices), test::kGate);
  EXPECT_GT(test::uniform_chi_square_p(orbits), test::kGate);
  EXPECT_GT(test::uniform_chi_square_p(radius), test::kGate);
  for (const auto* values : {&noise, &width, &oval_x, &oval_y}) {
    EXPECT_GT(test::kolmogorov_p(*values, [](double u) { return std::clamp(u, 0.0, 1.0); }),
              test::kGate);
  }
  // The second wave is redrawn until it differs from the first, unless the first is 0.
  std::vector<double> pairs;
  for (std::size_t one = 0; one < 21; ++one) {
    for (std::size_t two = 0; two < 21; ++two) {
      if (one != 0 && one == two) {
        EXPECT_EQ(waves[21 * one + two], 0);
        continue;
      }
      pairs.push_back(waves[21 * one + two]);
      expected.push_back(kClasses / 21.0 / (one == 0 ? 21 : 20));
    }
  }
  EXPECT_GT(test::chi_square_p(pairs, expected), test::kGate);
  // E[n] E[L] = 600 * 100.5, with a relative standard deviation of 0.70. In two of three cases, the
  // mean of 1000 classes is within 2.2 % of that.
  const double mean = 600 * 100.5;
  const double second = (800.0 * 802 / 12 + 600 * 600) * (199.0 * 201 / 12 + 100.5 * 100.5);
  EXPECT_GT(test::normal_p((segments - mean) / std::sqrt((second - mean * mean) / kClasses)),
            test::kGate)
      << segments;
}

TEST(VisualAtom, ClassesDoNotDependOnTheirNumber) {
  VisualAtom::Params few;
  few.classes = 3;
  const auto one = VisualAtom({}).class_of(2), other = VisualAtom(few).class_of(2);
  EXPECT_TRUE(one.vertices == other.vertices && one.noise == other.noise &&
              one.oval_y == other.oval_y);
  few.class_seed = 2;
  EXPECT_NE(VisualAtom(few).class_of(2).noise, one.noise);
}

TEST(VisualAtom, ScalesWithTheSide) {
  const VisualAtom functor({});
  Truth<VisualAtom::kLatents> truth, larger_truth;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto scene = functor.draw({{5, i}, {}, {128, 128, 3}}, truth);
    const auto larger = functor.draw({{5, i}, {}, {256, 256, 3}}, larger_truth);
    EXPECT_EQ(larger.centre_x, 2 * scene.centre_x);
    EXPECT_EQ(larger.radius_y, 2 * scene.radius_y);
    EXPECT_EQ(larger.growth, 2 * scene.growth);
    EXPECT_EQ(larger.noise, 2 * scene.noise);
    EXPECT_EQ(larger.wave, 2 * scene.wave);
    EXPECT_EQ(truth.latents[2], larger_truth.latents[2]);
    EXPECT_FLOAT_EQ(scene.centre_x, 128 * truth.latents[0]);
  }
}

}  // namespace
}  // namespace wellspring
