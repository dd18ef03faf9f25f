#include "generators/images/ifs3d.h"

#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <set>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

using Point = std::array<double, 3>;

const ifs3d::CategoryTable& three() {
  static const ifs3d::CategoryTable table = ifs3d::make_categories({}, 3, 2);
  return table;
}

// ---- systems and categories ---------------------------------------------------------------------

TEST(Ifs3d, VariationsWeighEachCoefficientByTwelveFactors) {
  std::set<std::pair<int, float>> seen;
  for (int v = 1; v < ifs3d::kVariations; ++v) {
    const ifs3d::Weighting weight = ifs3d::weighting(v);
    ASSERT_TRUE(weight.coefficient >= 0 && weight.coefficient < 12);
    const int tenths = static_cast<int>(std::lround(weight.factor * 10));
    EXPECT_EQ(weight.factor, static_cast<float>(tenths) / 10);
    EXPECT_TRUE(tenths >= 4 && tenths <= 16 && tenths != 10) << v;
    seen.insert({weight.coefficient, weight.factor});
    ifs3d::System system = three().categories[0].system;
    ifs3d::vary(system, v);
    for (int i = 0; i < system.maps; ++i) {
      for (int c = 0; c < 12; ++c) {
        const float of = three().categories[0].system.map[i].value[c];
        EXPECT_EQ(system.map[i].value[c], c == weight.coefficient ? of * weight.factor : of);
      }
    }
  }
  EXPECT_EQ(seen.size(), 144u);
}

/// The published steps: all points, one stretch to [-1, 1], the centroid taken off.
struct Model {
  double low = 0, high = 0;
  Point centre = {}, variance = {};
};
Model plain_model(const ifs3d::System& system, const SampleRng& rng, std::uint32_t attempt) {
  std::vector<Point> points = {{0, 0, 0}};
  while (points.size() < 10000) {
    const auto step = static_cast<std::uint32_t>(points.size() - 1);
    const std::uint32_t word =
        rng.block(Purpose::texture, attempt * 2048 + step / 8).word[step % 8 / 2];
    const std::uint32_t selector = step % 2 == 0 ? word & 0xffffu : word >> 16;
    int i = 0;
    while (selector >= system.upto[i]) ++i;
    const auto& m = system.map[i].value;
    const Point p = points.back();
    Point to;
    for (std::size_t r = 0; r < 3; ++r) {
      to[r] = std::fma(m[3 * r], p[0],
                       std::fma(m[3 * r + 1], p[1], std::fma(m[3 * r + 2], p[2], m[9 + r])));
    }
    points.push_back(to);
  }
  Model model;
  for (const Point& p : points) {
    for (const double v : p)
      model.low = std::min(model.low, v), model.high = std::max(model.high, v);
  }
  Point mean = {};
  for (Point& p : points) {
    for (std::size_t r = 0; r < 3; ++r) {
      model.centre[r] += p[r] / 10000;
      p[r] = (p[r] - model.low) / (model.high - model.low) * 2 - 1;
      mean[r] += p[r] / 10000;
    }
  }
  for (const Point& p : points) {
    for (std::size_t r = 0; r < 3; ++r)
      model.variance[r] += (p[r] - mean[r]) * (p[r] - mean[r]) / 10000;
  }
  return model;
}

// Sums of 10,000 numbers in double precision, in another order: within 1e-12 of their size.
TEST(Ifs3d, CategoriesAreTheFirstThatSpreadAlongEveryAxis) {
  for (std::size_t k = 0; k < 3; ++k) {
    const SampleRng rng = {1, k};
    const ifs3d::Category& category = three().categories[k];
    for (std::uint32_t attempt = 0; attempt <= category.attempt; ++attempt) {
      const ifs3d::System system = ifs3d::candidate_system(rng, attempt);
      const ifs3d::Survey seen = ifs3d::survey(system, rng, attempt);
      EXPECT_EQ(seen.spreads(0.05), attempt == category.attempt) << k << ", " << attempt;
      if (attempt < category.attempt && attempt > 5) continue;
      if (seen.diverged) continue;
      const Model model = plain_model(system, rng, attempt);
      EXPECT_EQ(seen.low, model.low);
      EXPECT_EQ(seen.high, model.high);
      const double range = model.high - model.low;
      for (std::size_t r = 0; r < 3; ++r) {
        EXPECT_NEAR(seen.centre[r], model.centre[r], 1e-10 * range);
        EXPECT_NEAR(seen.variance[r], model.variance[r], 1e-10);
        EXPECT_EQ(seen.variance[r] > 0.05 || attempt < category.attempt, true);
      }
    }
    double sum = 0, before = 0;
    const auto det = [&](int i) {
      const auto& m = category.system.map[i].value;
      return std::abs(double{m[0]} * (double{m[4]} * m[8] - double{m[5]} * m[7]) -
                      double{m[1]} * (double{m[3]} * m[8] - double{m[5]} * m[6]) +
                      double{m[2]} * (double{m[3]} * m[7] - double{m[4]} * m[6]));
    };
    for (int i = 0; i < category.system.maps; ++i) sum += det(i);
    for (int i = 0; i < category.system.maps; ++i) {
      before += det(i);
      EXPECT_NEAR(category.system.upto[i], 65536 * before / sum, 0.51);
    }
  }
  EXPECT_FALSE(ifs3d::Survey{}.spreads(0));
}

TEST(Ifs3d, VariancesAreExceededAlongEveryAxis) {
  ifs3d::Survey wide;
  wide.high = 1;
  wide.variance[0] = wide.variance[1] = 0.3;
  wide.variance[2] = 0.05;
  EXPECT_FALSE(wide.spreads(0.05)) << "larger, not equal";
  EXPECT_TRUE(wide.spreads(0.04999));
  wide.diverged = true;
  EXPECT_FALSE(wide.spreads(0.01));
}

// ---- pictures -----------------------------------------------------------------------------------

Ifs3d with_three(Ifs3d::Params params) {
  params.categories = 3;
  Ifs3d functor(params);
  functor.read({three().categories.data(), three().frames.data()});
  return functor;
}

/// Where a point of the system is seen, by the textbook: the model's coordinates, a camera 4 away
/// from the origin that looks at it, a view of 45 degrees. Column and row in pixels, then depth.
Point plain_view(const Point& p, const ifs3d::Frame& frame, double azimuth, double elevation,
                 int side) {
  const Point forward = {std::cos(elevation) * std::cos(azimuth), std::sin(elevation),
                         -std::cos(elevation) * std::sin(azimuth)};
  const auto cross = [](const Point& a, const Point& b) {
    return Point{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  };
  const auto unit = [](Point a) {
    const double length = std::hypot(a[0], a[1], a[2]);
    for (double& v : a) v /= length;
    return a;
  };
  const Point right = unit(cross(forward, {0, 1, 0})), up = cross(right, forward);
  Point at = {0, 0, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    const double v = frame.scale * (p[i] - frame.centre[i]) + 4 * forward[i];  // from the camera
    at[0] += v * right[i];
    at[1] += v * up[i];
    at[2] += v * forward[i];
  }
  const double half = at[2] * std::tan(std::numbers::pi / 8);
  return {(at[0] / half + 1) / 2 * side, (1 - at[1] / half) / 2 * side, at[2]};
}

// A point a walker at a time in f32, projected in double precision into a depth buffer. The f32
// projection is off by some 1e-6 of 64 pixels: pixels within 1e-3 of an edge may go either way.
TEST(Ifs3d, PicturesAreDepthBuffersOfTheProjectedPoints) {
  constexpr int kSide = 64;
  for (const auto views : {Ifs3d::Views::twelve, Ifs3d::Views::random}) {
    for (std::uint64_t sample = 0; sample < 4; ++sample) {
      Ifs3d::Params params;
      params.views = views;
      params.points = 4000;
      params.palette = Ifs3d::Palette::depth;
      const Ifs3d functor = with_three(params);
      Truth<Ifs3d::kLatents> truth;
      const Ifs3d::Scene scene = functor.draw({{3, sample}, {}, {kSide, kSide, 3}}, truth);
      std::vector<std::uint32_t> cells(kSide * kSide);
      SoloTeam team({nullptr, 0, 0});
      functor.paint(team, scene, {0, 1}, cells.data());

      const auto row = static_cast<std::size_t>(truth.label * ifs3d::kVariations +
                                                static_cast<int>(truth.latents[0]));
      const ifs3d::Frame& frame = three().frames[row];
      std::vector<double> nearest(kSide * kSide, std::numeric_limits<double>::infinity());
      std::vector<bool> unsure(kSide * kSide, false);
      for (int w = 0; w < 256; ++w) {
        float x = frame.start[0], y = frame.start[1], z = frame.start[2];
        for (int step = 0; step < 32 + 16; ++step) {
          const auto block = static_cast<std::uint32_t>(step / 8 * 256 + w);
          const std::uint32_t word = scene.rng.block(Purpose::texture, block).word[step % 8 / 2];
          const std::uint32_t selector = step % 2 == 0 ? word & 0xffffu : word >> 16;
          int i = 0;
          while (selector >= scene.system.upto[i]) ++i;
          const auto& m = scene.system.map[i].value;
          const auto to = [&](int r) {
            return math::fma(m[3 * r], x,
                             math::fma(m[3 * r + 1], y, math::fma(m[3 * r + 2], z, m[9 + r])));
          };
          const float next[3] = {to(0), to(1), to(2)};
          x = next[0], y = next[1], z = next[2];
          if (step < 32 || (step - 32) * 256 + w >= 4000) continue;
          const Point seen =
              plain_view({x, y, z}, frame, truth.latents[2], truth.latents[3], kSide);
          for (const double dx : {-1e-3, 0.0, 1e-3}) {
            for (const double dy : {-1e-3, 0.0, 1e-3}) {
              const double column = std::floor(seen[0] + dx), line = std::floor(seen[1] + dy);
              if (!(column >= 0 && column < kSide && line >= 0 && line < kSide)) continue;
              const auto p = static_cast<std::size_t>(line * kSide + column);
              if (column != std::floor(seen[0]) || line != std::floor(seen[1]) ||
                  std::abs(seen[2] - 1) < 1e-3) {
                unsure[p] = true;
                unsure[static_cast<std::size_t>(std::clamp(std::floor(seen[1]), 0.0, 63.0) * kSide +
                                                std::clamp(std::floor(seen[0]), 0.0, 63.0))] = true;
              } else if (seen[2] >= 1) {
                nearest[p] = std::min(nearest[p], seen[2]);
              }
            }
          }
        }
      }
      int lit = 0, sure = 0;
      for (std::size_t p = 0; p < cells.size(); ++p) {
        if (unsure[p]) continue;
        ++sure;
        ASSERT_EQ(cells[p] != 0, std::isfinite(nearest[p])) << sample << ", " << p;
        const float grey = functor.texel(scene, cells.data(), static_cast<int>(p % kSide),
                                         static_cast<int>(p / kSide));
        if (cells[p] == 0) {
          ASSERT_EQ(grey, 0);
          continue;
        }
        ++lit;
        ASSERT_NEAR(ifs3d::depth_of(cells[p]), nearest[p], 1e-5) << "the nearest wins";
        ASSERT_NEAR(grey, std::clamp((6.5 - nearest[p]) / 4, 0.25, 1.0), 1e-5);
      }
      EXPECT_GT(lit, 100) << sample;
      EXPECT_GT(sure, 3200);
    }
  }
}

TEST(Ifs3d, NearerPointsHaveLargerCells) {
  EXPECT_GT(ifs3d::nearness(1.5f), ifs3d::nearness(1.5000001f));
  EXPECT_GT(ifs3d::nearness(1e30f), 0u);
  EXPECT_EQ(ifs3d::depth_of(ifs3d::nearness(3.25f)), 3.25f);
}

TEST(Ifs3d, ViewsAreTwelveAroundTheAxisOrAnywhere) {
  for (const auto views : {Ifs3d::Views::twelve, Ifs3d::Views::random}) {
    Ifs3d::Params params;
    params.views = views;
    params.elevation = 60;
    const Ifs3d functor = with_three(params);
    std::vector<double> counts(12), jitters, azimuths, sines;
    for (std::uint64_t sample = 0; sample < 4000; ++sample) {
      Truth<Ifs3d::kLatents> truth;
      functor.draw({{3, sample}, {}, {32, 32, 3}}, truth);
      const double azimuth = truth.latents[2] * 180 / std::numbers::pi, view = truth.latents[1];
      azimuths.push_back(azimuth / 360);
      sines.push_back(0.5 + std::sin(truth.latents[3]) / (2 * std::sin(std::numbers::pi / 3)));
      if (views == Ifs3d::Views::random) continue;
      counts[static_cast<std::size_t>(view)] += 1;
      EXPECT_EQ(truth.latents[3], 0);
      const double off = std::remainder(azimuth - (30 + 30 * view), 360);
      ASSERT_LE(std::abs(off), std::numbers::pi + 1e-4);
      jitters.push_back(0.5 + off / (2 * std::numbers::pi));
    }
    const auto uniform = [](double x) { return x; };
    if (views == Ifs3d::Views::twelve) {
      EXPECT_GT(test::uniform_chi_square_p(counts), test::kGate);
      EXPECT_GT(test::kolmogorov_p(jitters, uniform), test::kGate);
    } else {
      EXPECT_GT(test::kolmogorov_p(azimuths, uniform), test::kGate);
      EXPECT_GT(test::kolmogorov_p(sines, uniform), test::kGate) << "uniform on the sphere";
    }
  }
}

}  // namespace
}  // namespace wellspring
