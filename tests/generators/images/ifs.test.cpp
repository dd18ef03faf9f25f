#include "generators/images/ifs.h"

#include "tests/generators/images/canvas_places.h"
#include "tests/generators/images/ifs_painting.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
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

// Two teams of 7 threads, which share the cells of the box, find the same box as one team.
TEST(Ifs, FindsEqualBoxesInScratchAndInThePlan) {
  Ifs::Params params;
  params.walkers = 600;
  params.box = Ifs::Box::points;
  test::expect_equal_in_both_places(with_five(params), 0, std::size_t{1} << 17,
                                    [](const test::HostBatch&) {});
}

// One point per pixel and a margin of 4 of 40 pixels. The box includes the origin, so one of two
// opposite sides may have no point. The farthest point may round into the margin. The survey has
// more points, so its box is larger.
TEST(Ifs, FillsThePictureWithTheBoxOfItsPoints) {
  Ifs::Params params;
  params.stamp = Ifs::Stamp::point;
  params.margin = 0.1f;
  int unfilled = 0;
  for (const auto box : {Ifs::Box::survey, Ifs::Box::points}) {
    params.box = box;
    for (std::uint64_t i = 0; i < 60; ++i) {
      const test::PaintedIfs painted(with_five(params), i, 40);
      int outside = 0, near_sides = 0;
      for (int y = 0; y < 40; ++y)
        for (int x = 0; x < 40; ++x) {
          if (painted.at(x, y).r == 0) continue;
          outside += x < 3 || x > 36 || y < 3 || y > 36 ? 1 : 0;
          near_sides |= (x <= 4 ? 1 : 0) | (x >= 35 ? 2 : 0) | (y <= 4 ? 4 : 0) | (y >= 35 ? 8 : 0);
        }
      const bool filled = (near_sides & 3) != 0 && (near_sides & 12) != 0;
      if (box == Ifs::Box::survey) {
        unfilled += filled ? 0 : 1;
        continue;
      }
      EXPECT_EQ(outside, 0) << i;
      EXPECT_TRUE(filled) << i;
    }
  }
  EXPECT_GT(unfilled, 5);
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
