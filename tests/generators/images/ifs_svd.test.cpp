#include "generators/images/ifs_svd.h"

#include "generators/generator.h"
#include "generators/images/ifs.h"
#include "tests/generators/images/canvas_places.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace wellspring {
namespace {

ifs::SvdSystem system_of(std::uint64_t k, int maps, double low, double high) {
  RngStream draw({17, k}, Purpose::scene);
  return ifs::draw_svd_system(draw, maps, low, high);
}

// ---- systems ------------------------------------------------------------------------------------

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

TEST(IfsSvd, ClassesDoNotDependOnTheirNumberOrThreads) {
  const ifs::CategoryTable two = ifs::make_svd_categories({}, 2, 1);
  for (std::size_t k = 0; k < 2; ++k) {
    const ifs::Map &a = two.categories[k].system.map[0], &b = four().categories[k].system.map[0];
    EXPECT_TRUE(a.a == b.a && a.f == b.f);
    EXPECT_EQ(two.jitters[k * 25 + 7].factor, four().jitters[k * 25 + 7].factor);
  }
  EXPECT_NE(two.categories[0].system.map[0].a, two.categories[1].system.map[0].a);
}

// ---- pictures -----------------------------------------------------------------------------------

Ifs with_four(Ifs::Params params = {}) {
  params.mode = Ifs::Mode::svd;
  params.categories = 4;
  Ifs functor(params);
  functor.read({four().categories.data(), four().windows.data(), four().jitters.data()});
  return functor;
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

// At both limits of `sigma`, singular values are at most 1 and add up to alpha; each operation of the
// sampler rounds numbers up to 6 by 2^-51. 2 s2 <= 2 s1 leaves at most 3 for a map.
TEST(IfsSvd, DrawsSumsUpToThreePerMap) {
  for (const double sigma : {3., 5.9}) {
    for (std::uint64_t k = 0; k < 2000; ++k) {
      const ifs::SvdSystem made = system_of(k, 2, sigma - 0.1, sigma + 0.1);
      EXPECT_NEAR(made.alpha, sigma, 0.1 + 1e-14);
      double sum = 0;
      for (int i = 0; i < 2; ++i) {
        sum += made.s1[i] + 2 * made.s2[i];
        ASSERT_TRUE(made.s2[i] >= 0 && made.s2[i] <= made.s1[i] + 1e-14) << k;
        ASSERT_LE(made.s1[i], 1 + 1e-14) << k;
      }
      ASSERT_NEAR(sum, made.alpha, 1e-14);
    }
  }
}

TEST(IfsSvd, AcceptsSigmaUpToItsLimits) {
  const ifs::OneParameterSpec wide = {1, 5.9, 0.1};
  for (const ifs::Category& category : ifs::make_perturbed_categories(wide, 3, 1).categories)
    EXPECT_EQ(category.usable, 1);
  const auto refused = [](const char* sigma) {
    return test::message_of(ErrorKind::config, [&] {
      make_generator("ifs", 32, {{"mode", "one_parameter"}, {"sigma", sigma}});
    });
  };
  test::expect_parts(refused("5.91"), {"sigma", "5.91", "5.9"});
  test::expect_parts(refused("2.99"), {"sigma", "2.99", "3"});
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
