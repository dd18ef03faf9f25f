#include "generators/images/ifs_svd.h"

#include "generators/generator.h"
#include "generators/images/ifs.h"
#include "tests/generators/images/canvas_places.h"
#include "tests/generators/images/ifs_painting.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

ifs::SvdSystem system_of(std::uint64_t k, int maps, double low, double high) {
  RngStream draw({17, k}, Purpose::scene);
  return ifs::draw_svd_system(draw, maps, low, high);
}

// ---- systems ------------------------------------------------------------------------------------

// In double precision the sums are exact to about 1e-15, far below the published 1e-6. Rounding a
// matrix to floats changes its singular values by at most 4 x 2^-24, including the errors of sine
// and cosine.
TEST(IfsSvd, SingularValuesAreOrderedAndHaveTheGivenSum) {
  for (int maps = 2; maps <= ifs::kMaxMaps; ++maps) {
    for (std::uint64_t k = 0; k < 100; ++k) {
      const double low = (5 + maps) / 2.0;
      const ifs::SvdSystem made = system_of(k, maps, low, low + 0.5);
      ASSERT_EQ(made.system.maps, maps);
      double sum = 0, weights = 0, before = 0;
      for (int i = 0; i < maps; ++i) {
        const ifs::Map& m = made.system.map[i];
        const double s1 = made.s1[i], s2 = made.s2[i], det = double{m.a} * m.d - double{m.b} * m.c;
        ASSERT_TRUE(s1 <= 1 + 1e-12 && s1 >= s2 - 1e-12 && s2 >= 0) << s1 << ", " << s2;
        sum += s1 + 2 * s2;
        weights += s1 * s2;
        ASSERT_NEAR(std::abs(det), s1 * s2, 1e-6);
        ASSERT_NEAR(double{m.a} * m.a + double{m.b} * m.b + double{m.c} * m.c + double{m.d} * m.d,
                    s1 * s1 + s2 * s2, 2e-6);
        ASSERT_TRUE(std::abs(m.e) <= 1 && std::abs(m.f) <= 1);
      }
      ASSERT_NEAR(sum, made.alpha, 1e-12);
      ASSERT_TRUE(made.alpha >= low && made.alpha < low + 0.5);
      for (int i = 0; i < maps; ++i) {
        before += made.s1[i] * made.s2[i];
        ASSERT_NEAR(made.system.upto[i], 65536 * before / weights, 1) << "chances";
      }
    }
  }
}

// Each value is uniform between bounds that depend on the earlier values.
TEST(IfsSvd, SingularValuesAreUniformBetweenTheirBounds) {
  constexpr int kMaps = 3;
  std::array<std::vector<double>, 5> shares;
  std::array<std::vector<double>, 2> signs = {std::vector<double>(2), std::vector<double>(2)};
  std::vector<double> turns;
  for (std::uint64_t k = 0; k < 4000; ++k) {
    const ifs::SvdSystem made = system_of(k, kMaps, 4, 4.5);
    double left = made.alpha;
    const auto add = [&](std::size_t which, double value, double low, double high) {
      shares[which].push_back((value - low) / (high - low));
    };
    for (int i = 0; i < kMaps - 1; ++i) {
      // The remaining maps contribute at most 3 each.
      const double need = left - 3 * (kMaps - 1 - i);
      const double s1 = made.s1[i], s2 = made.s2[i];
      add(static_cast<std::size_t>(2 * i), s1, std::max(0.0, need / 3), std::min(1.0, left));
      add(static_cast<std::size_t>(2 * i + 1), s2, std::max(0.0, (need - s1) / 2),
          std::min(s1, (left - s1) / 2));
      left -= s1 + 2 * s2;
    }
    add(4, made.s2[2], std::max(0.0, (left - 1) / 2), left / 3);
    const ifs::Map& m = made.system.map[1];
    signs[0][m.a * m.d > m.b * m.c ? 1 : 0] += 1;
    signs[1][m.a > 0 ? 1 : 0] += 1;
    // The left factor's angle is uniform, so the matrix's rotation angle is, too.
    turns.push_back(std::atan2(m.c - m.b, m.a + m.d) / (2 * 3.14159265358979323846) + 0.5);
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    EXPECT_GT(test::kolmogorov_p(shares[i], [](double x) { return x; }), test::kGate) << i;
  }
  EXPECT_GT(test::uniform_chi_square_p(signs[0]), test::kGate) << "mirrored or not";
  EXPECT_GT(test::uniform_chi_square_p(signs[1]), test::kGate);
  EXPECT_GT(test::kolmogorov_p(turns, [](double x) { return x; }), test::kGate);
}

TEST(IfsSvd, BoxesDetectZeroArea) {
  EXPECT_TRUE(ifs::box_of(system_of(0, 2, 4, 4.5).system, {5, 0}).has_area());
  EXPECT_FALSE((ifs::Box{0, 0, 0, 1, 0, 0}.has_area())) << "a line has no area";
  EXPECT_FALSE((ifs::Box{0, HUGE_VAL, 0, 1, 0, 0}.has_area()));
  EXPECT_FALSE((ifs::Box{0, 1, 0, 1, std::nan(""), 0}.has_area()));
}

/// Share of 256x256 pixels that 100,000 points hit.
double fill_of(const ifs::System& system, std::uint64_t k) {
  constexpr int kSide = 256;
  const ifs::Box box = ifs::box_of(system, {5, k});
  const ifs::Walk walk = {256, 32, 100000, static_cast<float>(box.last_x),
                          static_cast<float>(box.last_y)};
  const auto sx = static_cast<float>((kSide - 1) / (box.x1 - box.x0));
  const auto sy = static_cast<float>((kSide - 1) / (box.y1 - box.y0));
  const ifs::Placing placing = {sx, -sx * static_cast<float>(box.x0), sy,
                                -sy * static_cast<float>(box.y0)};
  std::vector<std::uint8_t> hit(kSide * kSide);
  ifs::walk(0, 1, system, walk, placing, kSide, kSide, {6, k},
            [&](std::int32_t cell, std::uint32_t) { hit[static_cast<std::size_t>(cell)] = 1; });
  return std::accumulate(hit.begin(), hit.end(), 0.0) / (kSide * kSide);
}

// Compares with means over 400 systems of the published program. The tolerance is 4.9 standard
// errors of the difference between the two means, estimated from our own spread; it is exceeded
// once in a million.
TEST(IfsSvd, FillsAsMuchAsPublished) {
  struct Case {
    int maps;
    double low, high, fill;
  };
  for (const Case& c : {Case{2, 3.5, 3.5, 0.116}, Case{2, 4, 4, 0.290}, Case{4, 4.5, 5, 0.20}}) {
    constexpr int kCount = 40;
    double sum = 0, squares = 0;
    for (std::uint64_t k = 0; k < kCount; ++k) {
      const double fill = fill_of(system_of(1000 + k, c.maps, c.low, c.high).system, k);
      sum += fill;
      squares += fill * fill;
    }
    const double mean = sum / kCount, spread = std::sqrt(squares / kCount - mean * mean);

    EXPECT_NEAR(mean, c.fill, 4.9 * spread * std::sqrt(1.0 / kCount + 1.0 / 400)) << c.low;
  }
}

// ---- tables -------------------------------------------------------------------------------------

const ifs::CategoryTable& four() {
  static const ifs::CategoryTable table = ifs::make_svd_categories({}, 4, 2);
  return table;
}

TEST(IfsSvd, JittersScaleOneContraction) {
  int fewer = 0;
  std::vector<double> factors;
  for (std::size_t k = 0; k < 4; ++k) {
    const ifs::Category& category = four().categories[k];
    ASSERT_EQ(category.usable, 25);
    RngStream draw({1, k}, Purpose::scene);
    const int maps = 2 + static_cast<int>(draw.integer(3));
    const ifs::SvdSystem made =
        ifs::draw_svd_system(draw, maps, (5 + maps) / 2.0, (6 + maps) / 2.0);
    ASSERT_EQ(category.system.maps, maps);
    EXPECT_EQ(category.system.map[1].a, made.system.map[1].a);
    EXPECT_EQ(category.attempt, 0u);
    for (std::size_t v = 0; v < ifs::kVariations; ++v) {
      EXPECT_EQ(category.variation[v], v);
      const ifs::Jitter& jitter = four().jitters[k * ifs::kVariations + v];
      ASSERT_TRUE(jitter.map >= 0 && jitter.map < maps);
      ASSERT_TRUE(jitter.factor == 1 || (jitter.factor >= 0.8f && jitter.factor < 1.1f));
      ASSERT_LE(made.s1[jitter.map] * jitter.factor, 1 + 1e-7);
      if (jitter.factor == 1) ++fewer;
      if (v > 0) factors.push_back(jitter.factor);
      ifs::System system = category.system;
      ifs::Map& m = system.map[jitter.map];
      for (float* value : {&m.a, &m.b, &m.c, &m.d, &m.e, &m.f}) *value *= jitter.factor;
      const ifs::Box box = ifs::box_of(system, {1, k});
      const ifs::Window& window = four().windows[k * ifs::kVariations + v];
      EXPECT_TRUE(window.x0 == static_cast<float>(box.x0) &&
                  window.y1 == static_cast<float>(box.y1));
    }
  }
  EXPECT_GE(fewer, 4) << "variation 0 of each class must be unscaled";
  EXPECT_LT(*std::min_element(factors.begin(), factors.end()), 0.85f);
  EXPECT_GT(*std::max_element(factors.begin(), factors.end()), 1.0f);
}

TEST(IfsSvd, ClassesDoNotDependOnTheirNumberOrThreads) {
  const ifs::CategoryTable two = ifs::make_svd_categories({}, 2, 1);
  for (std::size_t k = 0; k < 2; ++k) {
    const ifs::Map &a = two.categories[k].system.map[0], &b = four().categories[k].system.map[0];
    EXPECT_TRUE(a.a == b.a && a.f == b.f);
    EXPECT_EQ(two.jitters[k * 25 + 7].factor, four().jitters[k * 25 + 7].factor);
  }
  EXPECT_NE(two.categories[0].system.map[0].a, two.categories[1].system.map[0].a);
}

// Coefficients are floats, so each ratio is within 2^-23 of its factor.
TEST(IfsOneParameter, PerturbsTheSystem) {
  const ifs::OneParameterSpec spec;
  const ifs::System system = ifs::one_parameter_system(spec);
  EXPECT_EQ(system.maps, 2);
  const ifs::CategoryTable table = ifs::make_perturbed_categories(spec, 12, 2);
  std::vector<double> ratios;
  for (std::size_t k = 0; k < 12; ++k) {
    const ifs::Category& category = table.categories[k];
    EXPECT_EQ(category.usable, 1);
    EXPECT_TRUE(std::equal(category.system.upto, category.system.upto + 7, system.upto));
    for (std::size_t i = 0; i < 2; ++i) {
      const ifs::Map &m = category.system.map[i], &of = system.map[i];
      for (const auto& [value, base] : {std::pair{m.a, of.a},
                                        {m.b, of.b},
                                        {m.c, of.c},
                                        {m.d, of.d},
                                        {m.e, of.e},
                                        {m.f, of.f}}) {
        const double ratio = double{value} / base;
        ASSERT_TRUE(ratio >= 0.9 - 0x1p-23 && ratio <= 1.1 + 0x1p-23) << ratio;
        ratios.push_back((ratio - 0.9) / 0.2);
      }
    }
    EXPECT_GT(ifs::lit_share(category.system, table.windows[k * ifs::kVariations], spec.seed),
              ifs::kLeastLit);
  }
  EXPECT_GT(test::kolmogorov_p(ratios, [](double x) { return x; }), test::kGate);
}

// ---- pictures -----------------------------------------------------------------------------------

Ifs with_four(Ifs::Params params = {}) {
  params.mode = Ifs::Mode::svd;
  params.categories = 4;
  Ifs functor(params);
  functor.read({four().categories.data(), four().windows.data(), four().jitters.data()});
  return functor;
}

// In the published painter, each point adds its patch; then all counts are divided by the largest.
TEST(IfsSvd, PaintsCountsRelativeToTheLargest) {
  constexpr int kSide = 45;
  for (std::uint64_t sample = 0; sample < 6; ++sample) {
    Ifs::Params params;
    params.palette = sample < 3 ? Ifs::Palette::grey : Ifs::Palette::colour;
    params.background = Ifs::Background::black;
    params.stamp = sample % 3 == 2 ? Ifs::Stamp::point : Ifs::Stamp::patch;
    const test::PaintedIfs painted(with_four(params), sample, kSide);
    std::vector<int> count(kSide * kSide);
    int points = 0;
    const auto mask = static_cast<std::uint32_t>(painted.truth.latents[11]);
    ASSERT_TRUE(mask > 0 && mask < 512);
    EXPECT_TRUE(params.stamp == Ifs::Stamp::patch || mask == 16);
    ifs::walk(0, 1, painted.scene.system, painted.scene.walk, painted.scene.placing, kSide + 2,
              kSide + 2, painted.scene.rng, [&](std::int32_t cell, std::uint32_t) {
                ++points;
                for (int bit = 0; bit < 9; ++bit) {
                  const int x = cell % (kSide + 2) - 1 + bit % 3 - 1;
                  const int y = cell / (kSide + 2) - 1 + bit / 3 - 1;
                  if (x < 0 || x >= kSide || y < 0 || y >= kSide || (mask >> bit & 1u) == 0) {
                    continue;
                  }
                  ++count[static_cast<std::size_t>(y * kSide + x)];
                }
              });
    ASSERT_GT(points, 500);
    const int most = *std::max_element(count.begin(), count.end());
    for (int p = 0; p < kSide * kSide; ++p) {
      const int here = count[static_cast<std::size_t>(p)];
      const float share = static_cast<float>(here) / static_cast<float>(most);
      const Rgb c = painted.at(p % kSide, p / kSide);
      Rgb want = {share, share, share};
      if (params.palette == Ifs::Palette::colour) {
        const float* const latent = painted.truth.latents;
        want = here == 0
                   ? Rgb{}
                   : ifs::wrapped_hue(math::fma(255, share, latent[12]), latent[13], latent[14]);
      }
      ASSERT_TRUE(c.r == want.r && c.g == want.g && c.b == want.b) << sample << ", " << p;
    }
  }
}

// ---- backgrounds --------------------------------------------------------------------------------

std::vector<float> plasma(int levels, float decay, std::uint64_t sample) {
  const int side = diamond_square::points_for(levels);
  std::vector<std::uint32_t> cells(static_cast<std::size_t>(side * side));
  SoloTeam team({nullptr, 0, 0});
  diamond_square::make(team, {8, sample}, decay, levels, cells.data());
  std::vector<float> heights;
  for (const std::uint32_t cell : cells) heights.push_back(std::bit_cast<float>(cell));
  return heights;
}

// Each point differs from the mean of the four points around it by a uniform number within +- the
// amplitude of its level. Amplitudes of successive levels have ratio exp(-decay).
TEST(DiamondSquare, DisplacesUniformlyByLevel) {
  constexpr int kLevels = 6, kLast = 1 << kLevels, kSide = kLast + 1;
  constexpr float kDecay = 0.6f;
  std::array<std::vector<double>, kLevels + 1> shares;
  for (std::uint64_t sample = 0; sample < 3; ++sample) {
    const auto heights = plasma(kLevels, kDecay, sample);
    const auto at = [&](int row, int column) {
      const auto round = [](int i) { return i < 0 ? i + kLast : (i > kLast ? i - kLast : i); };
      return double{heights[static_cast<std::size_t>(round(row) * kSide + round(column))]};
    };
    for (int row = 0; row < kSide; ++row) {
      for (int column = 0; column < kSide; ++column) {
        const int both = row | column;
        if (both == 0 || both % kLast == 0) {
          shares[0].push_back(at(row, column));
          continue;
        }
        const int step = both & -both;  // spacing of the coarsest grid that contains this point
        const int level = kLevels - std::countr_zero(static_cast<unsigned>(step));
        const bool centre = (row & step) != 0 && (column & step) != 0;
        const double mean = centre
                                ? (at(row - step, column - step) + at(row - step, column + step) +
                                   at(row + step, column - step) + at(row + step, column + step)) /
                                      4
                                : (at(row - step, column) + at(row + step, column) +
                                   at(row, column - step) + at(row, column + step)) /
                                      4;
        const double amplitude = 0.5 * std::exp(double{kDecay} * (1 - level));
        const double share = ((at(row, column) - mean) / amplitude + 1) / 2;
        // Heights below 4 have errors of 2^-23; amplitudes are at least 0.025.
        ASSERT_TRUE(share > -1e-5 && share < 1 + 1e-5) << row << ", " << column;
        shares[static_cast<std::size_t>(level)].push_back(share);
      }
    }
  }
  for (std::size_t level = 0; level < shares.size(); ++level) {
    EXPECT_GT(test::kolmogorov_p(shares[level], [](double x) { return x; }), test::kGate) << level;
  }
  EXPECT_EQ(shares[0].size(), 12u) << "number of corners";
}

TEST(DiamondSquare, SizesGridsForThePicture) {
  EXPECT_EQ(diamond_square::levels_for(1), 0);
  EXPECT_EQ(diamond_square::levels_for(224), 8);
  EXPECT_EQ(diamond_square::levels_for(256), 8);
  EXPECT_EQ(diamond_square::levels_for(257), 9);
  EXPECT_EQ(plasma(0, 0.5f, 1).size(), 4u);
}

// ---- emission -----------------------------------------------------------------------------------

TEST(IfsSvd, GivesEqualImagesInScratchAndInThePlan) {
  Ifs::Params params;
  params.walkers = 600;
  params.palette = Ifs::Palette::colour;
  test::expect_equal_in_both_places(with_four(params), 0, std::size_t{1} << 17,
                                    [](const test::HostBatch&) {});
}

TEST(IfsSvd, RefusesContradictions) {
  const auto refused = [](const auto& change) {
    Ifs::Params params;
    params.mode = Ifs::Mode::svd;
    change(params);
    return test::message_of(ErrorKind::config, [&] { Ifs functor(params); });
  };
  test::expect_parts(
      test::message_of(ErrorKind::config,
                       [] {
                         make_generator("ifs", 32, {{"mode", "svd"}, {"keep_degenerate", "true"}});
                       }),
      {"keep_degenerate = true has no effect in ifs", "mode: fractaldb"});
  test::expect_parts(refused([](auto& p) { p.maps_low = 5; }),
                     {"maps_low = 5 is larger than maps_high = 4", "4 or less"});
  test::expect_parts(refused([](auto& p) { p.zoom_low = 3; }),
                     {"zoom_low = 3 is larger than zoom_high = 2", "2 or less"});
}

}  // namespace
}  // namespace wellspring
