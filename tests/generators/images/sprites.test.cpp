#include "generators/images/sprites.h"

#include "export/samples.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace wellspring::test {
namespace {

enum Latent : std::size_t { kShape, kScale, kTurn, kX, kY, kFloor, kWall, kObject };

constexpr std::uint64_t kSpriteCount = 737280, kRoomCount = 480000;

std::vector<ParamSetting> settings(const std::vector<std::pair<const char*, const char*>>& of,
                                   const char* order = "enumerated") {
  std::vector<ParamSetting> all = {{"order", order, {}}};
  for (const auto& [name, value] : of) all.push_back({name, value, {}});
  return all;
}

/// Index of a combination in nested loops, with the last factor varying fastest.
std::uint64_t place(const Sprites::Factors& f, bool flat) {
  const auto at = [](float v) { return static_cast<std::uint64_t>(v); };
  const auto shape = static_cast<std::uint64_t>(f.shape);
  if (flat) return (((shape * 6 + at(f.scale)) * 40 + at(f.turn)) * 32 + at(f.x)) * 32 + at(f.y);
  const std::uint64_t hues = (at(f.floor) * 10 + at(f.wall)) * 10 + at(f.object);
  return ((hues * 8 + at(f.scale)) * 4 + shape) * 15 + at(f.turn);
}

// Combinations and indices must correspond one to one.
TEST(Sprites, EnumerationIsABijection) {
  using Mode = Sprites::Mode;
  const auto within = [](float v, int count) { return v >= 0 && v < count && v == std::floor(v); };
  std::uint64_t wrong = 0;
  for (std::uint64_t id = 0; id < kSpriteCount; ++id) {
    const auto f = Sprites::combination(Mode::dsprites, id);
    wrong += place(f, true) != id || f.shape >= 3 || !within(f.scale, 6) || !within(f.turn, 40) ||
             !within(f.x, 32) || !within(f.y, 32);
  }
  for (std::uint64_t id = 0; id < kRoomCount; ++id) {
    const auto f = Sprites::combination(Mode::shapes3d, id);
    wrong += place(f, false) != id || f.shape >= 4 || !within(f.scale, 8) || !within(f.turn, 15) ||
             !within(f.floor, 10) || !within(f.wall, 10) || !within(f.object, 10);
  }
  EXPECT_EQ(wrong, 0u);
  const std::uint64_t far = 25043454933u * kSpriteCount + 12345;  // needs 64 bits
  EXPECT_EQ(place(Sprites::combination(Mode::dsprites, far), true), 12345u);
}

// Compares hard edges with the definitions in double precision, at the positions, scales and angles
// in the latents, also mirrored and rotated. Checks all pixels that are further from the edge than
// the rounding error.
TEST(Sprites, HardShapesMatchTheirDefinitions) {
  const auto covers = [](int shape, double x, double y, double grow) {
    const double side = std::sqrt(std::numbers::pi);
    if (shape == 0) return std::max(std::abs(x), std::abs(y)) < side / 2 + grow;
    if (shape == 1) return std::hypot(x, 2 * y) < std::sqrt(2.0) + grow;
    const double s = std::sqrt(std::numbers::pi / (1 + std::numbers::pi / 4)),
                 m = s / std::sqrt(8.0);
    return std::abs(x) + std::abs(y) < s / std::sqrt(2.0) + grow ||
           std::hypot(std::abs(x) - m, y - m) < s / 2 + grow;
  };
  const auto generator = make_generator("sprites", 64, settings({{"edges", "hard"}}, "random"));
  for (const char* const look : {"", "augment: [flip_x: 1]", "augment: [flip_x, rotate: 180]"}) {
    const auto samples = test::collect(*generator, {6, 0, 25}, {}, look);
    for (std::size_t i = 0; i < samples.count(); ++i) {
      const double r = 11 * static_cast<double>(samples.latent(i, kScale));
      const double angle = samples.latent(i, kTurn);
      for (int p = 0; p < 64 * 64; ++p) {
        const double dx = (p % 64 + 0.5 - 64.0 * samples.latent(i, kX)) / r;
        const double dy = (64.0 * samples.latent(i, kY) - p / 64 - 0.5) / r;
        const double x = std::cos(angle) * dx + std::sin(angle) * dy;
        const double y = std::cos(angle) * dy - std::sin(angle) * dx;
        const float value = samples.image(i)[3 * p];
        ASSERT_TRUE(value == 0 || value == 1);
        if (covers(samples.label[i], x, y, -1e-4)) {
          ASSERT_EQ(value, 1) << look << i;
        } else if (!covers(samples.label[i], x, y, 1e-4)) {
          ASSERT_EQ(value, 0) << look << i;
        }
      }
    }
  }
}

// ---- distributions ------------------------------------------------------------------------------

TEST(Sprites, ReportsTheNumberOfPictures) {
  EXPECT_EQ(make_generator("sprites", 16)->info().distinct, 737280u);
  EXPECT_EQ(make_generator("sprites", 16, settings({{"mode", "shapes3d"}}))->info().distinct,
            480000u);
  EXPECT_EQ(make_generator("sprites", 16, settings({{"grid", "off"}}, "random"))->info().distinct,
            0u);
}

TEST(Sprites, RefusesEnumerationWithoutAGrid) {
  expect_parts(message_of(ErrorKind::config,
                          [] {
                            make_generator("sprites", 32, settings({{"grid", "off"}}));
                          }),
               {"order is enumerated and grid is off", "grid: on"});
}

}  // namespace
}  // namespace wellspring::test
