#include "generators/images/sprites.h"

#include "export/samples.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <set>
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

/// Makes single samples of one generator.
class Album {
 public:
  Album(int size, const std::vector<ParamSetting>& of)
      : generator_(make_generator("sprites", size, of)),
        maker_(*generator_, {Device::cpu(), 1, 1}) {}

  /// The pixels, followed by label and latents.
  std::vector<float> picture(std::uint64_t id) {
    std::vector<float> x;
    maker_.make({1, id, 1}, [&](const HostSamples& samples) {
      x.assign(samples.x().begin(), samples.x().end());
      label = samples.label()[0];
      latents.assign(samples.latents().begin(), samples.latents().end());
    });
    return x;
  }
  std::int32_t label = 0;
  std::vector<float> latents;

 private:
  std::unique_ptr<Generator> generator_;
  SampleMaker maker_;
};

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

std::uint64_t sprite_id(std::uint64_t shape, std::uint64_t scale, std::uint64_t turn,
                        std::uint64_t x, std::uint64_t y) {
  return (((shape * 6 + scale) * 40 + turn) * 32 + x) * 32 + y;
}

// All rotations of all shapes at all scales at one position give 720 different pictures. The
// published angles end where they start, so each shape and scale has only 39 different pictures,
// and the first one equals the last.
TEST(Sprites, ShapesScalesAndAnglesGiveDifferentPictures) {
  Album distinct(64, settings({{"angles", "distinct"}})), published(64, settings({}));
  std::set<std::vector<float>> pictures;
  for (std::uint64_t form = 0; form < 720; ++form) {
    pictures.insert(distinct.picture(form * 1024 + 500));
  }
  EXPECT_EQ(pictures.size(), 720u);
  pictures.clear();
  for (std::uint64_t form = 0; form < 720; ++form) {
    pictures.insert(published.picture(form * 1024 + 500));
  }
  EXPECT_EQ(pictures.size(), 3u * 6 * 39);
  for (std::uint64_t form = 0; form < 18; ++form) {
    EXPECT_EQ(published.picture(sprite_id(form / 6, form % 6, 0, 3, 4)),
              published.picture(sprite_id(form / 6, form % 6, 39, 3, 4)));
  }
}

// At 64 pixels, another position shifts the picture by whole pixels, without clipping. With hard
// edges, about 90 pixels on the edge are rounded to inside or outside, which changes the area by
// sqrt(90 / 12) = 2.7 pixels.
TEST(Sprites, PositionsShiftThePictureByWholePixels) {
  for (const char* const edges : {"smooth", "hard"}) {
    Album album(64, settings({{"edges", edges}}));
    for (std::uint64_t shape = 0; shape < 3; ++shape) {
      const auto first = album.picture(sprite_id(shape, 5, 5, 0, 0));
      for (const auto& [x, y] : {std::pair{0, 1}, {1, 0}, {7, 19}, {31, 0}, {31, 31}}) {
        const auto moved = album.picture(
            sprite_id(shape, 5, 5, static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y)));
        double lit = 0;
        int equal = 0;
        for (int row = 0; row < 64; ++row) {
          for (int column = 0; column < 64; ++column) {
            const bool beyond = row < y || column < x;
            const std::size_t from =
                beyond ? 0 : static_cast<std::size_t>(3 * ((row - y) * 64 + column - x));
            const float expected = beyond ? 0 : first[from];
            lit += static_cast<double>(expected);
            equal += moved[static_cast<std::size_t>(3 * (row * 64 + column))] == expected ? 1 : 0;
          }
        }
        EXPECT_EQ(equal, 64 * 64) << shape << " at " << x << ", " << y;
        EXPECT_NEAR(lit, std::numbers::pi * 121, 14);
      }
    }
  }
}

// All areas are pi r^2 by definition. As for `shapes`, the ramp is off by k / 12 at corners (the
// square has 4 corners of tan 45), and the midpoint rule by less than 0.01 per pixel of the edge,
// which is at most 7.3 radii long. The distance to the ellipse is correct to first order. Along its
// edge of 6.85 radii, the second-order term is below half the curvature (at most sqrt(8) / r, at
// the tips), so the ramp's second moment of 1 / 12 moves the edge by less than sqrt(8) / 24 / r. An
// error of 1 % in a constant moves the area by 2 %, which is 33 px^2 for the smallest sprite.
TEST(Sprites, AreasMatchClosedForms) {
  const auto generator = make_generator("sprites", 192, settings({{"grid", "off"}}, "random"));
  const auto samples = test::collect(*generator, {5, 0, 60});
  std::array<int, 3> counts{};
  for (std::size_t i = 0; i < samples.count(); ++i) {
    double area = 0;
    for (std::size_t p = 0; p < samples.elements; p += 3) area += samples.image(i)[p];
    const double r = 11.0 / 64 * 192 * samples.latent(i, kScale);
    EXPECT_NEAR(area, std::numbers::pi * r * r, 1.5 + 0.073 * r) << samples.label[i];
    ++counts[static_cast<std::size_t>(samples.label[i])];
  }
  for (const int count : counts) EXPECT_GT(count, 5);
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

// ---- rooms --------------------------------------------------------------------------------------

std::uint64_t room_id(std::array<std::uint64_t, 6> f) {
  return ((((f[0] * 10 + f[1]) * 10 + f[2]) * 8 + f[3]) * 4 + f[4]) * 15 + f[5];
}

// In several rooms, any two values of a factor must give different pictures.
TEST(Sprites, RoomsChangeWithEveryFactor) {
  const std::array<std::uint64_t, 6> counts = {10, 10, 10, 8, 4, 15};
  for (const char* const edges : {"smooth", "hard"}) {
    Album album(64, settings({{"mode", "shapes3d"}, {"edges", edges}}));
    for (std::uint64_t start = 0; start < 3; ++start) {
      const std::array<std::uint64_t, 6> base = {3 * start, 7 - 2 * start, 5 * (start % 2),
                                                 3 * start, start,         7 + 3 * start};
      for (std::size_t factor = 0; factor < 6; ++factor) {
        std::set<std::vector<float>> pictures;
        for (std::uint64_t value = 0; value < counts[factor]; ++value) {
          auto f = base;
          f[factor] = value;
          pictures.insert(album.picture(room_id(f)));
        }
        EXPECT_EQ(pictures.size(), counts[factor]) << "factor " << factor << " from " << start;
      }
    }
  }
}

// The colours of the near floor, the back wall and the solid show the hues. With equal hues, the
// other factors (shape, scale and orientation) give 480 different pictures.
TEST(Sprites, SolidsScalesAndViewsGiveDifferentPictures) {
  Album album(64, settings({{"mode", "shapes3d"}}));
  std::set<std::vector<float>> pictures;
  for (std::uint64_t id = 0; id < 480; ++id) pictures.insert(album.picture(id));
  EXPECT_EQ(pictures.size(), 480u);
}

struct Point {
  double x, y, z;
};

/// True if a point is in the solid of this shape and scale, enlarged by `grow`.
bool in_solid(int shape, double scale, double grow, const Point& p) {
  const double tube = std::hypot(p.x, p.z);
  if (shape == 0) {
    const double h = 0.4 * scale;
    return std::max({std::abs(p.x), std::abs(p.z), std::abs(p.y - h)}) < h + grow;
  }
  if (shape == 1) return tube < 0.43 * scale + grow && p.y < 0.86 * scale + grow && p.y > -grow;
  if (shape == 2) return std::hypot(tube, p.y - 0.5 * scale) < 0.5 * scale + grow;
  const double low = 0.32 * scale, high = 0.88 * scale;
  return std::hypot(tube, p.y - std::clamp(p.y, low, high)) < low + grow;
}

// Compares the closed forms with rays that are traced in small steps in double precision: what a
// ray hits first (solid, floor or wall), and whether light reaches the floor. Hues identify
// surfaces: a floor of hue 0 is brightest in red, walls of 0.3 in green, solids of 0.7 in blue.
// Rays that meet a solid enlarged by 0.01 but miss one reduced by 0.01 are skipped.
TEST(Sprites, RaysMatchSmallSteps) {
  constexpr int kSide = 24;
  const auto generator =
      make_generator("sprites", kSide, settings({{"mode", "shapes3d"}, {"edges", "hard"}}));
  const double pitch = std::atan2(1.4 - 0.55, 2.6);
  const std::array<double, 3> light = {0.45, 0.8, 0.55};  // not normalised
  int judged = 0, on_solid = 0, dark = 0;
  for (std::uint64_t k = 0; k < 16; ++k) {
    const std::uint64_t id = room_id({0, 3, 7, 7 * (k / 4 % 2) + k % 2, k % 4, (5 * k) % 15});
    const auto sample = test::collect(*generator, {1, id, 1});
    const double azimuth = sample.latent(0, kTurn), scale = sample.latent(0, kScale);
    const int shape = sample.label[0];
    const auto meets = [&](const Point& from, const Point& d, double reach, double grow) {
      for (double t = 0; t < reach; t += 0.01) {
        if (in_solid(shape, scale, grow, {from.x + t * d.x, from.y + t * d.y, from.z + t * d.z}))
          return true;
      }
      return false;
    };
    for (int p = 0; p < kSide * kSide; ++p) {
      const double right = ((p % kSide + 0.5) / kSide - 0.5) * 0.9;
      const double up = (0.5 - (p / kSide + 0.5) / kSide) * 0.9;
      const double ahead = std::cos(pitch) + up * std::sin(pitch);
      const Point eye = {2.6 * std::sin(azimuth), 1.4, 2.6 * std::cos(azimuth)};
      const Point d = {std::cos(azimuth) * right - std::sin(azimuth) * ahead,
                       up * std::cos(pitch) - std::sin(pitch),
                       -std::sin(azimuth) * right - std::cos(azimuth) * ahead};
      const double floor = d.y < 0 ? 1.4 / -d.y : 1e9;
      const double wall = std::min((d.x > 0 ? 3 - eye.x : -3 - eye.x) / d.x,
                                   (d.z > 0 ? 3 - eye.z : -3 - eye.z) / d.z);
      const bool small = meets(eye, d, std::min({floor, wall, 4.5}), -0.01);
      const bool large = meets(eye, d, std::min({floor, wall, 4.5}), 0.01);
      if (small != large || std::abs(floor - wall) < 1e-3) continue;
      ++judged;
      const float* const rgb = sample.image(0) + 3 * p;
      const auto brightest = std::max_element(rgb, rgb + 3) - rgb;
      ASSERT_EQ(brightest, small ? 2 : (floor < wall ? 0 : 1)) << shape << ", pixel " << p;
      on_solid += small ? 1 : 0;
      if (small || wall < floor) continue;
      const Point at = {eye.x + floor * d.x, 0, eye.z + floor * d.z};
      const Point to = {light[0], light[1], light[2]};
      const bool umbra = meets(at, to, 2.5, -0.01), penumbra = meets(at, to, 2.5, 0.01);
      if (umbra != penumbra) continue;
      const double direct = umbra ? 0 : 0.8 / std::hypot(0.45, 0.8, 0.55);
      ASSERT_NEAR(rgb[0], 0.9 * (0.45 + 0.55 * direct), 1e-5) << shape << ", pixel " << p;
      dark += umbra ? 1 : 0;
    }
  }
  EXPECT_GT(judged, 16 * kSide * kSide * 9 / 10);
  EXPECT_GT(on_solid, 1000);
  EXPECT_GT(dark, 100);
}

// The solid's centre is where the latents say. The test measures it from the blue silhouette; for a
// sphere, seen from above in perspective, the silhouette is off by less than 2 % of the image.
TEST(Sprites, SolidsAreAtTheirLatents) {
  const auto generator = make_generator("sprites", 64, settings({{"mode", "shapes3d"}}));
  for (std::uint64_t scale = 0; scale < 8; ++scale) {
    for (const char* const look : {"", "augment: [flip_x: 1, flip_y: 1]"}) {
      const auto sample =
          test::collect(*generator, {1, room_id({0, 3, 7, scale, 2, 9}), 1}, {}, look);
      double sum = 0, sum_x = 0, sum_y = 0;
      for (int p = 0; p < 64 * 64; ++p) {
        const float* const rgb = sample.x.data() + 3 * p;
        if (rgb[2] < rgb[0] || rgb[2] < rgb[1]) continue;
        sum += 1;
        sum_x += (p % 64 + 0.5) / 64;
        sum_y += (p / 64 + 0.5) / 64;
      }
      EXPECT_NEAR(sum_x / sum, sample.latent(0, kX), 0.01);
      EXPECT_NEAR(sum_y / sum, sample.latent(0, kY), 0.02);
    }
  }
}

// ---- distributions ------------------------------------------------------------------------------

TEST(Sprites, DrawsFactorsUniformly) {
  for (const bool flat : {true, false}) {
    const auto generator = make_generator(
        "sprites", 1, settings({{"mode", flat ? "dsprites" : "shapes3d"}}, "random"));
    const auto samples = test::collect(*generator, {8, 0, 8000});
    const std::vector<std::pair<std::size_t, std::size_t>> factors =
        flat ? std::vector<std::pair<std::size_t, std::size_t>>{{kScale, 6},
                                                                {kTurn, 40},
                                                                {kX, 32},
                                                                {kY, 32}}
             : std::vector<std::pair<std::size_t, std::size_t>>{
                   {kScale, 8}, {kTurn, 15}, {kFloor, 10}, {kWall, 10}, {kObject, 10}};
    for (const auto& [latent, values] : factors) {
      const LatentInfo& info = generator->info().latents[latent];
      std::vector<double> counts(values);
      for (std::size_t i = 0; i < samples.count(); ++i) {
        const double share = (samples.latent(i, latent) - info.low) / (info.high - info.low);
        const double at = share * static_cast<double>(values - 1);
        ASSERT_NEAR(at, std::round(at), 1e-4) << info.name;
        ++counts[static_cast<std::size_t>(std::round(at))];
      }
      EXPECT_GT(test::uniform_chi_square_p(counts), test::kGate) << info.name;
    }
    const auto off = make_generator(
        "sprites", 1,
        settings({{"mode", flat ? "dsprites" : "shapes3d"}, {"grid", "off"}}, "random"));
    const auto between = test::collect(*off, {9, 0, 8000});
    for (const auto& [latent, values] : factors) {
      const LatentInfo& info = off->info().latents[latent];
      std::vector<double> shares;
      for (std::size_t i = 0; i < between.count(); ++i)
        shares.push_back((between.latent(i, latent) - info.low) / (info.high - info.low));
      EXPECT_GT(test::kolmogorov_p(shares, [](double u) { return std::clamp(u, 0.0, 1.0); }),
                test::kGate)
          << info.name;
    }
  }
}

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
