#include "kernels/augment/augmentation_draw.h"
#include "kernels/augment/augmentation_passes.h"
#include "kernels/augment/blur_passes.h"
#include "kernels/emission/emitter.h"
#include "tests/kernels/emission_functors.h"
#include "tests/support/augmentation.h"
#include "tests/support/host_batch.h"
#include "tests/support/team_launcher.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {
namespace {

/// Seeded pseudorandom values in [0, 1] at every pixel.
struct Speckle {
  static constexpr int kLatents = 0;
  static constexpr forms::Pixels kForm = {};
  struct Scene {
    SampleRng rng;
  };
  Scene draw(const SampleKey& key, Truth<0>&) const { return {key.rng}; }
  Rgb at(const Scene& scene, PixelCoordinate p) const {
    // Pixels around the image have negative coordinates.
    const auto x = static_cast<std::int32_t>(p.x), y = static_cast<std::int32_t>(p.y);
    const auto place = static_cast<std::uint32_t>(y) << 16 | static_cast<std::uint32_t>(x);
    const Philox4 w = scene.rng.block(Purpose::texture, place);
    return {unit_float(w.word[0]), unit_float(w.word[1]), unit_float(w.word[2])};
  }
};

constexpr std::uint64_t kBlurSeed = 5;

std::vector<float> emit(const std::string& yaml, SampleShape shape, std::int64_t count,
                        int members = 1) {
  const AugmentationPlan plan = test::plan_of(yaml, shape);
  const test::HostBatch batch(count, SampleLayout::image(shape));
  std::vector<Slot> slots;
  for (std::uint32_t i = 0; i < count; ++i) slots.push_back({i, i, 0, i});
  MemoryPlan memory(Device::cpu());
  Emitter<Speckle> stage;
  AugmentationPasses passes;
  stage.plan(memory, "test", count, Speckle{}, shape);
  passes.plan(memory, "test", count, shape, plan);
  memory.commit();
  const test::TeamLauncher launch{members};
  stage.emit(launch, "test", Speckle{}, shape,
             {slots.data(), 0, kBlurSeed, plan, passes.target(batch.view())});
  passes.finish(launch, {slots.data(), 0, kBlurSeed, plan, batch.view()});
  return {batch.x().begin(), batch.x().end()};
}

/// One blurred pixel in double precision, in both directions at once, mirrored at the border.
double blurred(const float* image, SampleShape shape, double sigma, int radius, int row, int column,
               int c) {
  const auto mirror = [](int i, int size) {
    if (i < 0) i = -i;
    return i < size ? i : 2 * (size - 1) - i;
  };
  double sum = 0, weights = 0;
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      const double weight = std::exp(-0.5 * (dx * dx + dy * dy) / (sigma * sigma));
      const int y = mirror(row + dy, shape.height), x = mirror(column + dx, shape.width);
      sum += weight * image[(y * shape.width + x) * shape.channels + c];
      weights += weight;
    }
  }
  return sum / weights;
}

TEST(Blur, MatchesADoublePrecisionSum) {
  const SampleShape shape = {23, 41, 3};
  const std::string list = "augment: [blur: {sigma: [0.5, 2], kernel: 9, probability: 0.6}]";
  const auto plain = emit("", shape, 12), seen = emit(list, shape, 12);
  int with = 0;
  for (int s = 0; s < 12; ++s) {
    const Augmentation a =
        draw_augmentation(test::plan_of(list, shape), {kBlurSeed, static_cast<std::uint64_t>(s)});
    with += a.blur_sigma > 0 ? 1 : 0;
    const float* const image = plain.data() + s * shape.elements();
    for (int i = 0; i < shape.elements(); ++i) {
      const int c = i % 3, column = i / 3 % 41, row = i / 3 / 41;
      const double expected =
          a.blur_sigma > 0 ? blurred(image, shape, a.blur_sigma, 4, row, column, c) : image[i];
      // 18 sequential products and weights with errors of a few ulps: 40 * 2^-24.
      ASSERT_NEAR(seen[static_cast<std::size_t>(s * shape.elements() + i)], expected, 40 * 0x1p-24);
    }
  }
  EXPECT_GT(with, 0);
  EXPECT_LT(with, 12);
}

// Operations run before or after the blur, as listed; erasing leaves exact zeros.
TEST(Blur, RunsInListOrder) {
  const SampleShape shape = {20, 20, 3};
  const auto lit = emit("augment: [brightness: 0.8]", shape, 1);
  const auto seen = emit(
      "augment: [brightness: 0.8, blur: {sigma: [1, 1], kernel: 5, probability: 1}, "
      "solarise: {threshold: 0.4, probability: 1}, erase: 6]\nnormalise: {mean: [0.3], std: [0.5]}",
      shape, 1);
  const Augmentation a =
      draw_augmentation(test::plan_of("augment: [erase: 6]", shape), {kBlurSeed, 0});
  int zeros = 0;
  for (int i = 0; i < shape.elements(); ++i) {
    const int c = i % 3, column = i / 3 % 20, row = i / 3 / 20;
    const bool erased =
        column >= a.erase_x0 && column < a.erase_x1 && row >= a.erase_y0 && row < a.erase_y1;
    const double soft = blurred(lit.data(), shape, 1, 2, row, column, c);
    if (!erased && std::abs(soft - 0.4) < 1e-5) continue;  // rounding decides here
    const double expected = erased ? 0 : ((soft < 0.4 ? soft : 1 - soft) - 0.3) / 0.5;
    ASSERT_NEAR(seen[static_cast<std::size_t>(i)], expected, 100 * 0x1p-24);
    zeros += erased && seen[static_cast<std::size_t>(i)] == 0 ? 1 : 0;
  }
  EXPECT_GE(zeros, 3 * 9);
}

TEST(Blur, GivesEqualBytesForEveryTeamAndBatchSize) {
  const SampleShape shape = {17, 35, 3};
  const std::string yaml = "augment: [flip_x, blur: {sigma: [0.5, 2]}, hue: 0.1]";
  const auto whole = emit(yaml, shape, 5);
  for (const int members : {7, 32}) EXPECT_EQ(emit(yaml, shape, 5, members), whole) << members;
  const auto less = emit(yaml, shape, 2);
  EXPECT_TRUE(std::equal(less.begin(), less.end(), whole.begin()));
}

TEST(AugmentationPasses, CountsPasses) {
  const SampleShape shape = {32, 32, 3};
  const auto pass_count = [&](const std::string& yaml) {
    MemoryPlan memory(Device::cpu());
    AugmentationPasses passes;
    passes.plan(memory, "test", 4, shape, test::plan_of(yaml, shape));
    return passes.count();
  };
  EXPECT_EQ(pass_count(""), 0);
  EXPECT_EQ(pass_count("augment: [crop_resize, flip_x, perspective, brightness: 0.4, hue: 0.1, "
                       "grey, solarise, erase: 4]"),
            0);
  EXPECT_EQ(pass_count("augment: [flip_x, blur: {kernel: 3}]"), 3);
  EXPECT_EQ(pass_count("augment: [posterise: 4, affine, contrast: 0.3, erase_box]"), 0);
  EXPECT_EQ(pass_count("augment: [contrast: {strength: 0.3, about: mean}]"), 2);
  EXPECT_EQ(pass_count("augment: [rand_augment, noise, blur: {kernel: 3}]"), 4);
  EXPECT_EQ(pass_count("augment: [erase_box: {fill: noise}]"), 2);
}

}  // namespace
}  // namespace wellspring
