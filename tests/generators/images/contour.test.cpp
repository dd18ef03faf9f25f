#include "generators/images/contour.h"

#include "generators/functor_generator.h"
#include "generators/images/rcdb.h"
#include "generators/images/visual_atom.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"
#include "tests/support/team_launcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace wellspring {
namespace {

/// Draws lines directly, pixel by pixel.
struct Picture {
  int width, height;
  std::vector<int> texels;

  Picture(int w, int h, int background)
      : width(w),
        height(h),
        texels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), background) {}
  void put(int x, int y, int shade) {
    if (x >= 0 && x < width && y >= 0 && y < height) {
      texels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
             static_cast<std::size_t>(x)] = shade;
    }
  }
  /// Bresenham's line in its usual form, without the last pixel.
  void line(int x, int y, int x_end, int y_end, int shade) {
    const int dx = std::abs(x_end - x), dy = std::abs(y_end - y);
    const int sx = x_end < x ? -1 : 1, sy = y_end < y ? -1 : 1;
    if (dx > dy) {
      int error = 2 * dy - dx;
      for (int i = 0; i < dx; ++i) {
        put(x, y, shade);
        if (error >= 0) {
          y += sy;
          error -= 2 * dx;
        }
        error += 2 * dy;
        x += sx;
      }
    } else {
      int error = 2 * dx - dy;
      for (int i = 0; i < std::max(dy, 1); ++i) {
        put(x, y, shade);
        if (error >= 0) {
          x += sx;
          error -= 2 * dy;
        }
        error += 2 * dx;
        y += sy;
      }
    }
  }
};

constexpr int kLines = 5;

/// Draws lines of shade 9, N lines at once.
template <int N>
void draw_lines(const std::vector<std::uint32_t>& from, const std::vector<std::uint32_t>& to,
                int width, const Band& band, std::vector<std::uint8_t>& texels) {
  for (std::size_t l = 0; l < from.size(); l += N) {
    std::uint32_t a[N] = {}, b[N] = {};
    const std::size_t lines = std::min<std::size_t>(N, from.size() - l);
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(l), lines, a);
    std::copy_n(to.begin() + static_cast<std::ptrdiff_t>(l), lines, b);
    contour::draw_lines<N>(a, b, static_cast<std::int32_t>(lines), 9, width, band, texels.data());
  }
}

// Lines inside, across and far beyond a picture must match the reference drawing, in one band and
// in three, drawn one at a time or several at once.
TEST(Contour, DrawsClippedBresenhamLines) {
  constexpr int kWidth = 37, kHeight = 29, kBands = 3, kRows = 10;
  std::mt19937 random(3);
  int drawn = 0;
  for (int i = 0; i < 1500; ++i) {
    Picture plain(kWidth, kHeight, 0);
    std::vector<std::uint32_t> from, to;
    for (int line = 0; line < kLines; ++line) {
      const int kind = i + line;
      const int reach = kind % 3 == 0 ? 30 : (kind % 3 == 1 ? 100 : 16000);
      const auto coordinate = [&](int size) {
        return std::uniform_int_distribution<int>(-reach, size + reach / 2)(random);
      };
      int x[2] = {coordinate(kWidth), coordinate(kWidth)};
      int y[2] = {coordinate(kHeight), coordinate(kHeight)};
      if (kind % 7 == 0) x[1] = x[0];
      if (kind % 11 == 0) y[1] = y[0];
      if (kind % 4 == 0)
        x[0] = static_cast<int>(random() % kWidth), y[0] = static_cast<int>(random() % kHeight);
      plain.line(x[0], y[0], x[1], y[1], 9);
      const auto word = [&](int end) {
        return contour::pixel_word(static_cast<float>(x[end]) + 0.5f,
                                   static_cast<float>(y[end]) + 0.5f);
      };
      from.push_back(word(0));
      to.push_back(word(1));
    }
    for (const int bands : {1, kBands}) {
      const int rows = bands == 1 ? kHeight : kRows;
      for (int b = 0; b < bands; ++b) {
        const Band band = {b * rows, std::min(rows, kHeight - b * rows), Band::pitch_of(kWidth)};
        for (const int together : {1, 2, 8}) {
          std::vector<std::uint8_t> texels(static_cast<std::size_t>(band.rows * band.pitch));
          if (together == 1) draw_lines<1>(from, to, kWidth, band, texels);
          if (together == 2) draw_lines<2>(from, to, kWidth, band, texels);
          if (together == 8) draw_lines<8>(from, to, kWidth, band, texels);
          for (int row = 0; row < band.rows; ++row) {
            for (int column = 0; column < band.pitch; ++column) {
              const bool inside = column < kWidth;
              const std::size_t p = static_cast<std::size_t>((band.y0 + row) * kWidth + column);
              const int expected = inside ? plain.texels[p] : 0;
              ASSERT_EQ(texels[static_cast<std::size_t>(row * band.pitch + column)], expected)
                  << "lines of round " << i << ", " << together << " at once, at " << column << ","
                  << band.y0 + row;
              drawn += expected != 0 && bands == 1 ? 1 : 0;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(drawn, 5000);
}

// Paints whole pictures in planned and in scratch memory, and in bands of rows, with teams of
// several threads, directly and through a view that reaches beyond the picture.
template <class F>
void expect_equal_places(typename F::Params params) {
  const SampleShape shape = {33, 45, 3};
  const std::vector<Slot> slots = {{3, 3, 0, 0}, {4, 9, 0, 1}, {900, 5, 0, 2}};
  params.vertices_high = 220;
  params.orbits_high = 30;
  F functor(params);
  functor.read(contour::noise_knots());
  SampleLayout layout = SampleLayout::image(shape);
  layout.latents = F::kLatents;
  for (const bool warped : {false, true}) {
    EmitCall call;
    call.slots = slots.data();
    call.seed = 21;
    call.augmentation =
        test::plan_of(warped ? "augment: [rotate: 30, zoom: [0.6, 1.5]]" : "", shape);
    std::unique_ptr<test::HostBatch> first_batch;
    const std::size_t others =
        functor.band_scratch(shape) + sizeof(detail::TexelBlock) + detail::drawn_scratch<F>();
    for (const auto& [room, bands] : std::vector<std::pair<std::size_t, int>>{
             {0, 0}, {99 * 1024, 1}, {others + 48 * 11, 3}, {others + 48 * 17, 2}}) {
      BandEmitter<F> stage;
      MemoryPlan memory(Device::cpu());
      stage.plan(memory, "test", 3, functor, shape, room, shape.height);
      memory.commit();
      ASSERT_EQ(stage.bands(), bands);
      auto batch = std::make_unique<test::HostBatch>(3, layout);
      call.batch = batch->view();
      stage.emit(test::TeamLauncher{bands == 0 ? 1 : 5}, "test", functor, shape, call);
      if (!first_batch)
        first_batch = std::move(batch);
      else
        EXPECT_TRUE(*batch == *first_batch) << bands << " bands";
    }
  }
}
TEST(Contour, BandsDoNotChangePictures) {
  expect_equal_places<VisualAtom>({});
  expect_equal_places<Rcdb>({});
}

// A picture that fits in a thread's scratch memory is one band; a larger one has no bands.
TEST(Contour, HostsUseOneBandOrNone) {
  for (const auto& [side, bands] : std::map<int, int>{{512, 1}, {1024, 0}}) {
    MemoryPlan memory(Device::cpu());
    BandEmitter<Rcdb> stage;
    stage.plan(memory, "test", 2, Rcdb({}), {side, side, 3}, kHostScratchBytes, 1);
    EXPECT_EQ(stage.bands(), bands);
    EXPECT_EQ(memory.reservations().size(), bands == 1 ? 1u : 2u);
  }
}

// Reads values between pixels, and beyond the border, where the background colour continues.
TEST(Contour, InterpolatesBetweenPixels) {
  Rcdb functor({});
  contour::Scene scene{};
  scene.width = 40;
  scene.height = 2;
  std::vector<std::uint8_t> texels(2 * 48);
  for (std::size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<std::uint8_t>(i * 2);
  const auto shown = [&](float x, float y, float step) {
    PixelRun<8> run{};
    run.in_step = step == 1;
    for (int i = 0; i < 8; ++i) {
      run.x[i] = x + step * static_cast<float>(i);
      run.y[i] = y;
    }
    ColourRun<8> colour;
    functor.shade(scene, texels.data(), run, colour);
    EXPECT_TRUE(colour.grey);
    return std::vector<float>(colour.r, colour.r + 8);
  };
  const auto value = [](double texel) { return static_cast<float>(texel / 255); };
  for (int i = 0; i < 8; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_FLOAT_EQ(shown(4.5f, 1.5f, 1)[at], value(96 + 8 + 2 * i));
    EXPECT_FLOAT_EQ(shown(11.5f, 1.5f, -1)[at], value(96 + 22 - 2 * i));
    EXPECT_FLOAT_EQ(shown(4.75f, 0.5f, 1)[at], value(8.5 + 2 * i));
    EXPECT_FLOAT_EQ(shown(4.5f, 1.0f, 1)[at], value(48 + 8 + 2 * i));
    EXPECT_FLOAT_EQ(shown(36.5f, 0.5f, 1)[at], value(i < 4 ? 72 + 2 * i : 255));
    EXPECT_FLOAT_EQ(shown(4.5f, -0.5f, 1)[at], 1);
  }
}

TEST(Contour, RefusesImpossibleParameters) {
  const auto refused = [](auto make) { return test::message_of(ErrorKind::config, make); };
  test::expect_parts(refused([] {
                       VisualAtom({}).band_scratch({32, 4097, 3});
                     }),
                     {"4097x32", "at most 4096"});
  VisualAtom::Params atom;
  atom.vertices_low = 300;
  atom.vertices_high = 200;
  test::expect_parts(refused([&] { VisualAtom{atom}; }),
                     {"vertices_low = 300 is larger than vertices_high = 200"});
  Rcdb::Params radial;
  radial.noise_low = 5;
  test::expect_parts(refused([&] { Rcdb{radial}; }),
                     {"noise_low = 5 is larger", "noise_high: 5 or more"});
}

}  // namespace
}  // namespace wellspring
