#include "generators/images/shapes.h"

#include "tests/generators/collect.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <vector>

namespace wellspring {
namespace {

constexpr int kSide = 224;
enum Latent {
  kX,
  kY,
  kScale,
  kAngle,
  kFront,
  kBack = kFront + 3,
  kTexture = kBack + 3,
  kSecond,
  kPeriod = kSecond + 3,
  kWaveAngle,
  kPhase
};
/// Views: plain, mirrored, and rotated and mirrored. Latents must describe the view.
const char* const kLooks[] = {"", "augment: [flip_x: 1]", "augment: [rotate: 180, flip_y: 0.5]"};

/// The share of each pixel that the shape covers, computed from the colours.
std::vector<double> coverage(const test::Samples& samples, std::size_t i) {
  int channel = 0;
  double largest = 0;
  for (int c = 0; c < 3; ++c) {
    const double difference = std::abs(static_cast<double>(samples.latent(i, kFront + c)) -
                                       static_cast<double>(samples.latent(i, kBack + c)));
    if (difference > largest) {
      largest = difference;
      channel = c;
    }
  }
  const double back = samples.latent(i, kBack + channel);
  const double front = samples.latent(i, kFront + channel);
  std::vector<double> cover(samples.elements / 3);
  for (std::size_t p = 0; p < cover.size(); ++p) {
    cover[p] =
        (samples.image(i)[3 * p + static_cast<std::size_t>(channel)] - back) / (front - back);
  }
  return cover;
}

struct Point {
  double x, y;
};

/// Outlines of the polygons of area pi, by definition; y points up, and corners are in order.
std::vector<Point> outline(const std::string& name) {
  const auto regular = [](int n, double phase) {
    const double corner =
        std::sqrt(2 * std::numbers::pi / (n * std::sin(2 * std::numbers::pi / n)));
    std::vector<Point> points;
    for (int k = 0; k < n; ++k) {
      const double a = phase + 2 * std::numbers::pi * k / n;
      points.push_back({corner * std::cos(a), corner * std::sin(a)});
    }
    return points;
  };
  const double up = std::numbers::pi / 2;
  if (name == "triangle") return regular(3, up);
  if (name == "square") return regular(4, up / 2);
  if (name == "pentagon") return regular(5, up);
  if (name == "hexagon") return regular(6, up);
  if (name == "star") {
    const double dent = std::cos(2 * std::numbers::pi / 5) / std::cos(std::numbers::pi / 5);
    const double tip = std::sqrt(std::numbers::pi / (5 * dent * std::sin(std::numbers::pi / 5)));
    std::vector<Point> points;
    for (int k = 0; k < 10; ++k) {
      const double r = k % 2 == 0 ? tip : tip * dent, a = up + std::numbers::pi * k / 5;
      points.push_back({r * std::cos(a), r * std::sin(a)});
    }
    return points;
  }
  if (name == "cross") {
    const double w = std::sqrt(std::numbers::pi / 20), l = 3 * w;  // five squares of side 2 w
    return {{l, w},   {w, w},   {w, l},   {-w, l}, {-w, w}, {-l, w},
            {-l, -w}, {-w, -w}, {-w, -l}, {w, -l}, {w, -w}, {l, -w}};
  }
  return {};
}

bool inside(const std::vector<Point>& polygon, Point p) {
  bool odd = false;
  for (std::size_t i = 0, j = polygon.size() - 1; i < polygon.size(); j = i++) {
    const Point a = polygon[i], b = polygon[j];
    if ((a.y > p.y) != (b.y > p.y) && p.x < a.x + (p.y - a.y) / (b.y - a.y) * (b.x - a.x)) {
      odd = !odd;
    }
  }
  return odd;
}

double distance_to_edge(const std::vector<Point>& polygon, Point p) {
  double nearest = 1e9;
  for (std::size_t i = 0, j = polygon.size() - 1; i < polygon.size(); j = i++) {
    const Point a = polygon[i], b = polygon[j];
    const double ex = b.x - a.x, ey = b.y - a.y;
    const double t =
        std::clamp(((p.x - a.x) * ex + (p.y - a.y) * ey) / (ex * ex + ey * ey), 0.0, 1.0);
    nearest = std::min(nearest, std::hypot(p.x - a.x - t * ex, p.y - a.y - t * ey));
  }
  return nearest;
}

// Checks the position, scale and angle in the latents of every shape with corners, also mirrored
// and rotated. Each pixel beyond the edge's ramp must be inside or outside the outline, as
// defined.
TEST(Shapes, PolygonsMatchTheirOutlines) {
  const auto generator = make_generator("shapes", 96);
  std::map<std::string, int> counts;
  for (const char* const look : kLooks) {
    const auto samples = test::collect(*generator, {4, 0, 200}, {}, look);
    for (std::size_t i = 0; i < samples.count(); ++i) {
      const std::string name =
          generator->info().classes[static_cast<std::size_t>(samples.label[i])];
      const auto polygon = outline(name);
      if (polygon.empty()) continue;
      ++counts[name];
      const auto cover = coverage(samples, i);
      const double radius = 96.0 * samples.latent(i, kScale), angle = samples.latent(i, kAngle);
      for (int row = 0; row < 96; ++row) {
        for (int column = 0; column < 96; ++column) {
          const double dx = (column + 0.5 - 96.0 * samples.latent(i, kX)) / radius;
          const double dy = (96.0 * samples.latent(i, kY) - row - 0.5) / radius;
          const Point p = {std::cos(angle) * dx + std::sin(angle) * dy,
                           std::cos(angle) * dy - std::sin(angle) * dx};
          // The factor is 2.2 because the half-planes that meet at the star's tips are at 18
          // degrees to the axis: an offset of half a pixel moves the tip by 0.5 / sin 18 = 1.6.
          if (distance_to_edge(polygon, p) * radius < 2.2) continue;
          ASSERT_NEAR(cover[static_cast<std::size_t>(row * 96 + column)],
                      inside(polygon, p) ? 1 : 0, 1e-5)
              << name << " " << i << " at " << column << ", " << row;
        }
      }
    }
  }
  EXPECT_EQ(counts.size(), 6u);
}

// The latents alone determine every pixel of the background, two colours mixed by a wave, even when
// it is mirrored, rotated, shifted and scaled. Rounding of latents moves the wave by up
// to 1e-5 periods. The mixture changes by at most 3 times the colours' difference per period.
TEST(Shapes, LatentsDetermineTheBackground) {
  const auto generator = make_generator(
      "shapes", 64, {{"texture", "any"}, {"scale_low", "0.05"}, {"scale_high", "0.05"}});
  for (const std::string list :
       {"", "flip_x: 1", "flip_y: 1", "rotate: 180",
        "shift: 0.2, rotate: 90, zoom: [0.7, 1.5], flip_x", "crop_resize: {scale: [0.4, 1]}"}) {
    const auto samples =
        test::collect(*generator, {18, 0, 60}, {}, list.empty() ? "" : "augment: [" + list + "]");
    int waves = 0;
    for (std::size_t i = 0; i < samples.count(); ++i) {
      const auto latent = [&](std::size_t l) { return static_cast<double>(samples.latent(i, l)); };
      const bool wave = latent(kTexture) == 1 || latent(kTexture) == 2;  // gradient, stripes
      ASSERT_EQ(latent(kPeriod) > 0, wave);
      if (latent(kTexture) == 3) continue;  // skips grain
      waves += wave ? 1 : 0;
      for (int p = 0; p < 64 * 64; ++p) {
        const double x = p % 64 + 0.5, y = p / 64 + 0.5;
        if (std::hypot(x - 64 * latent(kX), y - 64 * latent(kY)) < 14) continue;  // skips the shape
        double share = 0;
        if (wave) {
          const double t = (std::cos(latent(kWaveAngle)) * x - std::sin(latent(kWaveAngle)) * y) /
                               (64 * latent(kPeriod)) +
                           latent(kPhase);
          const double fold = std::abs(2 * (t - std::floor(t)) - 1);
          share = 0.5 * fold * fold * (3 - 2 * fold);
        }
        for (std::size_t c = 0; c < 3; ++c) {
          const double back = latent(kBack + c), second = latent(kSecond + c);
          ASSERT_NEAR(samples.image(i)[3 * p + static_cast<int>(c)], back + share * (second - back),
                      2e-4)
              << list << ", sample " << i << ", pixel " << p;
        }
      }
    }
    EXPECT_GT(waves, 15) << list;
  }
}

TEST(Shapes, TexturesChangeNoOtherDraw) {
  const auto plain = test::collect(*make_generator("shapes", 32), {8, 0, 50});
  const auto textured = test::collect(
      *make_generator("shapes", 32, {{"texture", "any"}, {"texture_strength", "0.4"}}), {8, 0, 50});
  EXPECT_EQ(plain.label, textured.label);
  EXPECT_NE(plain.x, textured.x);
  for (std::size_t i = 0; i < plain.count(); ++i) {
    for (std::size_t l = 0; l < 10; ++l) ASSERT_EQ(plain.latent(i, l), textured.latent(i, l));
  }
}

TEST(Shapes, ZoomKeepsEdgesOnePixelWide) {
  // At twice the size the ramp of the edge is still one output pixel wide, so the number of pixels
  // on it grows with the perimeter, not with its square.
  const auto generator = make_generator(
      "shapes", kSide, {{"classes", "1"}, {"scale_low", "0.12"}, {"scale_high", "0.12"}});
  const auto partial = [&](float zoom) {
    const auto x = test::emit_augmented<float>(
        *generator, fmt::format("augment: [zoom: [{0}, {0}]]", zoom), 9, 0, 1);
    const auto samples = test::collect(*generator, {9, 0, 1});
    int count = 0;
    for (std::size_t p = 0; p < x.size(); p += 3) {
      const bool back =
          x[p] == samples.latent(0, kBack) && x[p + 1] == samples.latent(0, kBack + 1);
      const bool front = std::abs(x[p] - samples.latent(0, kFront)) < 1e-6f &&
                         std::abs(x[p + 1] - samples.latent(0, kFront + 1)) < 1e-6f;
      count += !back && !front ? 1 : 0;
    }
    return count;
  };
  // The mean width of the ramp along a row or column, over all directions, is 4 / pi.
  const double perimeter = 2 * std::numbers::pi * 0.12 * kSide;
  EXPECT_NEAR(partial(1), perimeter, 0.1 * perimeter);
  EXPECT_NEAR(partial(0.5f), perimeter / 2, 0.15 * perimeter);
}

}  // namespace
}  // namespace wellspring
