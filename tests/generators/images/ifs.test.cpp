#include "generators/images/ifs.h"

#include "tests/generators/images/canvas_places.h"
#include "tests/generators/images/ifs_painting.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"
#include "tests/support/statistics.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ranges>
#include <string>
#include <vector>

namespace wellspring {
namespace {

/// Five categories, shared by the tests because they take time to compute.
const ifs::CategoryTable& five() {
  static const ifs::CategoryTable table = ifs::make_categories({}, 5, 1);
  return table;
}

Ifs with_five(Ifs::Params params = {}) {
  params.categories = 5;
  Ifs functor(params);
  functor.read({five().categories.data(), five().windows.data(), nullptr});
  return functor;
}

TEST(Ifs, LightsPixelsAndColoursThemByCount) {
  constexpr int kSide = 40;
  Ifs::Params params;
  params.stamp = Ifs::Stamp::point;
  params.palette = Ifs::Palette::colour;
  const test::PaintedIfs painted(with_five(params), 1, kSide);
  int lit = 0;
  for (int p = 0; p < kSide * kSide; ++p) {
    const int x = p % kSide, y = p / kSide;
    const std::uint32_t cell =
        painted.cells[static_cast<std::size_t>((y + 1) * (kSide + 2) + x + 1)];
    const Rgb c = painted.at(x, y), want = cell == 0 ? Rgb{} : Ifs::hue_of((cell >> 9) - 1);
    ASSERT_TRUE(c.r == want.r && c.g == want.g && c.b == want.b);
    lit += cell != 0 ? 1 : 0;
  }
  EXPECT_GT(lit, 20);
}

// A covered pixel is lit with probability 256/511, because the empty mask is excluded. It is nearly
// independent of its right neighbour: the correlation is -1/511 within a patch. Tolerances are 4.9
// standard deviations for that many independent pixels, which is exceeded once in a million.
TEST(Ifs, LightsHalfOfThePatches) {
  constexpr int kSide = 64;
  double covered = 0, lit = 0, pairs = 0, both = 0;
  for (std::uint64_t sample = 0; sample < 150; ++sample) {
    const test::PaintedIfs painted(with_five(), sample, kSide);
    const auto covers = [&](int x, int y) {
      for (int i = 0; i < 9; ++i) {
        const int cell = (y + i / 3) * (kSide + 2) + x + i % 3;
        if (painted.cells[static_cast<std::size_t>(cell)] != 0) return true;
      }
      return false;
    };
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        if (!covers(x, y)) continue;
        const bool on = painted.at(x, y).g > 0;
        covered += 1;
        lit += on ? 1 : 0;
        if (x + 1 == kSide || !covers(x + 1, y)) continue;
        const bool next = painted.at(x + 1, y).g > 0;
        pairs += 1;
        both += (on ? 1 : -1) * (next ? 1 : -1);
      }
    }
  }
  ASSERT_GT(covered, 100000);
  EXPECT_NEAR(lit / covered, 256.0 / 511, 4.9 * 0.5 / std::sqrt(covered));
  EXPECT_NEAR(both / pairs, -0.001, 0.001 + 4.9 / std::sqrt(pairs));
}

TEST(Ifs, DrawsInstancesUniformly) {
  for (const bool keep : {false, true}) {
    Ifs::Params params;
    params.keep_degenerate = keep;
    params.patches = 10;
    const Ifs functor = with_five(params);
    std::vector<double> labels(5), flips(4), drawings(10);
    std::vector<std::vector<double>> variations(5, std::vector<double>(ifs::kVariations));
    for (std::uint64_t sample = 0; sample < 20000; ++sample) {
      Truth<Ifs::kLatents> truth;
      functor.draw({{3, sample}, {}, {32, 32, 3}}, truth);
      const auto k = static_cast<std::size_t>(truth.label);
      labels[k] += 1;
      variations[k][static_cast<std::size_t>(truth.latents[0])] += 1;
      drawings[static_cast<std::size_t>(truth.latents[1])] += 1;
      flips[static_cast<std::size_t>(truth.latents[2] + 2 * truth.latents[3])] += 1;
    }
    EXPECT_GT(test::uniform_chi_square_p(labels), test::kGate);
    EXPECT_GT(test::uniform_chi_square_p(drawings), test::kGate);
    EXPECT_GT(test::uniform_chi_square_p(flips), test::kGate);
    std::size_t all = 0;
    for (std::size_t k = 0; k < 5; ++k) {
      const ifs::Category& category = five().categories[k];
      std::vector<double> usable;
      for (int v = 0; v < ifs::kVariations; ++v) {
        const bool is =
            std::count(category.variation, category.variation + category.usable, v) == 1;
        const double count = variations[k][static_cast<std::size_t>(v)];
        if (is || keep) usable.push_back(count);
        if (!is && !keep) {
          EXPECT_EQ(count, 0) << "a degenerate variation was drawn";
        }
      }
      EXPECT_GT(test::uniform_chi_square_p(usable), test::kGate);
      all += usable.size();
    }
    EXPECT_EQ(all == 5 * ifs::kVariations, keep) << "a category must have degenerate variations";
  }
}

TEST(Ifs, RepeatsOnlyNumberedDrawings) {
  for (const int patches : {0, 1}) {
    Ifs::Params params;
    params.patches = patches;
    params.categories = 1;
    const Ifs functor = [&] {
      Ifs one(params);
      one.read({five().categories.data(), five().windows.data(), nullptr});
      return one;
    }();
    const test::PaintedIfs first(functor, 0, 32);
    int equal = 0;
    for (std::uint64_t sample = 1; sample < 2000 && equal == 0; ++sample) {
      const test::PaintedIfs other(functor, sample, 32);
      if (!std::equal(other.truth.latents, other.truth.latents + 4, first.truth.latents)) continue;
      EXPECT_EQ(other.picture() == first.picture(), patches == 1);
      ++equal;
    }
    EXPECT_EQ(equal, 1);
  }
}

TEST(Ifs, HasThePublishedDensityOfPoints) {
  EXPECT_EQ(Ifs::points_by_size(362, 1), 200000);
  EXPECT_EQ(Ifs::points_by_size(224, 1), 76579);   // 200,000 (224/362)^2 = 76,578.9
  EXPECT_EQ(Ifs::points_by_size(32, 1), 1563);     // 1562.8
  EXPECT_EQ(Ifs::points_by_size(181, 2), 200000);  // only half of the picture is visible
}

// Uses 42 x 42 cells, bf16 and f32, directly and through a view, with teams of 7 threads.
TEST(Ifs, GivesEqualImagesInScratchAndInThePlan) {
  Ifs::Params params;
  params.walkers = 600;  // gives two teams per sample if the cells are in planned memory
  test::expect_equal_in_both_places(
      with_five(params), 0, std::size_t{1} << 17, [](const test::HostBatch& batch) {
        EXPECT_GT(std::ranges::count_if(batch.x(), [](float v) { return v > 0; }), 300);
      });
}

// Rows of 8 and 32 pixels must equal single pixels: in plain images, in mirrored images and in
// reads between pixels.
TEST(Ifs, RowsMatchSinglePixels) {
  constexpr int kSide = 70;
  Ifs::Params params;
  params.palette = Ifs::Palette::colour;
  const test::PaintedIfs painted(with_five(params), 2, kSide);
  const auto shaded = [&](float x, float y, float step) {
    PixelRun<32> run{};
    for (int i = 0; i < 32; ++i) {
      run.x[i] = x + step * static_cast<float>(i);
      run.y[i] = y;
    }
    ColourRun<32> colour;
    painted.functor.shade(painted.scene, painted.cells.data(), run, colour);
    return colour;
  };
  for (int y = -1; y <= kSide; ++y) {
    const float row = static_cast<float>(y) + 0.5f;
    for (const int x : {-3, 0, 9, 38, 39}) {
      const float column = static_cast<float>(x) + 0.5f;
      const auto as_is = shaded(column, row, 1), mirrored = shaded(column + 31, row, -1);
      const auto between = shaded(column + 0.25f, row, 1);
      for (int i = 0; i < 32; ++i) {
        const Rgb here = painted.at(x + i, y), next = painted.at(x + i + 1, y);
        ASSERT_TRUE(as_is.r[i] == here.r && as_is.g[i] == here.g && as_is.b[i] == here.b);
        ASSERT_EQ(mirrored.g[31 - i], here.g);
        ASSERT_EQ(between.g[i], math::lerp(here.g, next.g, 0.25f));
      }
    }
  }
}

TEST(Ifs, RebuildsDamagedTables) {
  const test::TemporaryFolder folder;
  Ifs::Params params;
  params.categories = 2;
  std::vector<std::vector<float>> pictures;
  for (const char* const state : {"none", "stored", "damaged", "mended"}) {
    TableCache cache(folder.path());
    Ifs::Tables tables(params);
    if (std::string(state) == "damaged") {
      const auto file = *std::filesystem::directory_iterator(folder.path());
      std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary).seekp(200).put(1);
    }
    const auto notes = tables.prepare(cache);
    EXPECT_EQ(notes.empty(), std::string(state) != "damaged") << state;
    MemoryPlan memory(Device::cpu());
    tables.plan(memory);
    memory.commit();
    Stream stream(Device::cpu(), 1);
    tables.load(stream);
    Ifs functor(params);
    tables.bind(functor);
    pictures.push_back(test::PaintedIfs(functor, 4, 24).picture());
    EXPECT_EQ(pictures.back(), pictures.front()) << state;
  }
}

TEST(Ifs, RefusesTooLargeImages) {
  test::expect_parts(test::message_of(ErrorKind::config,
                                      [] {
                                        Ifs({}).cells({32, 2049, 3});
                                      }),
                     {"2049x32", "at most 2048"});
  EXPECT_LT(Ifs::points_by_size(2048, 1), ifs::kMostPoints);
}

}  // namespace
}  // namespace wellspring
