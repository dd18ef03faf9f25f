#include "tests/support/augmentation.h"

#include "kernels/augment/augmentation_draw.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

constexpr std::uint64_t kSeed = 5;

AugmentationPlan plan_of(const std::string& list, FrameSize source, FrameSize out) {
  return test::plan_of("augment: " + list, source, out);
}
AugmentationPlan plan_of(const std::string& list, FrameSize size) {
  return plan_of(list, size, size);
}
Augmentation drawn(const AugmentationPlan& plan, std::uint64_t ordinal = 0) {
  return draw_augmentation(plan, {kSeed, ordinal});
}

/// The random words of an operation, in the layout documented in augmentation.h.
struct Words {
  std::uint64_t ordinal;
  AugmentOp op;
  std::uint32_t word(std::uint32_t i) const {
    const SampleRng rng{kSeed, ordinal};
    const std::uint32_t draw = static_cast<std::uint32_t>(op) << 8 | i / 4;
    return rng.block(Purpose::augment, draw).word[i % 4];
  }
  double uniform(std::uint32_t i) const { return static_cast<double>(word(i) >> 8) * 0x1p-24; }
  double whole(std::uint32_t i, double most) const {
    return std::floor(static_cast<double>(word(i)) * 0x1p-32 * (most + 1));
  }
};

/// A homography in double precision, row-major.
struct Map {
  std::array<double, 9> m = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  Map after(const Map& first) const {
    Map product;
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < 3; ++c) {
        product.m[3 * r + c] = 0;
        for (std::size_t k = 0; k < 3; ++k)
          product.m[3 * r + c] += m[3 * r + k] * first.m[3 * k + c];
      }
    return product;
  }
  std::pair<double, double> operator()(double x, double y) const {
    const double w = m[6] * x + m[7] * y + m[8];
    return {(m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w};
  }
};
Map moved(double x, double y) {
  return {{1, 0, x, 0, 1, y, 0, 0, 1}};
}
Map stretched(double x, double y) {
  return {{x, 0, 0, 0, y, 0, 0, 0, 1}};
}
/// `map`, applied about the centre of a frame.
Map about(const Map& map, double width, double height) {
  return moved(width / 2, height / 2).after(map).after(moved(-width / 2, -height / 2));
}

/// Compares the source points of output points. A dozen f32 operations on numbers up to `size` give
/// errors of 12 * 2^-24 * size, which the map stretches.
void expect_map(const Augmentation& a, const Map& expected, FrameSize out, double size,
                double stretch = 1) {
  const double tolerance = 12 * 0x1p-24 * size * stretch;
  for (int i = 0; i <= 8; ++i) {
    for (int j = 0; j <= 8; ++j) {
      const double x = out.width * i / 8., y = out.height * j / 8.;
      const auto [ex, ey] = expected(x, y);
      ASSERT_NEAR(a.source_x(static_cast<float>(x), static_cast<float>(y)), ex, tolerance);
      ASSERT_NEAR(a.source_y(static_cast<float>(x), static_cast<float>(y)), ey, tolerance);
    }
  }
}

TEST(Augmentation, IsTheIdentityForAnEmptyList) {
  for (const FrameSize size : {FrameSize{48, 32}, FrameSize{1, 1}, FrameSize{37, 4096}}) {
    const AugmentationPlan plan = plan_of("[]", size);
    const Augmentation a = drawn(plan, 77);
    for (const float x : {0.5f, 3.5f, 36.5f}) {
      EXPECT_EQ(a.source_x(x, 0.5f), x);
      EXPECT_EQ(a.source_y(0.5f, x), x);
    }
    EXPECT_EQ(a.footprint, 1);
    EXPECT_TRUE(a.on_grid);
    EXPECT_FALSE(a.projective);
    EXPECT_EQ(a.colour_count, 0);
    EXPECT_EQ(a.gain[1], 1);
    EXPECT_EQ(a.bias[1], 0);
    EXPECT_EQ(a.erase_x1, 0);
    EXPECT_EQ(a.blur_sigma, 0);
  }
}

TEST(Augmentation, FlipsAndShiftsExactly) {
  const FrameSize size = {37, 20};
  const AugmentationPlan plan = plan_of("[flip_x: 0.5, flip_y: 0.5, shift: 0.3]", size);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Augmentation a = drawn(plan, i);
    const bool fx = Words{i, op_of<augment::FlipX>}.uniform(0) < 0.5;
    const bool fy = Words{i, op_of<augment::FlipY>}.uniform(0) < 0.5;
    const Words shift{i, op_of<augment::Shift>};
    // The flip comes first in the list, so the shift moves the flipped image.
    const double dx = shift.whole(1, 22) - 11, dy = shift.whole(2, 12) - 6;
    const auto lookup = [](bool flipped, double moved_by, double at, double side) {
      return flipped ? side - (at + moved_by) : at + moved_by;
    };
    EXPECT_TRUE(a.on_grid);
    for (int k = 0; k < 20; ++k) {
      const float at = static_cast<float>(k) + 0.5f;
      ASSERT_EQ(a.source_x(at, 0.5f), lookup(fx, dx, at, 37));
      ASSERT_EQ(a.source_y(0.5f, at), lookup(fy, dy, at, 20));
    }
  }
}

// Resize(30) of 50 x 37 pixels gives 40 x 30; torchvision rounds the longer side down.
TEST(Augmentation, CropsTheResizedImage) {
  const FrameSize source = {50, 37}, out = {24, 24};
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Words words{i, op_of<augment::Crop>};
    const double top = words.whole(1, 6), left = words.whole(2, 16);
    const Augmentation a = drawn(plan_of("[crop: 30]", source, out), i);
    expect_map(a, stretched(50 / 40., 37 / 30.).after(moved(left, top)), out, 50, 2);
    EXPECT_NEAR(a.footprint, std::sqrt(50 / 40. * 37 / 30.), 1e-6);
  }
  const auto centre = [&](int resize) {
    return drawn(
        plan_of("[crop: {resize: " + std::to_string(resize) + ", place: centre}]", source, out));
  };
  expect_map(centre(30), stretched(50 / 40., 37 / 30.).after(moved(8, 3)), out, 50, 2);
  // 41 x 31: offsets of 8.5 and 3.5 are rounded to even numbers, as by Python's round.
  expect_map(centre(31), stretched(50 / 41., 37 / 31.).after(moved(8, 4)), out, 50, 2);
  EXPECT_TRUE(centre(37).on_grid);
  EXPECT_EQ(centre(37).source_x(0.5f, 0.5f), 13.5f);
  EXPECT_EQ(centre(37).source_y(0.5f, 0.5f), 6.5f);
}

// Other operations see images of the output's size.
TEST(Augmentation, CropsImagesOfDifferentSizesFirst) {
  const FrameSize out = {24, 24};
  const auto on_canvas = [&](const std::string& list, FrameSize own, std::uint64_t i) {
    return draw_augmentation(plan_of(list, {}, out), {kSeed, i}, own);
  };
  const auto expect_equal = [](const Augmentation& a, const Augmentation& b) {
    EXPECT_EQ(a.m00, b.m00);
    EXPECT_EQ(a.m11, b.m11);
    EXPECT_EQ(a.origin_x, b.origin_x);
    EXPECT_EQ(a.origin_y, b.origin_y);
    EXPECT_EQ(a.footprint, b.footprint);
  };
  for (const FrameSize own : {FrameSize{50, 37}, FrameSize{24, 24}, FrameSize{10, 90}})
    for (std::uint64_t i = 0; i < 20; ++i) {
      for (const char* const list : {"[crop: 30]", "[flip_x: 0.5, crop_resize, shift: 0.5]"})
        expect_equal(on_canvas(list, own, i), drawn(plan_of(list, own, out), i));
      const std::string fit = "crop: {resize: 24, place: centre}";
      expect_equal(on_canvas("[]", own, i), drawn(plan_of("[" + fit + "]", own, out), i));
      expect_equal(on_canvas("[shift: 0.5]", own, i),
                   drawn(plan_of("[" + fit + ", shift: 0.5]", own, out), i));
      // The member that is not chosen does nothing.
      const Augmentation either = on_canvas("[{one_of: [crop_resize, crop: 30]}]", own, i),
                         resized = on_canvas("[crop_resize]", own, i);
      expect_equal(either, either.footprint == resized.footprint ? resized
                                                                 : on_canvas("[crop: 30]", own, i));
    }
}

// No ratio makes a crop without pixels.
TEST(Augmentation, CropsAtLeastOnePixel) {
  for (const char* const ratio : {"[0.01, 0.01]", "[100, 100]"}) {
    const AugmentationPlan plan =
        plan_of(std::string("[crop_resize: {ratio: ") + ratio + "}]", {20, 20}, {20, 20});
    const Augmentation a = drawn(plan, 0);
    EXPECT_EQ(std::min(a.m00, a.m11), 1.0f / 20);
    EXPECT_EQ(std::max(a.m00, a.m11), 1.0f);
  }
}

TEST(Augmentation, MatchesTheFormulaOfEveryGeometry) {
  const FrameSize size = {60, 44};
  for (std::uint64_t i = 0; i < 50; ++i) {
    const double scale = 0.5 * std::pow(4., Words{i, op_of<augment::Zoom>}.uniform(1));
    expect_map(drawn(plan_of("[zoom: [0.5, 2]]", size), i),
               about(stretched(1 / scale, 1 / scale), 60, 44), size, 60, 2);
    const double turn =
        (2 * Words{i, op_of<augment::Rotate>}.uniform(1) - 1) * 40 / 180 * 3.14159265358979323846;
    const Map rotation = about(
        {{std::cos(turn), -std::sin(turn), 0, std::sin(turn), std::cos(turn), 0, 0, 0, 1}}, 60, 44);
    expect_map(drawn(plan_of("[rotate: 40]", size), i), rotation, size, 60);
    // The map combines the operations in list order: rotate, zoom, shift.
    const Words shift{i, op_of<augment::Shift>};
    const Map all = rotation.after(about(stretched(1 / scale, 1 / scale), 60, 44))
                        .after(moved(shift.whole(1, 12) - 6, shift.whole(2, 8) - 4));
    expect_map(drawn(plan_of("[rotate: 40, zoom: [0.5, 2], shift: 0.1]", size), i), all, size, 60,
               2);
  }
}

TEST(Augmentation, ScalesCropsToTheOutput) {
  const FrameSize source = {90, 70}, out = {32, 24};
  const AugmentationPlan plan =
      plan_of("[crop_resize: {scale: [0.2, 0.5], ratio: [0.8, 1.25]}]", source, out);
  for (std::uint64_t i = 0; i < 100; ++i) {
    // With these ranges the first try always fits; it uses words 1 to 4.
    const Words words{i, op_of<augment::CropResize>};
    const double area = 90 * 70 * (0.2 + 0.3 * words.uniform(1));
    const double ratio = 0.8 * std::pow(1.25 / 0.8, words.uniform(2));
    const double w = std::nearbyint(std::sqrt(area * ratio));
    const double h = std::nearbyint(std::sqrt(area / ratio));
    const double top = words.whole(3, 70 - h), left = words.whole(4, 90 - w);
    const Augmentation a = drawn(plan, i);
    expect_map(a, moved(left, top).after(stretched(w / 32, h / 24)), out, 90);
    EXPECT_NEAR(a.footprint, std::sqrt(w / 32 * h / 24), 1e-5);
    EXPECT_FALSE(a.on_grid);
  }
}

/// The homography that maps four points to four others, computed by elimination.
Map solve(const std::array<std::pair<double, double>, 4>& from,
          const std::array<std::pair<double, double>, 4>& to) {
  double rows[8][9];
  for (std::size_t k = 0; k < 4; ++k) {
    const auto [x, y] = from[k];
    const auto [u, v] = to[k];
    const double first[9] = {x, y, 1, 0, 0, 0, -u * x, -u * y, u};
    const double second[9] = {0, 0, 0, x, y, 1, -v * x, -v * y, v};
    std::copy(std::begin(first), std::end(first), rows[2 * k]);
    std::copy(std::begin(second), std::end(second), rows[2 * k + 1]);
  }
  for (int c = 0; c < 8; ++c) {
    int pivot = c;
    for (int r = c; r < 8; ++r)
      if (std::abs(rows[r][c]) > std::abs(rows[pivot][c])) pivot = r;
    std::swap(rows[c], rows[pivot]);
    for (int r = 0; r < 8; ++r) {
      if (r == c) continue;
      const double factor = rows[r][c] / rows[c][c];
      for (int k = c; k < 9; ++k) rows[r][k] -= factor * rows[c][k];
    }
  }
  Map map;
  for (std::size_t k = 0; k < 8; ++k) map.m[k] = rows[k][8] / rows[k][k];
  return map;
}

TEST(Augmentation, MapsPerspectiveCornersToImageCorners) {
  const FrameSize size = {61, 40};
  const AugmentationPlan plan = plan_of("[perspective: {distortion: 0.5, probability: 1}]", size);
  bool bent = false;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Words words{i, op_of<augment::Perspective>};
    // Corners move by up to int(0.5 * (61 // 2)) = 15 and int(0.5 * (40 // 2)) = 10.
    std::array<std::pair<double, double>, 4> corner;
    for (std::uint32_t k = 0; k < 4; ++k) {
      const double dx = words.whole(1 + 2 * k, 15), dy = words.whole(2 + 2 * k, 10);
      corner[k] = {k == 0 || k == 3 ? dx : 60 - dx, k < 2 ? dy : 39 - dy};
    }
    const Map expected = solve(corner, {{{0, 0}, {60, 0}, {60, 39}, {0, 39}}});
    const Augmentation a = drawn(plan, i);
    bent |= a.projective;
    // Points in and around the quadrilateral, where the depth is not small.
    for (int k = 0; k < 81; ++k) {
      const double x = k % 9 * 61 / 8., y = k / 9 * 40 / 8.;
      const double depth = expected.m[6] * x + expected.m[7] * y + 1;
      const double at_centre = expected.m[6] * 30.5 + expected.m[7] * 20 + 1;
      if (depth / at_centre < 0.25) continue;
      const auto [ex, ey] = expected(x, y);
      // The tolerance covers 40 f32 operations and cancellation, which amplifies errors by up to
      // the product of the sides divided by the depth.
      ASSERT_NEAR(a.source_x(static_cast<float>(x), static_cast<float>(y)), ex, 2e-3);
      ASSERT_NEAR(a.source_y(static_cast<float>(x), static_cast<float>(y)), ey, 2e-3);
    }
    // The footprint is the square root of the area scale at the centre.
    const auto [x0, y0] = expected(30.5, 20);
    const auto [x1, y1] = expected(30.5 + 1e-5, 20);
    const auto [x2, y2] = expected(30.5, 20 + 1e-5);
    const double area = ((x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)) * 1e10;
    ASSERT_NEAR(a.footprint, std::sqrt(area), 1e-3);
  }
  EXPECT_TRUE(bent);
}

TEST(Augmentation, HidesEverythingBeyondTheHorizon) {
  const FrameSize size = {64, 64};
  const AugmentationPlan plan = plan_of("[perspective: {distortion: 0.65, probability: 1}]", size);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Augmentation a = drawn(plan, i);
    for (int k = 0; k < 64 * 64; k += 7) {
      const float x = static_cast<float>(k % 64) + 0.5f, y = static_cast<float>(k / 64) + 0.5f;
      const double depth = double{a.w_x} * (x - 32.) + double{a.w_y} * (y - 32.) + a.w;
      const float sx = a.source_x(x, y), sy = a.source_y(x, y);
      ASSERT_TRUE(std::isfinite(sx) && std::isfinite(sy));
      if (depth > 0) continue;
      ASSERT_TRUE(sx < 0 || sx > 64 || sy < 0 || sy > 64);
    }
  }
}

TEST(Augmentation, ShiftsUpToExactlyTheFraction) {
  for (int percent = 1; percent < 100; ++percent) {
    for (const int side : {1, 10, 28, 32, 100, 224, 225, 4096}) {
      const auto plan = plan_of("[shift: " + std::to_string(percent / 100.) + "]", {side, side});
      ASSERT_EQ(plan.geometry[0].value[0], percent * side / 100) << percent << " % of " << side;
    }
  }
}

TEST(Augmentation, FitsLargerSourcesToTheOutput) {
  const Augmentation a = drawn(plan_of("[]", {80, 60}, {30, 30}));
  EXPECT_EQ(a.footprint, 2);
  EXPECT_EQ(a.source_x(15, 15), 40);
  EXPECT_EQ(a.source_y(0, 0), 0);
  EXPECT_EQ(a.source_y(30, 30), 60);
  EXPECT_FALSE(a.on_grid);
}

// ---- distributions ------------------------------------------------------------------------------

constexpr int kCount = 20000;

TEST(AugmentationDraws, CoverAndStayWithinTheirRanges) {
  const AugmentationPlan plan = plan_of(
      "[flip_x: 0.3, flip_y: 0.6, shift: 0.1, zoom: [0.5, 2], rotate: {angle: 40}, "
      "brightness: 0.3, hue: 0.2, erase: 6]",
      {40, 40});
  const AugmentationPlan flip_x = plan_of("[flip_x: 0.3]", {40, 40});
  const AugmentationPlan flip_y = plan_of("[flip_y: 0.6]", {40, 40});
  const AugmentationPlan shift = plan_of("[shift: 0.1]", {40, 40});
  const AugmentationPlan rotate = plan_of("[rotate: 40]", {40, 40});
  std::vector<double> flips(4), shifts(9), columns(40), zoom, angle, brightness, hue;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const Augmentation a = drawn(plan, i);
    const bool x = drawn(flip_x, i).m00 < 0;
    const bool y = drawn(flip_y, i).m11 < 0;
    flips[(x ? 1u : 0u) + (y ? 2u : 0u)] += 1;
    ASSERT_EQ(a.m00 * a.m11 - a.m01 * a.m10 < 0, x != y);
    zoom.push_back(std::log2(1 / static_cast<double>(a.footprint)));
    brightness.push_back(a.colour[0].value);
    hue.push_back(a.colour[1].value);
    columns[static_cast<std::size_t>(a.erase_x0 + 3)] += 1;
    ASSERT_EQ(a.erase_y1 - a.erase_y0, 6);
    const Augmentation moved = drawn(shift, i);
    shifts[static_cast<std::size_t>(moved.origin_x - 20 + 4)] += 1;
    const Augmentation turned = drawn(rotate, i);
    angle.push_back(std::atan2(turned.m10, turned.m00) * 180 / 3.14159265358979323846);
  }
  const std::vector<double> expected = {kCount * 0.7 * 0.4, kCount * 0.3 * 0.4, kCount * 0.7 * 0.6,
                                        kCount * 0.3 * 0.6};
  EXPECT_GT(test::chi_square_p(flips, expected), test::kGate);
  EXPECT_GT(test::uniform_chi_square_p(shifts), test::kGate);
  EXPECT_GT(test::uniform_chi_square_p(columns), test::kGate);
  const auto uniform = [](double low, double high) {
    return [=](double v) { return std::clamp((v - low) / (high - low), 0., 1.); };
  };
  EXPECT_GT(test::kolmogorov_p(zoom, uniform(-1, 1)), test::kGate);
  EXPECT_GT(test::kolmogorov_p(angle, uniform(-40, 40)), test::kGate);
  EXPECT_GT(test::kolmogorov_p(brightness, uniform(0.7, 1.3)), test::kGate);
  EXPECT_GT(test::kolmogorov_p(hue, uniform(-0.2, 0.2)), test::kGate);
}

TEST(AugmentationDraws, GiveCropsTheDocumentedAreasRatiosAndPositions) {
  // With ratio 1, a crop's side is round(40 sqrt(u)) with u uniform in [0.25, 1].
  const auto square = plan_of("[crop_resize: {scale: [0.25, 1], ratio: [1, 1]}]", {40, 40});
  std::vector<double> sides(21), places(11);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const Augmentation a = drawn(square, i);
    const double side = std::round(a.m00 * 40);
    sides[static_cast<std::size_t>(side - 20)] += 1;
    const double left = a.source_x(0, 0);
    ASSERT_NEAR(left, std::round(left), 1e-4);
    if (side == 30) places[static_cast<std::size_t>(std::round(left))] += 1;
  }
  std::vector<double> expected;
  for (int side = 20; side <= 40; ++side) {
    const auto below = [](double s) { return (std::clamp(s * s / 1600, 0.25, 1.) - 0.25) / 0.75; };
    expected.push_back(kCount * (below(side + 0.5) - below(side - 0.5)));
  }
  EXPECT_GT(test::chi_square_p(sides, expected), test::kGate);
  EXPECT_GT(test::uniform_chi_square_p(places), test::kGate);

  // Small boxes of any ratio always fit. At 4096 pixels, rounding sides near 1000 changes the
  // ratio's logarithm by less than 0.001, which is a hundredth of the test's resolution.
  const auto wide = plan_of("[crop_resize: {scale: [0.06, 0.06], ratio: [0.5, 2]}]", {4096, 4096});
  std::vector<double> ratios;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const Augmentation a = drawn(wide, i);
    ratios.push_back(std::log2(a.m00 / a.m11));
    ASSERT_NEAR(a.m00 * a.m11, 0.06, 2e-4);
  }
  EXPECT_GT(test::kolmogorov_p(ratios, [](double r) { return std::clamp((r + 1) / 2, 0., 1.); }),
            test::kGate);
}

TEST(AugmentationDraws, FallBackToACentreCropIfNoTryFits) {
  const auto plan = plan_of("[crop_resize: {scale: [1, 1], ratio: [2, 2]}]", {40, 40});
  const Augmentation a = drawn(plan);
  EXPECT_EQ(a.source_x(0, 0), 0);
  EXPECT_EQ(a.source_x(40, 0), 40);
  EXPECT_EQ(a.source_y(0, 0), 10);
  EXPECT_EQ(a.source_y(0, 40), 30);
}

TEST(AugmentationDraws, ApplyOperationsWithTheirProbabilities) {
  const auto plan = plan_of(
      "[grey: 0.2, solarise: {threshold: 0.5, probability: 0.3}, blur: {probability: 0.5, sigma: "
      "[1, 2]}, erase: {side: 4, probability: 0.7}]",
      {40, 40});
  double counts[4] = {0, 0, 0, 0};
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const Augmentation a = drawn(plan, i);
    for (int k = 0; k < a.colour_count; ++k)
      counts[a.colour[k].op == op_of<augment::Grey> ? 0 : 1] += 1;
    counts[2] += a.blur_sigma > 0 ? 1 : 0;
    counts[3] += a.erase_x1 > a.erase_x0 ? 1 : 0;
  }
  const double expected[4] = {0.2, 0.3, 0.5, 0.7};
  for (std::size_t k = 0; k < 4; ++k) {
    const double deviation = std::sqrt(kCount * expected[k] * (1 - expected[k]));
    EXPECT_GT(test::normal_p((counts[k] - kCount * expected[k]) / deviation), test::kGate) << k;
  }
}

TEST(AugmentationDraws, KeepTheirValuesWhenOtherOperationsChange) {
  const FrameSize size = {40, 40};
  const auto few = plan_of("[rotate: 30, brightness: 0.4, erase: 5]", size);
  const auto many = plan_of(
      "[flip_y: 0.5, rotate: 30, grey, brightness: 0.4, solarise: 0.5, blur: [1, 2], erase: 5]",
      size);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Augmentation a = drawn(few, i), b = drawn(many, i);
    ASSERT_EQ(a.m00, b.m00);
    ASSERT_EQ(std::abs(a.m11), std::abs(b.m11));
    ASSERT_EQ(a.erase_x0, b.erase_x0);
    const auto bright = std::find_if(std::begin(b.colour), std::end(b.colour), [](auto& step) {
      return step.op == op_of<augment::Brightness>;
    });
    ASSERT_NE(bright, std::end(b.colour));
    ASSERT_EQ(a.colour[0].value, bright->value);
  }
}

TEST(AugmentationDraws, AreIndependentBetweenNeighbouringOrdinals) {
  const auto plan = plan_of("[rotate: 90, erase: 6]", {40, 40});
  double product = 0, same_column = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const Augmentation a = drawn(plan, 2 * i), b = drawn(plan, 2 * i + 1);
    const double first = std::atan2(a.m10, a.m00), second = std::atan2(b.m10, b.m00);
    product += first * second;
    same_column += a.erase_x0 == b.erase_x0 ? 1 : 0;
  }
  // Angles are uniform with variance pi^2 / 12; products of independent angles average to 0.
  const double variance = 3.14159265358979323846 * 3.14159265358979323846 / 12;
  EXPECT_GT(test::normal_p(product / (std::sqrt(kCount) * variance)), test::kGate);
  // All 40 columns of a box are equally likely.
  EXPECT_GT(test::normal_p((same_column - kCount / 40.) / std::sqrt(kCount * 39. / 1600)),
            test::kGate);
}

}  // namespace
}  // namespace wellspring
