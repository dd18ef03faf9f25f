#include "generators/images/shaders.h"

#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <set>
#include <string>
#include <vector>

namespace wellspring {
namespace {

using shaders::bent;
using shaders::Domain;
using shaders::Form;
using shaders::Point;
using shaders::Program;
using shaders::tone;

enum Latent : std::size_t { kProgram, kDomain, kFine, kFormB, kBend, kX, kY, kUnit, kTurn };

constexpr std::uint64_t kSeed = 17;

/// A sequence of numbers in [0, 1) for random forms and points.
class Numbers {
 public:
  float next() { return rng_.uniform(); }
  float between(float low, float high) { return rng_.uniform(low, high); }
  Form form() {
    Form form;
    form.a = next();
    form.b = next();
    for (float& phase : form.phase) phase = next();
    form.seed = rng_.next();
    form.pixel = 0.01f;
    return form;
  }
  Point point() { return {between(-1.5f, 1.5f), between(-1.5f, 1.5f)}; }

 private:
  RngStream rng_{{kSeed, 0}, Purpose::scene};
};

double radius(Point p) {
  return std::hypot(static_cast<double>(p.x), static_cast<double>(p.y));
}
/// The point rotated counterclockwise, computed with the standard library's functions.
Point turned(Point p, double turns) {
  const double c = std::cos(2 * std::numbers::pi * turns),
               s = std::sin(2 * std::numbers::pi * turns);
  const double x = p.x, y = p.y;
  return {static_cast<float>(c * x - s * y), static_cast<float>(s * x + c * y)};
}

// ---- bends: properties at random points, up to rounding -----------------------------------------

TEST(Shaders, FoldRepeatsAndMirrors) {
  Numbers numbers;
  for (int i = 0; i < 500; ++i) {
    const Form form = numbers.form();
    const float bend = numbers.next(), period = 0.7f + 0.8f * bend;
    const Point p = numbers.point(), at = bent<Domain::fold>(form, bend, p);
    const Point next = bent<Domain::fold>(form, bend, {p.x + period, p.y - 2 * period});
    const Point mirrored = bent<Domain::fold>(form, bend, {-p.x, p.y});
    EXPECT_NEAR(next.x, at.x, 2e-6);
    EXPECT_NEAR(next.y, at.y, 2e-6);
    EXPECT_NEAR(mirrored.x, at.x, 2e-6);
    // Within half a period, the bend only shifts the plane.
    if (p.x > 0 && p.x < 0.5f * period) {
      EXPECT_NEAR(at.x, p.x + form.phase[2], 2e-6);
    }
  }
}

TEST(Shaders, KaleidoscopeMirrorsItsSectors) {
  Numbers numbers;
  for (int i = 0; i < 500; ++i) {
    const Form form = numbers.form();
    const float bend = numbers.next();
    const int sectors = 3 + static_cast<int>(6 * bend);
    const Point p = numbers.point(), at = bent<Domain::kaleidoscope>(form, bend, p);
    const Point next = bent<Domain::kaleidoscope>(form, bend, turned(p, 1.0 / sectors));
    const Point mirrored = bent<Domain::kaleidoscope>(form, bend, {p.x, -p.y});
    const Point out = {at.x - form.phase[2], at.y - form.phase[3]};
    EXPECT_NEAR(next.x, at.x, 1e-5);
    EXPECT_NEAR(next.y, at.y, 1e-5);
    EXPECT_NEAR(mirrored.x, at.x, 1e-5);
    EXPECT_NEAR(mirrored.y, at.y, 1e-5);
    EXPECT_NEAR(radius(out), radius(p), 4e-6);
    EXPECT_TRUE(out.x > 0 && out.y > -1e-6f);
    EXPECT_LE(std::atan2(out.y, out.x), std::numbers::pi / sectors + 1e-5);
  }
}

// Within a tile, distances are preserved and rotations are quarter turns; all four appear.
TEST(Shaders, QuiltRotatesTilesByQuarterTurns) {
  Numbers numbers;
  std::set<int> quarters;
  for (int i = 0; i < 500; ++i) {
    const Form form = numbers.form();
    const float bend = numbers.next(), side = 1 / (0.8f + 0.8f * bend);
    const float column = std::floor(numbers.between(-5, 5)),
                row = std::floor(numbers.between(-5, 5));
    const float u = numbers.between(0.01f, 0.49f), v = numbers.between(0.01f, 0.24f) * u;
    const Point at =
        bent<Domain::quilt>(form, bend, {(column + 0.5f + u) * side, (row + 0.5f + v) * side});
    const double x = at.x - form.phase[2], y = at.y - form.phase[3];
    EXPECT_NEAR(std::hypot(x, y), side * std::hypot(u, v), 1e-5);
    const double turn = (std::atan2(y, x) - std::atan2(v, u)) / (std::numbers::pi / 2);
    EXPECT_NEAR(turn, std::round(turn), 1e-4);
    quarters.insert((static_cast<int>(std::round(turn)) + 4) % 4);
  }
  EXPECT_EQ(quarters.size(), 4u);
}

// ---- programs: symmetries of their formulas -----------------------------------------------------

/// Largest difference in level and tint between random points and their images under `map`.
template <Program P, class Map>
double difference(const Map& map, int phases = 0) {
  Numbers numbers;
  double most = 0;
  for (int i = 0; i < 300; ++i) {
    Form form = numbers.form();
    if (phases == 0) std::fill(form.phase, form.phase + 4, 0.f);
    const Point p = numbers.point();
    const auto here = tone<P>(form, p), there = tone<P>(form, map(form, p));
    most = std::max({most, std::abs(static_cast<double>(here.level) - there.level),
                     std::abs(static_cast<double>(here.tint) - there.tint)});
  }
  return most;
}

// The last map breaks all symmetries, so a constant program cannot pass.
TEST(Shaders, ProgramsHaveTheirSymmetries) {
  const auto fine = [](const Form& form, float low, float high) {
    return low + (high - low) * form.a;
  };
  // A board, cos times cos, repeats after one unit along its rows.
  const auto board = [&](const Form& form, Point p) {
    return Point{p.x + 1 / fine(form, 0.8f, 1.8f), p.y};
  };
  EXPECT_LT((difference<Program::checker>(board, 1)), 1e-4);
  // Rings are ellipses. Each point is moved to where its ring meets the axis.
  const auto onto_axis = [](const Form& form, Point p) {
    const double oval = 1 + 1.4 * static_cast<double>(form.b);
    return Point{static_cast<float>(std::sqrt(p.x * p.x + oval * p.y * p.y)), 0};
  };
  EXPECT_LT((difference<Program::rings>(onto_axis, 1)), 1e-4);
  // Drops are mirrored at 5 / 8 units from the origin and repeat after 5 / 2 units.
  const auto drops = [](const Form&, Point p) { return Point{1.25f - p.x, p.y - 2.5f}; };
  EXPECT_LT((difference<Program::metaballs>(drops, 1)), 2e-3);
  // Strands: a shift by one tile along both axes keeps the upper strand on top.
  const auto strands = [&](const Form& form, Point p) {
    const float step = 1 / fine(form, 1.8f, 3.4f);
    return Point{p.x + step, p.y + step};
  };
  EXPECT_LT((difference<Program::weave>(strands, 1)), 1e-4);
  // Seven or five plane waves: a rotation by half a seventh or half a fifth of a turn permutes
  // them.
  const auto star = [](const Form& form, Point p) {
    return turned(p, form.b < 0.5f ? 0.1 : 1.0 / 14);
  };
  EXPECT_LT((difference<Program::quasicrystal>(star)), 2e-4);
  // Petals: a rotation by one petal.
  const auto petal = [](const Form& form, Point p) {
    return turned(p, 1.0 / (3 + static_cast<int>(6 * form.b)));
  };
  EXPECT_LT((difference<Program::rosette>(petal, 1)), 2e-4);
  // Two sets of rings are symmetric about the line through both centres. With phase 0, this line is
  // y = 0.
  const auto mirror = [](const Form&, Point p) { return Point{p.x, -p.y}; };
  EXPECT_LT((difference<Program::moire>(mirror)), 1e-6);
  // A map that is not a symmetry must change the values of every program.
  const auto elsewhere = [](const Form&, Point p) { return Point{p.x + 0.137f, p.y - 0.211f}; };
  EXPECT_GT((difference<Program::checker>(elsewhere, 1)), 0.3);
  EXPECT_GT((difference<Program::rings>(elsewhere, 1)), 0.3);
  EXPECT_GT((difference<Program::metaballs>(elsewhere, 1)), 0.3);
  EXPECT_GT((difference<Program::weave>(elsewhere, 1)), 0.3);
  EXPECT_GT((difference<Program::quasicrystal>(elsewhere)), 0.3);
  EXPECT_GT((difference<Program::rosette>(elsewhere, 1)), 0.3);
  EXPECT_GT((difference<Program::moire>(elsewhere)), 0.3);
}

// Curves continue from tile to tile in every orientation, without a jump at any border.
TEST(Shaders, TruchetTilesJoin) {
  Numbers numbers;
  for (int i = 0; i < 2000; ++i) {
    Form form = numbers.form();
    std::fill(form.phase, form.phase + 4, 0.f);
    const float fine = 1.4f + 1.4f * form.a, border = std::floor(numbers.between(-4, 4));
    const float along = numbers.between(-4, 4);
    const auto left = tone<Program::truchet>(form, {(border - 1e-5f) / fine, along / fine});
    const auto right = tone<Program::truchet>(form, {(border + 1e-5f) / fine, along / fine});
    ASSERT_NEAR(left.level, right.level, 3e-3) << along;
    ASSERT_NEAR(left.tint, right.tint, 3e-3);
  }
}

// In a hexagonal lattice, the chosen centre must be the nearest one.
TEST(Shaders, HoneycombPointsBelongToTheNearestCentre) {
  Numbers numbers;
  for (int i = 0; i < 2000; ++i) {
    const Point p = {numbers.between(-9, 9), numbers.between(-9, 9)};
    const auto cell = shaders::detail::hexagon_at(p.x, p.y);
    double nearest = 1e9;
    for (int row = -14; row <= 14; ++row) {
      for (int column = -12; column <= 12; ++column) {
        const double x = column + (row % 2 == 0 ? 0 : 0.5), y = row * std::sqrt(3.0) / 2;
        nearest = std::min(nearest, std::hypot(p.x - x, p.y - y));
      }
    }
    ASSERT_NEAR(radius({cell.x, cell.y}), nearest, 1e-5);
  }
}

// ---- samples ------------------------------------------------------------------------------------

TEST(Shaders, ClassesAreProgramBendAndCell) {
  const auto generator = make_generator("shaders", 1, {{"preset", "programs-1k", {}}});
  const auto& classes = generator->info().classes;
  EXPECT_EQ(classes.size(), 1152u);
  EXPECT_EQ(std::set<std::string>(classes.begin(), classes.end()).size(), 1152u);
  EXPECT_EQ(classes[72 * 2 + 9 * 3 + 4], "checker-kaleidoscope-4");
  EXPECT_EQ(make_generator("shaders", 1, {{"preset", "programs-16", {}}})->info().classes[9],
            "flow");
  const auto samples = test::collect(*generator, {4, 0, 5000});
  std::vector<double> fine, form;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const int label = samples.label[i], cell = label % 9;
    ASSERT_EQ(samples.latent(i, kProgram), static_cast<float>(label / 72));
    ASSERT_EQ(samples.latent(i, kDomain), static_cast<float>(label / 9 % 8));
    ASSERT_EQ(std::floor(3 * samples.latent(i, kFine) + 1e-6f), static_cast<float>(cell / 3));
    ASSERT_EQ(std::floor(3 * samples.latent(i, kFormB) + 1e-6f), static_cast<float>(cell % 3));
    fine.push_back(samples.latent(i, kFine));
    form.push_back(samples.latent(i, kFormB));
  }
  const auto uniform = [](double u) { return std::clamp(u, 0.0, 1.0); };
  EXPECT_GT(test::kolmogorov_p(fine, uniform), test::kGate);
  EXPECT_GT(test::kolmogorov_p(form, uniform), test::kGate);
}

// Latents locate the fields of a board, even if it is mirrored and rotated. They determine the
// level at each pixel, and colours are a monotonic function of the level. So grey values sorted by
// the level computed from the latents must be in ascending order. Rounding moves levels by 1e-4 at
// steep edges; a wrong position, rotation or unit would mix fields whose values differ by 0.3 or
// more.
TEST(Shaders, LatentsLocateABoard) {
  const auto generator = make_generator(
      "shaders", 48, {{"programs", "3", {}}, {"domains", "1", {}}, {"palette", "grey", {}}});
  int boards = 0;
  for (const std::string look : {"", "augment: [flip_x: 1]", "augment: [flip_y: 1, rotate: 180]"}) {
    const auto samples = test::collect(*generator, {6, 0, 60}, {}, look);
    for (std::size_t i = 0; i < samples.count(); ++i) {
      if (samples.label[i] != 2) continue;
      ++boards;
      const auto latent = [&](std::size_t l) { return static_cast<double>(samples.latent(i, l)); };
      Form form{};
      form.a = samples.latent(i, kFine);
      form.b = samples.latent(i, kFormB);
      form.phase[0] = samples.latent(i, kTurn + 1);
      form.phase[1] = samples.latent(i, kTurn + 2);
      form.pixel = static_cast<float>(1 / (48 * latent(kUnit)));
      const double mirror = look.empty() ? 1 : -1;
      std::vector<std::pair<float, float>> values;  // level, grey
      for (int p = 0; p < 48 * 48; ++p) {
        const double dx = (p % 48 + 0.5) / 48 - latent(kX), dy = latent(kY) - (p / 48 + 0.5) / 48;
        const double c = std::cos(latent(kTurn)), s = std::sin(latent(kTurn));
        const Point at = {static_cast<float>((c * dx + s * dy) / latent(kUnit)),
                          static_cast<float>(mirror * (c * dy - s * dx) / latent(kUnit))};
        values.emplace_back(tone<Program::checker>(form, at).level,
                            samples.image(i)[3 * static_cast<std::size_t>(p)]);
      }
      std::sort(values.begin(), values.end());
      const float sign = values.back().second > values.front().second ? 1.f : -1.f;
      float worst = 0, reached = -1e9f;
      for (const auto& [level, grey] : values) {
        reached = std::max(reached, sign * grey);
        worst = std::max(worst, reached - sign * grey);
      }
      ASSERT_LT(worst, 0.01f) << look << ", sample " << i;
    }
  }
  EXPECT_GT(boards, 30);
}

// Measures the spread of each picture's strongest channel. Among 1024 samples of all programs and
// bends, fewer than 1 in 50 may be nearly uniform (standard deviation below 0.03), and none may be
// exactly uniform.
TEST(Shaders, PicturesAreNotFlat) {
  const auto samples = test::collect(*make_generator("shaders", 32), {5, 0, 1024});
  int nearly = 0;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    double most = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      double sum = 0, squares = 0;
      for (std::size_t p = c; p < samples.elements; p += 3) {
        const double v = samples.image(i)[p];
        sum += v;
        squares += v * v;
      }
      const double n = static_cast<double>(samples.elements) / 3;
      most = std::max(most, squares / n - sum * sum / (n * n));
    }
    EXPECT_GT(most, 1e-6) << i;
    nearly += most < 0.03 * 0.03 ? 1 : 0;
  }
  EXPECT_LT(nearly, 20);
}

TEST(Shaders, RefusesUnknownPrograms) {
  test::expect_parts(test::message_of(ErrorKind::config,
                                      [] {
                                        make_generator("shaders", 32, {{"programs", "17", {}}});
                                      }),
                     {"programs = 17", "16"});
}

}  // namespace
}  // namespace wellspring
