#include "generators/images/contour.h"

#include "generators/functor_generator.h"
#include "generators/images/rcdb.h"
#include "generators/images/visual_atom.h"
#include "tests/generators/collect.h"
#include "tests/generators/images/contour_reference.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"
#include "tests/support/statistics.h"
#include "tests/support/team_launcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

namespace wellspring {
namespace {

// Perlin's permutation (SIGGRAPH 2002): the low four bits of its 256 numbers. One-dimensional noise
// needs no more.
constexpr std::string_view kPermutation =
    "709baf3d9f052971c47e5e83505a7e6478ab0a5eecbb53b09118d587e4d8b84f"
    "a576b0b6d2e73f5ac356c9c97e5846f619f118091c4b092984724cf644d6da30"
    "492acb5a636ef254feb3f0a16dcaf7a57882ca36d95b7bc9167d32cef1082908"
    "a614b221e20cf321131b9efb106f57ad84c0392df46eacdde23d883d03e27dc4";

/// Perlin's noise at one point, computed as in the published programs.
double perlin(double place) {
  const double cell = std::floor(place), x = place - cell;
  const auto dot = [](double at, double along) {
    const char digit = kPermutation[static_cast<std::size_t>(at) % 256];
    const int hash = digit <= '9' ? digit - '0' : digit - 'a' + 10;
    return (hash < 8 ? 1 + hash : -1) * along;
  };
  const double fade = x * x * x * (x * (x * 6 - 15) + 10);
  return 0.4 * std::lerp(dot(cell, x), dot(cell + 1, x - 1), fade);
}

// With 50,000 points the test detects a distance of 0.012. Perlin's own gradients, which have both
// signs, would give a distance of 0.1.
TEST(Contour, NoiseHasThePublishedDistribution) {
  std::vector<double> table;
  double sum = 0, square = 0;
  for (std::uint32_t half = 0; half < 65536; ++half) {
    table.push_back(contour::noise_value(contour::noise_knots(), half));
    ASSERT_EQ(table.back(), test::noise_of(half));
    ASSERT_TRUE(half == 0 || table[half - 1] <= table[half]);
    sum += table.back();
    square += table.back() * table.back();
  }
  // Moments of pnoise1, computed in double precision at 512 points per cell.
  EXPECT_NEAR(sum / 65536, 0, 2e-5);
  EXPECT_NEAR(std::sqrt(square / 65536), 0.32903, 5e-5);
  EXPECT_NEAR(table.front(), -0.95205, 3e-4);
  EXPECT_NEAR(table.back(), 0.95205, 3e-4);

  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> place(0, 256);
  std::vector<double> values;
  for (int i = 0; i < 50000; ++i) values.push_back(perlin(place(random)));
  const auto cdf = [&](double value) {
    const auto above = std::lower_bound(table.begin(), table.end(), value);
    return static_cast<double>(above - table.begin()) / 65536;
  };
  EXPECT_GT(test::kolmogorov_p(values, cdf), test::kGate);
}

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
// in three, drawn singly or several at once.
TEST(Contour, DrawsClippedBresenhamLines) {
  constexpr int kWidth = 37, kHeight = 29, kBands = 3, kRows = 10;
  std::mt19937 random(3);
  int drawn = 0;
  for (int i = 0; i < 1500; ++i) {
    test::Picture plain(kWidth, kHeight, 0);
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

template <class F>
void expect_plain_pictures(const typename F::Params& params, int height, int width,
                           std::uint64_t first, int count, int background) {
  const SampleShape shape = {height, width, 3};
  FunctorGenerator<F> generator(params, shape);
  const auto samples = test::collect(generator, {9, first, static_cast<std::uint64_t>(count)},
                                     {Device::cpu(), count});
  const F functor(params);
  for (int i = 0; i < count; ++i) {
    Truth<F::kLatents> truth;
    const SampleRng rng = {named_key(9, F::describe(params).name),
                           first + static_cast<std::uint64_t>(i)};
    const test::PlainContours plain(functor.draw({rng, {}, shape}, truth), background);
    const float* const image = samples.image(static_cast<std::size_t>(i));
    for (std::size_t p = 0; p < plain.picture.texels.size(); ++p) {
      const float expected = static_cast<float>(plain.picture.texels[p]) * (1.0f / 255);
      for (std::size_t c = 0; c < 3; ++c) {
        ASSERT_EQ(image[3 * p + c], expected)
            << height << "x" << width << ", sample " << first + static_cast<std::uint64_t>(i)
            << ", pixel " << p;
      }
    }
  }
}

// Each pixel shows the last orbit that covers it. Compares every pixel of some pictures with orbits
// drawn one after another, for the published ranges and several sizes.
TEST(Contour, PaintsOrbitsInOrder) {
  VisualAtom::Params atom;
  Rcdb::Params radial;
  atom.classes = radial.classes = 300;
  std::uint64_t first = 0;
  for (const int side : {16, 17, 97, 225}) {
    expect_plain_pictures<VisualAtom>(atom, side, side, first, 1, 0);
    expect_plain_pictures<Rcdb>(radial, side, side, first, 4, 255);
    first += 6;
  }
  expect_plain_pictures<VisualAtom>(atom, 40, 61, first, 1, 0);
  expect_plain_pictures<Rcdb>(radial, 77, 30, first, 3, 255);
  atom.vertices_high = 250;
  expect_plain_pictures<VisualAtom>(atom, 1024, 1024, first, 1, 0);
  expect_plain_pictures<Rcdb>(radial, 1023, 1023, first, 1, 255);
}

// Paints in planned memory, whole pictures in scratch memory, and in bands of rows, with teams of
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

// A thread's scratch memory holds the whole picture if it fits; otherwise there are no bands.
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
