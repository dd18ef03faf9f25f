// Dense labels match the image under any augmentation and change no other column.
#include "core/error.h"
#include "export/preview.h"
#include "generators/images/leaf_by_leaf.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <vector>

namespace wellspring {
namespace {

constexpr std::uint64_t kSeed = 11;

test::Samples with_plane(const std::string& name, int size, std::int64_t count,
                         const std::vector<ParamSetting>& settings = {},
                         const std::string& yaml = "") {
  const auto generator = make_generator(name, size, settings);
  SampleMaking making;
  making.dense = DenseLabels::plane;
  return test::collect(*generator, {kSeed, 0, static_cast<std::uint64_t>(count)}, making, yaml);
}

std::vector<std::string> names_with_plane() {
  std::vector<std::string> names;
  for (const GeneratorEntry& entry : generator_registry()) {
    if (entry.has_plane) names.push_back(entry.name);
  }
  return names;
}

class EveryPlane : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Registry, EveryPlane, ::testing::ValuesIn(names_with_plane()),
                         [](const auto& test) { return test.param; });

TEST_P(EveryPlane, LeavesAllOtherColumnsUnchanged) {
  const auto generator = make_generator(GetParam(), 20);
  ASSERT_TRUE(generator->info().plane);
  const test::Samples plain = test::collect(*generator, {kSeed, 0, 5});
  const test::Samples both = with_plane(GetParam(), 20, 5);
  EXPECT_EQ(both.x, plain.x);
  EXPECT_EQ(both.label, plain.label);
  EXPECT_EQ(both.latents, plain.latents);
  EXPECT_EQ(both.plane.size(), 5u * 20 * 20);
  EXPECT_TRUE(plain.plane.empty());
  EXPECT_TRUE(std::ranges::all_of(both.plane, [](float v) { return v >= 0 && std::isfinite(v); }));
  EXPECT_TRUE(std::ranges::any_of(both.plane, [](float v) { return v > 0; }));
}

TEST_P(EveryPlane, FollowsGeometryButNotColours) {
  const int size = 24;
  const auto plain = with_plane(GetParam(), size, 4).plane;
  for (const std::string flip : {"flip_x: 1", "{one_of: [flip_x: 1]}"}) {
    const auto mirrored =
        with_plane(GetParam(), size, 4, {},
                   "augment: [" + flip + ", brightness: 0.5, solarise: 0.4, erase: 9]\n" +
                       "normalise: {mean: [0.5, 0.4, 0.3], std: [0.2, 0.3, 0.4]}")
            .plane;
    ASSERT_EQ(plain.size(), mirrored.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const std::size_t column = i % size;
      ASSERT_EQ(mirrored[i], plain[i - column + (size - 1 - column)]) << flip << i;
    }
  }
}

TEST_P(EveryPlane, IsEqualForAnyBatch) {
  const auto generator = make_generator(GetParam(), 17);
  SampleMaking making = {.batch = 3, .dense = DenseLabels::plane};
  EXPECT_EQ(test::collect(*generator, {kSeed, 0, 7}, making).plane,
            with_plane(GetParam(), 17, 7).plane);
}

TEST(DenseLabelsOfDeadLeaves, NameTheVisibleLeaf) {
  constexpr int kLeaves = 300;
  for (const char* const yaml : {"", "augment: [rotate: 40, zoom: [0.7, 1.4]]"}) {
    for (const int size : {24, 150}) {
      const test::Samples samples =
          with_plane("dead_leaves", size, 3, {{"max_leaves", std::to_string(kLeaves), {}}}, yaml);
      std::map<float, int> seen;
      for (std::size_t p = 0; p < samples.plane.size(); ++p) {
        const auto number = static_cast<std::uint32_t>(samples.plane[p]);
        const std::uint32_t leaf = number == 0 ? kLeaves : number - 1;
        ++seen[samples.plane[p]];
        const SampleRng rng = {named_key(kSeed, "dead_leaves"),
                               p / static_cast<std::size_t>(size * size)};
        // Leaves of the image, its surroundings and the plane have separate number ranges.
        const Rgb colour =
            leaf_colour(rng, (leaf >> 22) << LeafPlaces::kLevelShift | (leaf & ((1u << 22) - 1)));
        ASSERT_EQ(samples.x[3 * p], colour.r) << p;
        ASSERT_EQ(samples.x[3 * p + 2], colour.b) << p;
      }
      EXPECT_GT(seen.size(), 20u);
      EXPECT_TRUE(seen.contains(0)) << "with so few leaves, some pixels must stay uncovered";
      EXPECT_EQ(seen.rbegin()->first > (1 << 22), *yaml != '\0')
          << "leaves beyond the image border";
    }
  }
}

// The number of a leaf determines the words of its shape.
TEST(DenseLabelsOfDeadLeaves, GiveTheShapeOfTheVisibleLeaf) {
  constexpr int kSize = 40, kCount = 6;
  const char* const far = "augment: [rotate: 40, zoom: [0.3, 1.4]]";
  for (const std::string kind : {"any", "mixed"}) {
    for (const char* const yaml : {"", far}) {
      const std::vector<ParamSetting> settings = {{"max_leaves", "300", {}}, {"kind", kind, {}}};
      const test::Samples leaves = with_plane("dead_leaves", kSize, kCount, settings, yaml);
      std::vector<ParamSetting> as_shapes = settings;
      as_shapes.push_back({"dense", "shape", {}});
      const test::Samples shapes = with_plane("dead_leaves", kSize, kCount, as_shapes, yaml);
      EXPECT_EQ(shapes.x, leaves.x);
      std::map<float, int> seen;
      for (std::size_t p = 0; p < leaves.plane.size(); ++p) {
        const std::size_t sample = p / (kSize * kSize);
        ++seen[shapes.plane[p]];
        ASSERT_EQ(shapes.plane[p] == 0, leaves.plane[p] == 0) << p;
        if (leaves.plane[p] == 0) continue;
        auto shape = static_cast<std::uint32_t>(leaves.label[sample]);
        if (shape == kLeafShapes) {
          const std::uint32_t leaf = static_cast<std::uint32_t>(leaves.plane[p]) - 1;
          const std::uint32_t number =
              (leaf >> 22) << LeafPlaces::kLevelShift | (leaf & ((1u << 22) - 1));
          const SampleRng rng = {named_key(kSeed, "dead_leaves"), sample};
          shape = below(rng.block(Purpose::scene, 2 * number).word[3], kLeafShapes);
        }
        ASSERT_EQ(shapes.plane[p], static_cast<float>(shape + 1)) << p;
      }
      EXPECT_TRUE(seen.contains(0));
      EXPECT_FALSE(seen.contains(kLeafShapes + 1)) << "no single leaf is mixed";
      if (kind == "mixed") {
        EXPECT_EQ(seen.size(), 1u + kLeafShapes);
      }
    }
  }
}

TEST(DenseLabelsOfShapes, CoverTheAreaOfTheShape) {
  constexpr int kSize = 128, kCount = 40;
  const test::Samples samples = with_plane("shapes", kSize, kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto* const plane = samples.plane.data() + i * kSize * kSize;
    const auto number = static_cast<float>(samples.label[i] + 1);
    int inside = 0;
    for (int p = 0; p < kSize * kSize; ++p) {
      ASSERT_TRUE(plane[p] == 0 || plane[p] == number);
      inside += plane[p] > 0 ? 1 : 0;
      // Inside, the colour is closer to the shape's; outside, it is closer to the background's.
      const float red = samples.image(i)[3 * p];
      const float front = samples.latent(i, 4), back = samples.latent(i, 7);
      ASSERT_TRUE(plane[p] > 0 ? std::abs(red - front) <= std::abs(red - back) + 1e-6f
                               : std::abs(red - back) <= std::abs(red - front) + 1e-6f);
    }
    // All shapes have the area of a disc of this radius, and outlines shorter than three times its
    // circumference. Each pixel on the outline is inside or outside at random, with variance at
    // most 1/4.
    const double radius = samples.latent(i, 2) * kSize;
    const double outline = 6 * std::numbers::pi * radius;
    EXPECT_NEAR(inside, std::numbers::pi * radius * radius, 5 * std::sqrt(outline));
  }
}

TEST(DenseLabelsOfRooms, GiveDepthAlongTheViewAxis) {
  constexpr int kSize = 65;
  const test::Samples samples =
      with_plane("sprites", kSize, 60, {{"mode", "shapes3d", {}}, {"edges", "hard", {}}});
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const auto* const plane = samples.plane.data() + i * kSize * kSize;
    // The middle of the lowest row shows the floor, 1.4 below the camera, which is pitched by
    // asin(0.31073886). The tangent of half the angle of view is 0.45.
    const double sine = 0.31073886, cosine = std::sqrt(1 - sine * sine);
    const double up = -0.45 * (kSize - 1.0) / kSize;
    const double falls = sine - up * cosine;  // per unit of depth
    EXPECT_NEAR(plane[(kSize - 1) * kSize + kSize / 2], 1.4 / falls, 1e-5);
    // Nothing is further away than the far corner of the room.
    const float most = *std::max_element(plane, plane + kSize * kSize);
    EXPECT_GT(most, 2.6);
    EXPECT_LT(most, 2.6 + 3 * std::numbers::sqrt2 + 0.5);
  }
}

TEST(DenseLabelsOfIfs3d, GiveDepthWhereAPointIsVisible) {
  const test::Samples samples =
      with_plane("ifs3d", 64, 6, {{"categories", "4", {}}, {"palette", "white", {}}});
  for (std::size_t p = 0; p < samples.plane.size(); ++p)
    ASSERT_EQ(samples.plane[p] > 0, samples.x[3 * p] == 1);
  const test::Samples deep =
      with_plane("ifs3d", 64, 6, {{"categories", "4", {}}, {"palette", "depth", {}}});
  EXPECT_EQ(deep.plane, samples.plane);
  for (std::size_t p = 0; p < deep.plane.size(); ++p) {
    if (deep.plane[p] == 0) continue;
    ASSERT_EQ(deep.x[3 * p], std::clamp((6.5f - deep.plane[p]) / 4, 0.25f, 1.0f));
  }
}

TEST(DenseLabelsOfMandelbulb, GiveTheDepthThatTheDepthPaletteShows) {
  const test::Samples samples = with_plane("mandelbulb", 40, 4, {{"palette", "depth", {}}});
  int hit = 0;
  for (std::size_t p = 0; p < samples.plane.size(); ++p) {
    const float depth = samples.plane[p];
    // The value is 1 on the near side of the ball of radius 1.5, whose centre is 2.5 away, and 1/4
    // on its far side.
    const float grey = depth > 0 ? std::clamp(1 - 0.25f * (depth - 1), 0.25f, 1.0f) : 0;
    ASSERT_NEAR(samples.x[3 * p], grey, 1e-6f);
    hit += depth > 0 ? 1 : 0;
  }
  EXPECT_GT(hit, 500);
}

TEST(DenseLabels, RefuseGeneratorsWithoutThem) {
  const auto noise = make_generator("noise", 8);
  EXPECT_FALSE(noise->info().plane);
  SampleMaking making;
  making.dense = DenseLabels::plane;
  const auto refused = [](const auto& body) { return test::message_of(ErrorKind::config, body); };
  test::expect_parts(refused([&] { SampleMaker(*noise, making); }), {"noise has no dense labels"});
  test::expect_parts(refused([&] {
                       GeneratorReader(*noise, {0, 0, 4}, making);
                     }),
                     {"noise has no dense labels", "dead_leaves", "mandelbulb"});
}

TEST(DenseLabels, AppearNextToTheirImagesInPreviews) {
  const auto shapes = make_generator("shapes", 32);
  SampleMaking making;
  GeneratorReader plain(*shapes, {kSeed, 0, 16}, making);
  const int narrow = preview(plain).image.width;
  making.dense = DenseLabels::plane;
  GeneratorReader both(*shapes, {kSeed, 0, 16}, making);
  const RgbImage picture = preview(both).image;
  EXPECT_EQ(picture.width - narrow, 4 * 96);
}

}  // namespace
}  // namespace wellspring
