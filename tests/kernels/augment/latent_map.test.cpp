#include "kernels/augment/latent_map.h"

#include "kernels/augment/augmentation_draw.h"
#include "tests/support/augmentation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {
namespace {

constexpr double kTurn = 6.283185307179586;

AugmentationPlan map_plan(const std::string& list, FrameSize source, FrameSize out) {
  return test::plan_of("augment: " + list, source, out);
}

/// Latents with these roles: in pixels, or in image sides if side lengths are given.
LatentRoles roles_of(const std::vector<LatentRole>& list, int source_side = 1, int out_side = 1) {
  LatentRoles roles;
  for (const LatentRole role : list) {
    roles.fraction[roles.count] = source_side > 1;
    roles.role[roles.count++] = role;
  }
  roles.source_side = static_cast<float>(source_side);
  roles.out_side = static_cast<float>(out_side);
  return roles;
}

/// Area and centroid of the output points (4 x 4 per pixel) whose source point is inside a disc.
struct Visible {
  double area = 0, x = 0, y = 0;
};
Visible measure_disc(const Augmentation& a, FrameSize out, double x, double y, double radius) {
  Visible visible;
  for (int row = 0; row < 4 * out.height; ++row) {
    for (int column = 0; column < 4 * out.width; ++column) {
      const double ox = (column + 0.5) / 4, oy = (row + 0.5) / 4;
      const auto fx = static_cast<float>(ox), fy = static_cast<float>(oy);
      if (std::hypot(a.source_x(fx, fy) - x, a.source_y(fx, fy) - y) > radius) continue;
      visible.area += 1. / 16;
      visible.x += ox / 16;
      visible.y += oy / 16;
    }
  }
  visible.x /= visible.area;
  visible.y /= visible.area;
  return visible;
}

struct Case {
  const char* list;
  FrameSize source, out;
};

class MapLatentsTest : public testing::TestWithParam<Case> {};

/// Measures an object of the source (a disc and another disc above it, on an axis at `angle`) in
/// the output pixels and compares it with its mapped latents.
TEST_P(MapLatentsTest, FollowsAVisibleObject) {
  const auto [list, source, out] = GetParam();
  const AugmentationPlan plan = map_plan(list, source, out);
  const LatentRoles roles =
      roles_of({LatentRole::position_x, LatentRole::position_y, LatentRole::length,
                LatentRole::angle, LatentRole::direction, LatentRole::fixed},
               source.width, out.width);
  const float side = roles.source_side;
  int measured = 0;
  for (std::uint64_t ordinal = 0; ordinal < 16; ++ordinal) {
    const Augmentation a = draw_augmentation(plan, {9, ordinal});
    const double x = 0.45 * source.width, y = 0.55 * source.height, radius = 0.08 * source.width;
    const double angle = 0.1 + 0.38 * static_cast<double>(ordinal);
    const double head_x = x - 0.2 * side * std::sin(angle),
                 head_y = y - 0.2 * side * std::cos(angle);
    float latents[6] = {static_cast<float>(x / side),
                        static_cast<float>(y / side),
                        static_cast<float>(radius / side),
                        static_cast<float>(angle),
                        static_cast<float>(std::fmod(angle + kTurn / 4, kTurn)),
                        0.25f};
    map_latents(a, roles, latents);
    EXPECT_EQ(latents[5], 0.25f);
    const double seen_x = latents[0] * out.width, seen_y = latents[1] * out.width;
    const double seen_radius = latents[2] * out.width;
    const double reach = seen_radius * 5;
    if (seen_x < reach || seen_y < reach || seen_x > out.width - reach ||
        seen_y > out.height - reach) {
      continue;  // partly outside, so pixels do not determine the position
    }
    ++measured;
    const Visible body = measure_disc(a, out, x, y, radius);
    const Visible head = measure_disc(a, out, head_x, head_y, radius);
    // The disc has thousands of points, 4 x 4 per pixel, so in the centroid, errors of single
    // points average to less than a hundredth of a pixel.
    ASSERT_NEAR(body.x, seen_x, 0.03) << ordinal;
    ASSERT_NEAR(body.y, seen_y, 0.03) << ordinal;
    ASSERT_NEAR(std::sqrt(body.area / (kTurn / 2)), seen_radius, 0.03) << ordinal;
    // The upper disc is 10 to 50 pixels above the other, so the angle is within 0.06 / 10.
    const double up = std::atan2(-(head.x - body.x), -(head.y - body.y));
    ASSERT_NEAR(std::remainder(up - latents[3], kTurn), 0, 0.006) << ordinal;
    ASSERT_TRUE(latents[3] >= 0 && latents[3] < kTurn);
    // For the same axis, a latent that is a direction is larger by a quarter turn.
    ASSERT_NEAR(std::remainder(up + kTurn / 4 - latents[4], kTurn), 0, 0.006) << ordinal;
  }
  EXPECT_GE(measured, 3);
}

/// A wave of the source, t = k . position + phase, evaluated at output pixels, must equal the wave
/// of its mapped latents. Positions are below 2^8 pixels and periods above 2^3, so t is below 2^6;
/// about ten roundings of 2^-24 each add up to 4e-5.
TEST_P(MapLatentsTest, FollowsAVisibleWave) {
  const auto [list, source, out] = GetParam();
  const AugmentationPlan plan = map_plan(list, source, out);
  const LatentRoles roles =
      roles_of({LatentRole::wave_period, LatentRole::wave_angle, LatentRole::wave_phase},
               source.width, out.width);
  const auto along = [](const float* wave, double side, double x, double y) {
    const double period = wave[0] * side, angle = wave[1];
    return (std::cos(angle) * x - std::sin(angle) * y) / period + wave[2];
  };
  for (std::uint64_t ordinal = 0; ordinal < 16; ++ordinal) {
    const Augmentation a = draw_augmentation(plan, {9, ordinal});
    const float wave[3] = {0.07f + 0.02f * static_cast<float>(ordinal),
                           0.1f + 0.38f * static_cast<float>(ordinal),
                           0.06f * static_cast<float>(ordinal)};
    float mapped[3] = {wave[0], wave[1], wave[2]};
    map_latents(a, roles, mapped);
    ASSERT_TRUE(mapped[0] > 0 && mapped[1] >= 0 && mapped[1] < kTurn);
    ASSERT_TRUE(mapped[2] >= 0 && mapped[2] < 1);
    for (int p = 0; p < out.width * out.height; p += 37) {
      const float x = static_cast<float>(p % out.width) + 0.5f;
      const float y = static_cast<float>(p / out.width) + 0.5f;
      const double shown = along(wave, source.width, a.source_x(x, y), a.source_y(x, y));
      ASSERT_NEAR(std::remainder(shown - along(mapped, out.width, x, y), 1), 0, 1e-4)
          << list << ", " << ordinal;
    }
  }
}

TEST(MapLatents, KeepsAnAbsentWaveAtZero) {
  const AugmentationPlan plan = map_plan("[rotate: 90, shift: 0.2]", {64, 64}, {64, 64});
  const LatentRoles roles =
      roles_of({LatentRole::wave_period, LatentRole::wave_angle, LatentRole::wave_phase});
  float wave[3] = {0, 0, 0};
  map_latents(draw_augmentation(plan, {1, 2}), roles, wave);
  for (const float value : wave) EXPECT_EQ(value, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Operations, MapLatentsTest,
    testing::Values(
        Case{"[]", {128, 128}, {128, 128}}, Case{"[flip_x: 1]", {128, 128}, {128, 128}},
        Case{"[flip_y: 1]", {128, 128}, {128, 128}},
        Case{"[flip_x: 0.5, flip_y: 0.5]", {128, 128}, {128, 128}},
        Case{"[shift: 0.1]", {128, 128}, {128, 128}}, Case{"[rotate: 180]", {128, 128}, {128, 128}},
        Case{"[zoom: [0.7, 1.3]]", {128, 128}, {128, 128}},
        Case{"[crop_resize: {scale: [0.5, 1], ratio: [1, 1]}]", {200, 200}, {128, 128}},
        Case{"[crop_resize: {scale: [0.7, 1]}]", {160, 160}, {128, 128}},
        Case{"[flip_x: 0.5, rotate: 60, zoom: [0.8, 1.2], shift: 0.05, flip_y: 0.5]",
             {128, 128},
             {128, 128}},
        Case{"[affine: {angle: 30, translate: [0.03, 0.05], scale: [0.9, 1.1], shear: [9, 6]}, "
             "rand_augment: {magnitude: 6}]",
             {128, 128},
             {128, 128}}));

TEST(MapLatents, KeepsPositionsUnderTheIdentity) {
  const Augmentation a = draw_augmentation(map_plan("[]", {64, 64}, {64, 64}), {9, 0});
  const LatentRoles roles = roles_of({LatentRole::position_x, LatentRole::position_y}, 64, 64);
  for (int k = 0; k < 100; ++k) {
    const float x = static_cast<float>(k) / 100, y = 1 - x;
    float latents[2] = {x, y};
    map_latents(a, roles, latents);
    // A shift to the centre and back rounds numbers up to 64 twice: 64 * 2^-23, for a side of 64.
    EXPECT_NEAR(latents[0], x, 0x1p-22);
    EXPECT_NEAR(latents[1], y, 0x1p-22);
  }
}

// An object of length 0 is absent and has no position; other positions move like points.
TEST(MapLatents, KeepsAbsentObjectsAtZero) {
  const FrameSize size = {64, 64};
  const Augmentation a = draw_augmentation(map_plan("[flip_x: 1]", size, size), {9, 0});
  const LatentRoles roles =
      roles_of({LatentRole::thing_x, LatentRole::position_y, LatentRole::length});
  float present[3] = {10, 20, 5}, absent[3] = {};
  map_latents(a, roles, present);
  map_latents(a, roles, absent);
  EXPECT_NEAR(present[0], 54, 1e-5);
  EXPECT_NEAR(present[1], 20, 1e-5);
  EXPECT_NEAR(present[2], 5, 1e-5);
  for (const float value : absent) EXPECT_EQ(value, 0);
}

TEST(MapLatents, FollowsPerspective) {
  const FrameSize size = {128, 128};
  const auto plan = map_plan("[perspective: {distortion: 0.4, probability: 1}]", size, size);
  const LatentRoles roles = roles_of({LatentRole::position_x, LatentRole::position_y});
  for (std::uint64_t ordinal = 0; ordinal < 100; ++ordinal) {
    const Augmentation a = draw_augmentation(plan, {9, ordinal});
    float latents[2] = {a.source_x(70, 50), a.source_y(70, 50)};
    map_latents(a, roles, latents);
    EXPECT_NEAR(latents[0], 70, 2e-3);
    EXPECT_NEAR(latents[1], 50, 2e-3);
  }
}

}  // namespace
}  // namespace wellspring
