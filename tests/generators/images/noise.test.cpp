#include "generators/images/noise.h"

#include "tests/generators/collect.h"

#include <gtest/gtest.h>

#include <cmath>

namespace wellspring {
namespace {

TEST(Noise, FlipsAndShiftsPermuteTheLattice) {
  const auto generator = make_generator("noise", 24);
  const auto plain = test::collect(*generator, {3, 5, 1});
  const std::string yaml = "augment: [flip_x: 1, shift: 0.3]";
  const auto shown = test::emit_augmented<float>(*generator, yaml, 3, 5, 1);
  const SampleShape shape = generator->layout().shape();
  const Augmentation v = draw_augmentation(test::plan_of(yaml, shape), {named_key(3, "noise"), 5});
  int compared = 0;
  for (int row = 0; row < 24; ++row) {
    for (int column = 0; column < 24; ++column) {
      const int sx = static_cast<int>(std::floor(v.source_x(column + 0.5f, row + 0.5f)));
      const int sy = static_cast<int>(std::floor(v.source_y(column + 0.5f, row + 0.5f)));
      if (sx < 0 || sy < 0 || sx >= 24 || sy >= 24) continue;
      ++compared;
      ASSERT_EQ(shown[static_cast<std::size_t>(row * 24 + column) * 3],
                plain.x[static_cast<std::size_t>(sy * 24 + sx) * 3]);
    }
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace wellspring
