// Images that are not square.
#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/generators/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace wellspring {
namespace {

std::vector<std::string> image_generators() {
  std::vector<std::string> names;
  for (const GeneratorEntry& entry : generator_registry())
    if (entry.kind == SampleKind::image) names.push_back(entry.name);
  return names;
}

class EveryImageGenerator : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Registry, EveryImageGenerator, ::testing::ValuesIn(image_generators()),
                         [](const auto& test) { return test.param; });

/// Mean absolute difference between the values of a sample and their mean over [left, right).
double contrast(const test::Samples& samples, std::size_t sample, const SampleShape& shape,
                int left, int right) {
  double sum = 0, sum_abs = 0;
  int count = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (int y = 0; y < shape.height; ++y)
      for (int i = left * shape.channels; i < right * shape.channels; ++i) {
        const double value =
            samples.x[sample * static_cast<std::size_t>(shape.elements()) +
                      static_cast<std::size_t>(y * shape.width * shape.channels + i)];
        if (pass == 0) {
          sum += value;
          ++count;
        } else {
          sum_abs += std::abs(value - sum / count);
        }
      }
  return sum_abs / count;
}

// The picture reaches all parts of the image; neither batch nor threads change its bytes.
TEST_P(EveryImageGenerator, FillsImagesOfAnySize) {
  const std::vector<ParamSetting> quick = test::read_golden(GetParam()).quick;
  for (const ImageSize size : {ImageSize(20, 36), ImageSize(36, 20)}) {
    SCOPED_TRACE(size.to_string());
    const auto generator = make_generator(GetParam(), size, quick);
    const SampleShape shape = generator->layout().shape();
    ASSERT_EQ(shape, (SampleShape{size.height, size.width, 3}));
    const auto samples = test::collect(*generator, {5, 0, 12});
    const auto again = make_generator(GetParam(), size, quick);
    EXPECT_TRUE(test::collect(*again, {5, 0, 12}, {.batch = 5, .threads = 2}).x == samples.x);
    const SampleInfo& info = generator->info();
    for (const float value : samples.x) ASSERT_TRUE(value >= info.low && value <= info.high);
    double left = 0, right = 0;
    for (std::size_t i = 0; i < 12; ++i) {
      left += contrast(samples, i, shape, 0, shape.width / 2);
      right += contrast(samples, i, shape, shape.width / 2, shape.width);
    }
    EXPECT_GT(left, 0);
    EXPECT_GT(right, 0);
  }
}

// A number is the side of a square.
TEST(ImageSizes, AreSquareIfOneNumberIsGiven) {
  const auto one = make_generator("shapes", 24), both = make_generator("shapes", {24, 24});
  EXPECT_TRUE(test::collect(*one, {1, 0, 3}).x == test::collect(*both, {1, 0, 3}).x);
}

// Positions refer to the largest central square, so a flip maps x to 1 - x. A canvas of 43 pixels would be 77.4 wide;
// it has 78. The tolerance is a few rounding errors of numbers below 2 (sides).
TEST(ImageSizes, FlipPositionsInTheLargestCentralSquare) {
  for (const auto& [name, render] : {std::pair<std::string, std::string>{"shapes", ""},
                                     {"visual_atom", "40"},
                                     {"visual_atom", "43"},
                                     {"ifs_multi", ""}}) {
    SCOPED_TRACE(name);
    std::vector<ParamSetting> settings = test::read_golden(name).quick;
    if (!render.empty()) settings.push_back({"render", render});
    for (const auto& [list, along] :
         {std::pair<std::string, int>{"augment: [flip_x: 1]", 0}, {"augment: [flip_y: 1]", 1}}) {
      const auto plain = make_generator(name, {20, 36}, settings),
                 flipped = make_generator(name, {20, 36}, settings);
      const auto before = test::collect(*plain, {5, 0, 8}),
                 after = test::collect(*flipped, {5, 0, 8}, {}, list);
      const auto& latents = plain->info().latents;
      int seen = 0;
      for (std::size_t l = 0; l < latents.size(); ++l) {
        const LatentRole role = latents[l].role;
        if (role != LatentRole::position_x && role != LatentRole::thing_x) continue;
        for (std::size_t i = 0; i < 8; ++i) {
          if (role == LatentRole::thing_x && before.latent(i, l + 2) == 0) continue;  // absent
          for (const std::size_t axis : {0, 1}) {
            const float x = before.latent(i, l + axis);
            EXPECT_NEAR(after.latent(i, l + axis), static_cast<int>(axis) == along ? 1 - x : x,
                        0x1p-19);
            ++seen;
          }
        }
      }
      EXPECT_GE(seen, 16);
    }
  }
}

// Canvases have the proportions of the output, so that shapes are not stretched.
TEST(ImageSizes, GiveCanvasesTheirProportions) {
  const auto source = [](const char* name, ImageSize size, const char* render) {
    return make_generator(name, size, {{"render", render}})->info().source_shape();
  };
  EXPECT_EQ(source("visual_atom", {32, 48}, "64"), (SampleShape{64, 96, 3}));
  EXPECT_EQ(source("ifs", {48, 32}, "64"), (SampleShape{96, 64, 3}));
  EXPECT_EQ(source("rcdb", 32, "64"), (SampleShape{64, 64, 3}));
  EXPECT_EQ(source("ifs", {20, 36}, "43"), (SampleShape{43, 78, 3}));
  EXPECT_EQ(source("rcdb", {3, 7}, "64"), (SampleShape{64, 150, 3}));
}

}  // namespace
}  // namespace wellspring
