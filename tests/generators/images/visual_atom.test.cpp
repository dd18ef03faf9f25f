#include "generators/images/visual_atom.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace wellspring {
namespace {

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
