// Compares latents of augmented samples with measurements on the pixels.
#include "export/samples.h"
#include "generators/generator.h"
#include "tests/support/augmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace wellspring {
namespace {

class ShapesLatents : public testing::TestWithParam<const char*> {};

/// Position and radius of the disc, measured from the centroid and area of the pixels that differ
/// from the background.
TEST_P(ShapesLatents, MatchTheVisibleDisc) {
  constexpr int kSide = 96;
  const auto generator = make_generator(
      "shapes", kSide, {{"classes", "1", {}}, {"scale_low", "0.12", {}}, {"contrast", "0.6", {}}});
  SampleMaker maker(*generator);
  int measured = 0;
  const auto measure = [&](const HostSamples& samples) {
    const auto stride = static_cast<std::size_t>(samples.rows.layout.latents);
    const std::size_t elements = static_cast<std::size_t>(samples.rows.layout.elements());
    for (std::size_t row = 0; row < static_cast<std::size_t>(samples.count()); ++row) {
      const float* const latent = samples.latents().data() + row * stride;
      const double x = latent[0], y = latent[1], scale = latent[2];
      if (std::min(x, y) < scale + 0.02 || std::max(x, y) > 0.98 - scale) continue;  // out of sight
      std::size_t c = 0;  // the channel in which disc and background differ most
      for (std::size_t k = 1; k < 3; ++k)
        if (std::abs(latent[4 + k] - latent[7 + k]) > std::abs(latent[4 + c] - latent[7 + c]))
          c = k;
      double area = 0, sum_x = 0, sum_y = 0;
      for (std::size_t p = 0; p < elements / 3; ++p) {
        const double value = samples.x()[row * elements + 3 * p + c];
        const double share = (value - latent[7 + c]) / (latent[4 + c] - latent[7 + c]);
        area += share;
        sum_x += share * (static_cast<double>(p % kSide) + 0.5);
        sum_y += share * (static_cast<double>(p / kSide) + 0.5);
      }
      ++measured;
      // The ramp of the edge is one pixel wide and symmetric. A pixel's coverage is off by at most
      // 0.05 with random sign, and about 100 of at least 500 pixels are on the edge.
      ASSERT_NEAR(sum_x / area, x * kSide, 0.05) << GetParam() << ", row " << row;
      ASSERT_NEAR(sum_y / area, y * kSide, 0.05);
      ASSERT_NEAR(std::sqrt(area / 3.14159265358979323846), scale * kSide, 0.1);
    }
  };
  const SampleShape shape = generator->layout().shape();
  maker.make({4, 0, 64}, measure, test::plan_of(std::string("augment: ") + GetParam(), shape));
  EXPECT_GE(measured, 10);
}

INSTANTIATE_TEST_SUITE_P(
    Operations, ShapesLatents,
    testing::Values("[]", "[flip_x: 1]", "[flip_y: 1]", "[shift: 0.1]", "[rotate: 180]",
                    "[zoom: [0.8, 1.2]]", "[crop_resize: {scale: [0.6, 1], ratio: [1, 1]}]",
                    "[flip_x, rotate: 45, shift: 0.05, flip_y, zoom: [0.9, 1.1]]"));

}  // namespace
}  // namespace wellspring
