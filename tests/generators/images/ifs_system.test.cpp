#include "generators/images/ifs_system.h"

#include "generators/images/ifs_categories.h"
#include "tests/support/host_team.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace wellspring::ifs {
namespace {

constexpr int kSide = 61;  // a prime

/// A known category, and the map from its points to a canvas of kSide x kSide cells.
struct Drawn {
  System system;
  Window window;
  Placing placing;

  explicit Drawn(std::int64_t k) {
    const CategorySpec spec;
    Surveyor surveyor;
    const SampleRng rng = category_rng(spec, k);
    system = candidate_system(rng, known_attempts(spec)[static_cast<std::size_t>(k)]);
    surveyor.choose_maps(system, rng, 0);
    const Survey survey = surveyor.survey(system);
    window = {static_cast<float>(survey.x0),     static_cast<float>(survey.x1),
              static_cast<float>(survey.y0),     static_cast<float>(survey.y1),
              static_cast<float>(survey.last_x), static_cast<float>(survey.last_y)};
    placing.sx = (kSide - 2) / (window.x1 - window.x0);
    placing.sy = (kSide - 2) / (window.y1 - window.y0);
    placing.ox = 1 - placing.sx * window.x0;
    placing.oy = 1 - placing.sy * window.y0;
  }
};

using Cells = std::vector<std::uint32_t>;

Cells walked(const Drawn& drawn, const Walk& by, const SampleRng& rng) {
  Cells cells(kSide * kSide);
  SoloTeam team({nullptr, 0, 0});
  walk(0, 1, drawn.system, by, drawn.placing, kSide, kSide, rng,
       [&](std::int32_t cell, std::uint32_t value) {
         team.atomic_max(&cells[static_cast<std::size_t>(cell)], value);
       });
  return cells;
}

/// Computes the same points one walker at a time, without lanes, tables or branch-free code.
Cells walked_plainly(const Drawn& drawn, const Walk& by, const SampleRng& rng) {
  Cells cells(kSide * kSide);
  for (int w = 0; w < by.walkers; ++w) {
    float x = by.start_x, y = by.start_y;
    for (int step = 0;; ++step) {
      const int t = (step - by.burn_in) * by.walkers + w;
      if (t >= by.points) break;
      const auto draw = static_cast<std::uint32_t>(step / 4 * by.walkers + w);
      const std::uint32_t word = rng.block(Purpose::texture, draw).word[step % 4];
      int m = 0;
      while ((word >> 16) >= drawn.system.upto[m]) ++m;
      const Map& map = drawn.system.map[m];
      const float moved = std::fma(map.a, x, std::fma(map.b, y, map.e));
      y = std::fma(map.c, x, std::fma(map.d, y, map.f));
      x = moved;
      const float column = std::fma(drawn.placing.sx, x, drawn.placing.ox);
      const float row = std::fma(drawn.placing.sy, y, drawn.placing.oy);
      if (step < by.burn_in || !(column >= 0 && column < kSide && row >= 0 && row < kSide))
        continue;
      auto& cell = cells[static_cast<std::size_t>(row) * kSide + static_cast<std::size_t>(column)];
      cell = std::max(cell,
                      static_cast<std::uint32_t>(t + 1) << 9 | (1 + (word & 65535) * 511 / 65536));
    }
  }
  return cells;
}

TEST(IfsSystem, WalksMatchTheDefinition) {
  for (const std::int64_t k : {0, 2, 6}) {
    const Drawn drawn(k);
    const float x = drawn.window.point_x, y = drawn.window.point_y;
    // Covers full lanes, partly used lanes and a single lane, and numbers of points that end within
    // a round or a block.
    for (const Walk& by : {Walk{32, 5, 3200, x, y}, Walk{37, 32, 1001, x, y}, Walk{1, 0, 17, 0, 0},
                           Walk{300, 3, 200, x, y}}) {
      EXPECT_TRUE(walked(drawn, by, {5, 6}) == walked_plainly(drawn, by, {5, 6}))
          << k << ", " << by.walkers << " walkers";
    }
  }
}

TEST(IfsSystem, IgnoresDivergentPoints) {
  Drawn drawn(0);
  for (Map& map : drawn.system.map) map = {30, 0, 0, 30, 1, 1};  // overflows, then 0 * infinity
  drawn.placing = {0, 3, 0, 3};
  const Walk by = {16, 60, 1600, 1, 1};
  EXPECT_TRUE(walked(drawn, by, {5, 6}) == Cells(kSide * kSide));
}

/// Splits the walkers among the threads of a team.
struct Painter {
  Drawn drawn;
  Walk by;
  std::uint32_t* out;

  template <class Team>
  void operator()(Team& team, std::int64_t i) const {
    std::uint32_t* const cells = out + i * kSide * kSide;
    walk(team.rank(), team.size(), drawn.system, by, drawn.placing, kSide, kSide,
         {5, static_cast<std::uint64_t>(i)},
         [&](std::int32_t cell, std::uint32_t value) { team.atomic_max(&cells[cell], value); });
  }
};

TEST(IfsSystem, GivesEqualCanvasesForAnyTeamSize) {
  const Drawn drawn(3);
  const Walk by = {100, 8, 2000, drawn.window.point_x, drawn.window.point_y};
  Cells cells(2 * kSide * kSide);
  test::expect_equal_for_all_team_sizes(Painter{drawn, by, cells.data()}, 2, {128, 0},
                                        {test::bytes_of(cells)});
  EXPECT_GT(std::count_if(cells.begin(), cells.end(), [](auto c) { return c != 0; }), 500);
}

double fill_of(const Cells& cells) {
  const auto hit = std::count_if(cells.begin(), cells.end(), [](auto c) { return c != 0; });
  return static_cast<double>(hit) / static_cast<double>(cells.size());
}

/// Student's t for the difference in filling rate between many walkers and one chain that starts at
/// the origin, over 12 categories with 6 pictures each.
double walkers_against_a_chain(int burn_in) {
  std::vector<double> differences;
  for (std::int64_t k = 0; k < 12; ++k) {
    const Drawn drawn(k);
    for (std::uint64_t i = 0; i < 6; ++i) {
      const Walk many = {256, burn_in, 3000, drawn.window.point_x, drawn.window.point_y};
      const Walk one = {1, 0, 3000, 0, 0};
      differences.push_back(fill_of(walked(drawn, many, {7, i})) -
                            fill_of(walked(drawn, one, {8, i})));
    }
  }
  const test::Moments m = test::moments(differences);
  return m.mean / std::sqrt(m.variance / static_cast<double>(m.count - 1));
}

// With 72 differences (71 degrees of freedom), |t| exceeds 5.4 once in a million. Each walker draws
// 12 points, so without enough burn-in these points still show their common start.
TEST(IfsSystem, ManyWalkersMatchOneChain) {
  EXPECT_LT(std::abs(walkers_against_a_chain(32)), 5.4);
  EXPECT_GT(std::abs(walkers_against_a_chain(0)), 5.4) << "the test must detect a missing burn-in";
}

TEST(IfsSystem, ChoosesMapsByTheirProbabilities) {
  const std::uint32_t upto[kMaxMaps] = {100, 100, 40000, 65000, kSelectors, kSelectors, kSelectors};
  std::vector<int> count(kMaxMaps);
  for (std::uint32_t s = 0; s < kSelectors; ++s) ++count[static_cast<std::size_t>(map_of(upto, s))];
  EXPECT_EQ(count, (std::vector<int>{100, 0, 39900, 25000, 536, 0, 0}));
}

// The 2^16 values of half a word map to 511 masks, with 128 or 129 values per mask.
TEST(IfsSystem, DrawsNonemptyMasksUniformly) {
  std::vector<int> count(512);
  for (std::uint32_t word = 0; word < 65536; ++word) ++count[patch_mask(word | 0xabcd0000u)];
  EXPECT_EQ(count[0], 0);
  EXPECT_GE(*std::min_element(count.begin() + 1, count.end()), 128);
  EXPECT_LE(*std::max_element(count.begin() + 1, count.end()), 129);
}

}  // namespace
}  // namespace wellspring::ifs
