#include "generators/images/spectrum.h"

#include "generators/generator.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

/// The grids of one sample, as painted.
struct Painted {
  Spectrum::Scene scene;
  Truth<Spectrum::kLatents> truth;
  int side;
  std::vector<fft::Cell> cells;

  Painted(const Spectrum::Params& params, std::uint64_t sample, int size) {
    const Spectrum functor(params);
    Augmentation view;
    scene = functor.draw({{9, sample}, {}, {size, size, 3}}, view, truth);
    side = 1 << scene.log_side;
    cells.resize(static_cast<std::size_t>(functor.cells({size, size, 3})));
    SoloTeam team({nullptr, 0, 0});
    functor.paint(team, scene, 0, cells.data());
  }
};

Spectrum::Params with(Spectrum::Palette palette) {
  Spectrum::Params params;
  params.palette = palette;
  return params;
}

// Teams of any size that paint through tiles in scratch memory give the same bits as a single
// thread, both with the scratch that paint_scratch() asks for and with less.
TEST(Spectrum, TilesGiveTheBitsOfALoneTeam) {
  for (const auto palette : {Spectrum::Palette::correlated, Spectrum::Palette::grey}) {
    for (const int size : {16, 32, 64, 128, 256, 512, 1024}) {
      if (size > 256 && palette == Spectrum::Palette::grey) continue;
      const Spectrum functor(with(palette));
      const SampleShape shape{size, size, 3};
      const std::size_t wanted = functor.paint_scratch(shape);
      const Painted lone(with(palette), 7, size);
      for (const auto& [members, bytes] :
           {std::pair{7, wanted}, {1, wanted}, {32, wanted / 2}, {256, wanted / 4 * 3}}) {
        if (size > 128 && members > 7) continue;
        std::vector<fft::Cell> cells(lone.cells.size(), 0xCDCDCDCD);
        const std::size_t scratch = bytes / 16 * 16;
        test::run_thread_league(1, members, scratch + 16,
                                [&](test::ThreadTeam& team, std::int64_t) {
                                  functor.paint(team, lone.scene, scratch, cells.data());
                                });
        // The grids and their range; a team of one keeps its tables after them.
        const auto compared = static_cast<std::ptrdiff_t>(functor.fields() * size * size + 2);
        EXPECT_TRUE(std::equal(cells.begin(), cells.begin() + compared, lone.cells.begin()))
            << size << ", " << members << " members, " << bytes << " bytes";
      }
    }
  }
}

// The value halfway between two pixel centres is the mean of their values, even across the border
// of the periodic grid.
TEST(Spectrum, ReadsBilinearlyAndPeriodically) {
  const Spectrum functor(with(Spectrum::Palette::grey));
  Painted p(with(Spectrum::Palette::grey), 2, 16);
  const auto shown = [&](float x, float y, bool on_grid) {
    p.scene.on_grid = on_grid;
    PixelRun<1> run{{x}, {y}, 1, 0, 0};
    ColourRun<1> colour;
    functor.shade(p.scene, p.cells.data(), run, colour);
    return static_cast<double>(colour.r[0]);
  };
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x) {
      const float cx = static_cast<float>(x) + 0.5f, cy = static_cast<float>(y) + 0.5f;
      const double here = shown(cx, cy, true);
      EXPECT_NEAR(shown(cx, cy, false), here, 1e-6);
      EXPECT_EQ(shown(cx - 16, cy + 32, true), here);
      const double right = shown(x == 15 ? 0.5f : cx + 1, cy, true);
      const double below = shown(cx, y == 15 ? 0.5f : cy + 1, true);
      EXPECT_NEAR(shown(cx + 0.5f, cy, false), (here + right) / 2, 1e-6);
      EXPECT_NEAR(shown(cx, cy + 0.25f, false), 0.75 * here + 0.25 * below, 1e-6);
    }
  }
}

TEST(Spectrum, RefusesImpossibleParameters) {
  const auto refused = [](std::vector<ParamSetting> settings) {
    return test::message_of(ErrorKind::config, [&] { make_generator("spectrum", 32, settings); });
  };
  test::expect_parts(refused({{"slope_low", "3.8", {}}}),
                     {"slope_low = 3.8 is larger", "slope_high: 3.8 or more"});
  test::expect_parts(refused({{"tilt", "0.1", {}}}), {"tilt = 0.1 is too wide", "tilt: 0.087"});
  test::expect_parts(refused({{"tilt", "0", {}}}), {"tilt_cells: 1"});
  test::expect_parts(refused({{"slope_high", "0.5", {}}}), {"slope_cells: 1"});
}

}  // namespace
}  // namespace wellspring
