#include "kernels/augment/colour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace wellspring {
namespace {

using Colour = std::array<double, 3>;
constexpr int kRun = 32;

/// A grid of colours in the unit cube, including its corners and the greys.
std::vector<Colour> colours() {
  std::vector<Colour> all;
  for (int i = 0; i < 7 * 7 * 7; ++i) all.push_back({i % 7 / 6., i / 7 % 7 / 6., i / 49 / 6.});
  return all;
}

/// Compares the step with `expected` in double precision for every colour. A step has at most a
/// dozen f32 operations on numbers up to 6 (hues), which gives 12 * 6 * 2^-24.
template <class Expected>
void expect_step(AugmentOp op, float value, const Expected& expected,
                 double tolerance = 72 * 0x1p-24) {
  Augmentation a;
  a.colour[0] = {op, value};
  a.colour_count = 1;
  const std::vector<Colour> all = colours();
  for (std::size_t first = 0; first < all.size(); first += kRun) {
    float r[kRun] = {}, g[kRun] = {}, b[kRun] = {};
    const std::size_t count = std::min<std::size_t>(kRun, all.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      r[i] = static_cast<float>(all[first + i][0]);
      g[i] = static_cast<float>(all[first + i][1]);
      b[i] = static_cast<float>(all[first + i][2]);
    }
    apply_colour(a, 0, 1, r, g, b);
    for (std::size_t i = 0; i < count; ++i) {
      const Colour want = expected(all[first + i]);
      ASSERT_NEAR(r[i], want[0], tolerance);
      ASSERT_NEAR(g[i], want[1], tolerance);
      ASSERT_NEAR(b[i], want[2], tolerance);
      ASSERT_TRUE(std::min({r[i], g[i], b[i]}) >= 0 && std::max({r[i], g[i], b[i]}) <= 1);
    }
  }
}

double clamped(double v) {
  return std::clamp(v, 0., 1.);
}
double luma_of(const Colour& c) {
  return 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2];
}

TEST(Colour, BlendsAndClampsBrightnessContrastAndSaturation) {
  for (const float f : {0.f, 0.3f, 1.f, 1.7f}) {
    expect_step(op_of<augment::Brightness>, f, [&](const Colour& c) {
      return Colour{clamped(f * c[0]), clamped(f * c[1]), clamped(f * c[2])};
    });
    expect_step(op_of<augment::Contrast>, f, [&](const Colour& c) {
      const auto about = [&](double v) { return clamped(f * v + (1. - f) * 0.5); };
      return Colour{about(c[0]), about(c[1]), about(c[2])};
    });
    expect_step(op_of<augment::Saturation>, f, [&](const Colour& c) {
      const auto about = [&](double v) { return clamped(f * v + (1. - f) * luma_of(c)); };
      return Colour{about(c[0]), about(c[1]), about(c[2])};
    });
  }
}

TEST(Colour, TurnsGreyByLuma) {
  expect_step(op_of<augment::Grey>, 0, [](const Colour& c) {
    return Colour{luma_of(c), luma_of(c), luma_of(c)};
  });
}

TEST(Colour, SolarisesFromTheThreshold) {
  const auto turned = [](double v) { return static_cast<float>(v) < 0.5f ? v : 1 - v; };
  expect_step(op_of<augment::Solarise>, 0.5f, [&](const Colour& c) {
    return Colour{turned(c[0]), turned(c[1]), turned(c[2])};
  });
}

/// Converts to hue, saturation and value and back, using the six sectors of the colour circle.
Colour hue_shifted(const Colour& c, double shift) {
  const double high = std::max({c[0], c[1], c[2]}), low = std::min({c[0], c[1], c[2]});
  const double range = high - low;
  if (range == 0) return c;
  double hue = 0;
  if (high == c[0]) {
    hue = (c[1] - c[2]) / range;
  } else if (high == c[1]) {
    hue = 2 + (c[2] - c[0]) / range;
  } else {
    hue = 4 + (c[0] - c[1]) / range;
  }
  hue = std::fmod(hue + 6 * shift + 12, 6.);
  const int sector = static_cast<int>(hue);
  const double part = hue - sector;
  const double up = low + range * part, down = low + range * (1 - part);
  switch (sector) {
    case 0:
      return {high, up, low};
    case 1:
      return {down, high, low};
    case 2:
      return {low, high, up};
    case 3:
      return {low, down, high};
    case 4:
      return {up, low, high};
    default:
      return {high, low, down};
  }
}

TEST(Colour, RotatesHueOnTheCircle) {
  for (const float shift : {0.f, 0.1f, -0.25f, 0.5f, -0.5f}) {
    expect_step(op_of<augment::Hue>, shift, [&](const Colour& c) {
      return hue_shifted(
          {static_cast<float>(c[0]), static_cast<float>(c[1]), static_cast<float>(c[2])}, shift);
    });
  }
}

TEST(Colour, AppliesStepsInOrder) {
  Augmentation a;
  a.colour[0] = {op_of<augment::Brightness>, 2};
  a.colour[1] = {op_of<augment::Solarise>, 0.5f};
  a.colour_count = 2;
  float r[1] = {0.3f}, g[1] = {0.2f}, b[1] = {0.9f};
  apply_colour(a, 0, 2, r, g, b);
  EXPECT_EQ(r[0], 1 - 0.6f);
  EXPECT_EQ(g[0], 0.4f);
  EXPECT_EQ(b[0], 0.f) << "must be clamped to 1 before solarise inverts it";
}

TEST(Colour, NormalisesAndErasesLast) {
  Augmentation a;
  a.gain[0] = 4;
  a.bias[0] = -2;
  a.erase_x0 = 11;
  a.erase_x1 = 13;
  a.erase_y0 = 5;
  a.erase_y1 = 6;
  float r[4] = {0.75f, 0.75f, 0.75f, 0.75f}, g[4] = {1, 1, 1, 1}, b[4] = {1, 1, 1, 1};
  normalise(a, r, g, b);
  EXPECT_EQ(r[3], 1.f);
  EXPECT_EQ(g[3], 1.f);
  augment::erase_box(a, 10, 5, r, g, b);
  EXPECT_EQ(r[0], 1.f);
  EXPECT_EQ(r[1], 0.f);
  EXPECT_EQ(b[2], 0.f);
  EXPECT_EQ(r[3], 1.f);
  augment::erase_box(a, 13, 6, r, g, b);
  EXPECT_EQ(r[0], 1.f);
}

}  // namespace
}  // namespace wellspring
