#include "core/error.h"
#include "kernels/canvas.h"
#include "kernels/emission/stage.h"
#include "kernels/view_params.h"
#include "tests/kernels/emission_functors.h"
#include "tests/support/host_batch.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace wellspring {
namespace {

using test::Coordinates;

template <class T = float, class F>
std::vector<T> emit(const F& functor, SampleShape looked_at, SampleShape shape,
                    const ViewSpec& view, std::int64_t count = 1, std::uint64_t first = 0) {
  const test::HostBatch batch(count, SampleLayout::image(shape), DTypeOf<T>::value);
  std::vector<Slot> slots(static_cast<std::size_t>(count));
  for (std::uint32_t i = 0; i < slots.size(); ++i) slots[i] = {first + i, first + i, 0, i};
  Stream stream(Device::cpu(), 1);
  MemoryPlan memory(Device::cpu());
  Stage<F> stage;
  stage.plan(memory, "test", count, functor, looked_at);
  memory.commit();
  stage.emit(stream, "test", functor, looked_at, {slots.data(), 0, 5, view, batch.view()});
  const auto x = batch.x<T>();
  return {x.begin(), x.end()};
}

View drawn(const ViewSpec& spec, SampleShape shape, std::uint64_t sample = 0) {
  return draw_view(spec, shape, shape, {5, sample});
}

TEST(Emission, IdentityLooksAtPixelCentres) {
  for (const int width : {1, 7, 31, 32, 33, 100}) {
    const SampleShape shape = {5, width, 3};
    const auto x = emit(Coordinates{}, shape, shape, {});
    for (int row = 0; row < 5; ++row) {
      for (int column = 0; column < width; ++column) {
        const float* const p = &x[static_cast<std::size_t>(row * width + column) * 3];
        ASSERT_EQ(p[0], static_cast<float>(column) + 0.5f);
        ASSERT_EQ(p[1], static_cast<float>(row) + 0.5f);
        ASSERT_EQ(p[2], 1.f);
      }
    }
  }
}

TEST(Emission, FlipsReverseExactly) {
  const SampleShape shape = {6, 37, 3};
  ViewSpec view;
  view.flip_x = 1;
  view.flip_y = 1;
  const auto flipped = emit(Coordinates{}, shape, shape, view);
  auto plain = emit(Coordinates{}, shape, shape, {});
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column < 37; ++column) {
      const auto at = [](int r, int c) { return static_cast<std::size_t>(r * 37 + c) * 3; };
      ASSERT_EQ(flipped[at(row, column)], plain[at(5 - row, 36 - column)]);
      ASSERT_EQ(flipped[at(row, column) + 1], plain[at(5 - row, 36 - column) + 1]);
    }
  }
}

TEST(Emission, ShiftsAreWholePixelsAndCropTheFormula) {
  const SampleShape shape = {16, 24, 3};
  ViewSpec view;
  view.shift = 0.25f;
  bool moved = false;
  for (std::uint64_t sample = 0; sample < 20; ++sample) {
    const View v = drawn(view, shape, sample);
    const float dx = v.origin_x - 12, dy = v.origin_y - 8;
    ASSERT_EQ(dx, std::round(dx));
    ASSERT_LE(std::abs(dx), 6);
    ASSERT_LE(std::abs(dy), 4);
    ASSERT_TRUE(v.on_grid);
    moved |= dx != 0 && dy != 0;
    const auto x = emit(Coordinates{}, shape, shape, view, 1, sample);
    ASSERT_EQ(x[0], 0.5f + dx);
    ASSERT_EQ(x[1], 0.5f + dy);
    ASSERT_EQ(x[x.size() - 3], 23.5f + dx);
  }
  EXPECT_TRUE(moved);
}

TEST(Emission, PixelsDoNotDependOnTheLengthOfTheRun) {
  ViewSpec spec;
  spec.rotate = 1;
  spec.zoom_low = 0.5f;
  spec.zoom_high = 2;
  const View view = drawn(spec, {64, 64, 3});
  const PixelTile tile = {0, 0, 64, 64};
  const auto run = detail::place_run<32>(view, tile, 32, 9);
  for (int i = 0; i < 32; ++i) {
    const auto one = detail::place_run<1>(view, tile, 32 + i, 9);
    ASSERT_EQ(run.x[i], one.x[0]);
    ASSERT_EQ(run.y[i], one.y[0]);
    const float x = static_cast<float>(32 + i) + 0.5f;
    ASSERT_EQ(run.x[i], view.source_x(x, 9.5f));
    ASSERT_EQ(run.y[i], view.source_y(x, 9.5f));
  }
}

TEST(Emission, BytesDoNotDependOnTheTiling) {
  const SampleShape shape = {33, 41, 3};
  ViewSpec spec;
  spec.rotate = 0.4f;
  spec.erase = 9;
  const auto whole = emit(Coordinates{}, shape, shape, spec, 2);
  for (const auto& [width, height] : std::map<int, int>{{41, 1}, {32, 8}, {7, 33}, {1, 1}}) {
    const test::HostBatch batch(2, SampleLayout::image(shape));
    const std::vector<Slot> slots = {{0, 0, 0, 0}, {1, 1, 0, 1}};
    const Tiling tiling = Tiling::of(shape, width, height);
    std::vector<DrawnImage<Coordinates>> drawn_images(2);
    host::run_map(2, 1,
                  DrawImages<Coordinates>{Coordinates{}, slots.data(), 0, 5, spec, shape,
                                          batch.view(), drawn_images.data()});
    host::run_league(2 * tiling.count(), 1, {128, 1024},
                     PaintImages<Coordinates, float>{Coordinates{}, slots.data(), 0,
                                                     drawn_images.data(), batch.view(), tiling});
    ASSERT_TRUE(std::ranges::equal(batch.x(), whole)) << width << " x " << height;
  }
}

TEST(Emission, ColourOperationsMatchTheirFormulas) {
  const SampleShape shape = {8, 8, 3};
  ViewSpec spec;
  spec.brightness = 0.3f;
  spec.contrast = 0.5f;
  spec.saturation = 0.8f;
  for (int c = 0; c < 3; ++c) {
    spec.mean[c] = 0.3f + 0.1f * static_cast<float>(c);
    spec.inv_std[c] = 4.f - static_cast<float>(c);
  }
  const auto plain = emit(Coordinates{}, shape, shape, {});
  const auto coloured = emit(Coordinates{}, shape, shape, spec);
  // The same words as draw_view, in double.
  RngStream draw({5, 0}, Purpose::augment);
  for (int i = 0; i < 6; ++i) draw.next();
  const double brightness = (2.0 * draw.uniform() - 1) * 0.3f;
  const double contrast = 1 + (2.0 * draw.uniform() - 1) * 0.5;
  const double saturation = 1 + (2.0 * draw.uniform() - 1) * 0.8f;
  for (std::size_t i = 0; i < plain.size(); i += 3) {
    const double luma = 0.299 * plain[i] + 0.587 * plain[i + 1] + 0.114 * plain[i + 2];
    for (std::size_t c = 0; c < 3; ++c) {
      const double colour = luma + saturation * (plain[i + c] - luma);
      const double lit = 0.5 + contrast * (colour - 0.5) + brightness;
      const double expected = (lit - static_cast<double>(spec.mean[c])) * spec.inv_std[c];
      // A dozen f32 operations on values up to 8 (coordinates) times 4: 12 * 2^-24 * 64.
      ASSERT_NEAR(coloured[i + c], expected, 12 * 64 * 0x1p-24);
    }
  }
}

TEST(Emission, EraseSetsASquareToTheMean) {
  const SampleShape shape = {20, 20, 3};
  ViewSpec spec;
  spec.erase = 6;
  spec.mean[0] = 0.5f;
  int whole = 0;
  for (std::uint64_t sample = 0; sample < 50; ++sample) {
    const auto x = emit(Coordinates{}, shape, shape, spec, 1, sample);
    const View v = drawn(spec, shape, sample);
    ASSERT_EQ(v.erase_x1 - v.erase_x0, 6);
    ASSERT_EQ(v.erase_y1 - v.erase_y0, 6);
    int zeros = 0;
    for (int row = 0; row < 20; ++row) {
      for (int column = 0; column < 20; ++column) {
        const float* const p = &x[static_cast<std::size_t>(row * 20 + column) * 3];
        const bool inside =
            column >= v.erase_x0 && column < v.erase_x1 && row >= v.erase_y0 && row < v.erase_y1;
        ASSERT_EQ(p[0] == 0 && p[1] == 0 && p[2] == 0, inside);
        zeros += inside ? 1 : 0;
      }
    }
    whole += zeros == 36 ? 1 : 0;
    ASSERT_GE(zeros, 9) << "a centre in the image leaves a quarter at least";
  }
  EXPECT_GT(whole, 0);
}

TEST(Emission, OneChannelTakesTheFirst) {
  const auto x = emit(Coordinates{}, {4, 40, 1}, {4, 40, 1}, {});
  ASSERT_EQ(x.size(), 160u);
  EXPECT_EQ(x[41], 1.5f);
}

TEST(Emission, Bf16IsRoundedOnce) {
  const SampleShape shape = {4, 37, 3};
  ViewSpec spec;
  spec.rotate = 0.4f;
  const auto wide = emit(Coordinates{}, shape, shape, spec);
  const auto narrow = emit<bf16>(Coordinates{}, shape, shape, spec);
  for (std::size_t i = 0; i < wide.size(); ++i) ASSERT_EQ(narrow[i].bits, bf16(wide[i]).bits);
}

// ---- the view's laws ----------------------------------------------------------------------------

TEST(View, DefaultIsTheIdentity) {
  const View v = drawn({}, {32, 48, 3}, 77);
  EXPECT_EQ(v.m00, 1);
  EXPECT_EQ(v.m01, 0);
  EXPECT_EQ(v.m10, 0);
  EXPECT_EQ(v.m11, 1);
  EXPECT_EQ(v.source_x(0.5f, 0.5f), 0.5f);
  EXPECT_EQ(v.source_y(47.5f, 31.5f), 31.5f);
  EXPECT_EQ(v.gain[1], 1);
  EXPECT_EQ(v.bias[1], 0);
  EXPECT_EQ(v.saturation, 1);
  EXPECT_EQ(v.erase_x1, 0);
  EXPECT_TRUE(v.on_grid);
}

TEST(View, RangesAreReachedAndKept) {
  const SampleShape shape = {40, 40, 3};
  ViewSpec spec;
  spec.flip_x = 0.3f;
  spec.shift = 0.1f;
  spec.zoom_low = 0.5f;
  spec.zoom_high = 2;
  spec.rotate = 0.7f;
  constexpr int kCount = 20000;
  int mirrored = 0;
  std::vector<double> shifts(9), zoom, angle;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const View v = drawn(spec, shape, i);
    const double determinant = double{v.m00} * v.m11 - double{v.m01} * v.m10;
    mirrored += determinant < 0 ? 1 : 0;
    shifts[static_cast<std::size_t>(v.origin_x - 20 + 4)] += 1;
    zoom.push_back(std::log2(1 / static_cast<double>(v.footprint)));
    angle.push_back(std::atan2(-v.m01, v.m11));  // not touched by a mirror of x
    // The columns are orthogonal and as long as the footprint, to rounding.
    ASSERT_NEAR(v.m00 * v.m01 + v.m10 * v.m11, 0, 1e-6);
    ASSERT_NEAR(std::hypot(v.m00, v.m10), v.footprint, 1e-6);
    ASSERT_FALSE(v.on_grid);
  }
  EXPECT_GT(test::normal_p((mirrored - 0.3 * kCount) / std::sqrt(kCount * 0.3 * 0.7)), test::kGate);
  EXPECT_GT(test::uniform_chi_square_p(shifts), test::kGate);
  EXPECT_GT(test::kolmogorov_p(zoom, [](double z) { return std::clamp((z + 1) / 2, 0., 1.); }),
            test::kGate);
  EXPECT_GT(test::kolmogorov_p(angle, [](double a) { return std::clamp((a + 0.7) / 1.4, 0., 1.); }),
            test::kGate);
}

TEST(View, MirrorsHappenAsOftenAsAskedFor) {
  ViewSpec spec;
  spec.flip_x = 0.3f;
  spec.flip_y = 0.6f;
  constexpr int kCount = 20000;
  std::vector<double> counts(4, 0);  // neither, x, y, both
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const View v = drawn(spec, {40, 40, 3}, i);
    counts[(v.m00 < 0 ? 1 : 0) + (v.m11 < 0 ? 2 : 0)] += 1;
  }
  const double expected[] = {0.7 * 0.4, 0.3 * 0.4, 0.7 * 0.6, 0.3 * 0.6};  // independent
  for (std::size_t k = 0; k < 4; ++k) {
    const double p = expected[k], deviation = std::sqrt(kCount * p * (1 - p));
    EXPECT_GT(test::normal_p((counts[k] - p * kCount) / deviation), test::kGate) << k;
  }
}

TEST(View, ErasedSquaresAreCentredAnywhere) {
  ViewSpec spec;
  spec.erase = 6;
  std::vector<double> columns(40, 0), rows(40, 0);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const View v = drawn(spec, {40, 40, 3}, i);
    columns[static_cast<std::size_t>(v.erase_x0 + 3)] += 1;
    rows[static_cast<std::size_t>(v.erase_y0 + 3)] += 1;
  }
  EXPECT_GT(test::uniform_chi_square_p(columns), test::kGate);
  EXPECT_GT(test::uniform_chi_square_p(rows), test::kGate);
}

TEST(View, SwitchingOneOperationOnMovesNoOther) {
  const SampleShape shape = {40, 40, 3};
  ViewSpec some;
  some.shift = 0.2f;
  some.rotate = 0.5f;
  ViewSpec more = some;
  more.flip_x = 1;
  more.brightness = 0.4f;
  more.erase = 5;
  const View a = drawn(some, shape, 3), b = drawn(more, shape, 3);
  EXPECT_EQ(a.origin_x, b.origin_x);
  EXPECT_EQ(a.origin_y, b.origin_y);
  EXPECT_EQ(a.m01, b.m01);
  EXPECT_EQ(a.m00, -b.m00);
}

TEST(View, CoversTheOutputFromALargerSource) {
  const View v = draw_view({}, {60, 80, 3}, {30, 30, 3}, {5, 0});
  EXPECT_EQ(v.footprint, 2);
  EXPECT_EQ(v.source_x(15, 15), 40);
  EXPECT_EQ(v.source_y(0, 0), 0);
  EXPECT_EQ(v.source_y(30, 30), 60);
  EXPECT_FALSE(v.on_grid);
}

TEST(ViewParams, BecomeASpec) {
  ViewParams params;
  const auto& table = view_table();
  table.set(params, "rotate", "90", {});
  table.set(params, "mean", "[0.1, 0.2, 0.3]", {});
  table.set(params, "std", "[0.5]", {});
  table.set(params, "padding", "edge", {});
  const ViewSpec spec = to_view_spec(params);
  EXPECT_FLOAT_EQ(spec.rotate, 1.5707964f);
  EXPECT_EQ(spec.mean[2], 0.3f);
  EXPECT_EQ(spec.inv_std[2], 2.f);
  EXPECT_EQ(spec.padding, Padding::edge);
  EXPECT_EQ(to_view_spec({}), ViewSpec{});
}

TEST(ViewParams, ContradictionsAreRefused) {
  ViewParams params;
  params.zoom_low = 2;
  EXPECT_THROW(to_view_spec(params), Error);
  params = {};
  params.mean = {0.1, 0.2};
  try {
    to_view_spec(params, {"a.yaml", 4, 3});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_NE(std::string(error.what()).find("a.yaml:4:3"), std::string::npos) << error.what();
  }
}

// ---- stored images ------------------------------------------------------------------------------

/// Two images of every byte value in every channel.
struct Canvases {
  SampleShape shape = {16, 16, 3};
  std::vector<std::uint8_t> bytes;
  std::vector<std::int32_t> labels = {4, 9};
  Canvases() : bytes(2 * 16 * 16 * 3) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>((i / 3) * (2 * (i % 3) + 1) + 31 * (i / 768));
    }
  }
  CanvasImages images() const { return {bytes.data(), labels.data(), shape, CanvasIndex::sample}; }
  float value(int image, int row, int column, int c) const {
    return static_cast<float>(
               bytes[static_cast<std::size_t>(((image * 16 + row) * 16 + column) * 3 + c)]) /
           255.f;
  }
};

TEST(Canvas, BytesOver255AreCorrectlyRounded) {
  for (int byte = 0; byte < 256; ++byte) {
    ASSERT_EQ(unit_from_byte(static_cast<std::uint8_t>(byte)), static_cast<float>(byte) / 255.f);
  }
}

TEST(Canvas, IdentityAndFlipsCopyExactly) {
  const Canvases canvases;
  ViewSpec flip;
  flip.flip_x = 1;
  const auto plain = emit(canvases.images(), canvases.shape, canvases.shape, {}, 2);
  const auto flipped = emit(canvases.images(), canvases.shape, canvases.shape, flip, 2);
  for (int i = 0; i < 2; ++i) {
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 16; ++column) {
        for (int c = 0; c < 3; ++c) {
          const auto at = static_cast<std::size_t>(((i * 16 + row) * 16 + column) * 3 + c);
          ASSERT_EQ(plain[at], canvases.value(i, row, column, c));
          ASSERT_EQ(flipped[at], canvases.value(i, row, 15 - column, c));
        }
      }
    }
  }
}

TEST(Canvas, ShiftsPadWithZeroOrTheEdge) {
  const Canvases canvases;
  for (const Padding padding : {Padding::zero, Padding::edge}) {
    ViewSpec spec;
    spec.shift = 0.25f;
    spec.padding = padding;
    for (std::uint64_t sample = 0; sample < 2; ++sample) {
      const View v = drawn(spec, canvases.shape, sample);
      const int dx = static_cast<int>(v.origin_x) - 8, dy = static_cast<int>(v.origin_y) - 8;
      const auto x = emit(canvases.images(), canvases.shape, canvases.shape, spec, 1, sample);
      for (int row = 0; row < 16; ++row) {
        for (int column = 0; column < 16; ++column) {
          const int r = std::clamp(row + dy, 0, 15), c = std::clamp(column + dx, 0, 15);
          const bool outside = r != row + dy || c != column + dx;
          const float expected = outside && padding == Padding::zero
                                     ? 0.f
                                     : canvases.value(static_cast<int>(sample), r, c, 1);
          ASSERT_EQ(x[static_cast<std::size_t>(row * 16 + column) * 3 + 1], expected);
        }
      }
    }
  }
}

TEST(Canvas, CopyingEqualsInterpolatingOnTheGrid) {
  const Canvases canvases;
  const CanvasImages images = canvases.images();
  for (const Padding padding : {Padding::zero, Padding::edge}) {
    PixelRun<16> run;
    run.footprint = 1;
    for (int i = 0; i < 16; ++i) {
      run.x[i] = static_cast<float>(i) - 2.5f;
      run.y[i] = 3.5f;
    }
    ColourRun<16> copied, interpolated;
    images.shade({canvases.bytes.data(), padding, true}, run, copied);
    images.shade({canvases.bytes.data(), padding, false}, run, interpolated);
    for (int i = 0; i < 16; ++i) {
      ASSERT_EQ(copied.r[i], interpolated.r[i]);
      ASSERT_EQ(copied.b[i], interpolated.b[i]);
    }
  }
}

TEST(Canvas, InterpolatesBilinearly) {
  const Canvases canvases;
  ViewSpec spec;
  spec.rotate = 0.6f;
  spec.zoom_low = spec.zoom_high = 1.3f;
  spec.padding = Padding::edge;
  const View v = drawn(spec, canvases.shape);
  const auto x = emit(canvases.images(), canvases.shape, canvases.shape, spec);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      const double sx = v.source_x(column + 0.5f, row + 0.5f) - 0.5;
      const double sy = v.source_y(column + 0.5f, row + 0.5f) - 0.5;
      const int ix = static_cast<int>(std::floor(sx)), iy = static_cast<int>(std::floor(sy));
      const auto at = [&](int r, int c) {
        return static_cast<double>(
            canvases.value(0, std::clamp(r, 0, 15), std::clamp(c, 0, 15), 2));
      };
      const double u = sx - ix, w = sy - iy;
      const double expected = (1 - w) * ((1 - u) * at(iy, ix) + u * at(iy, ix + 1)) +
                              w * ((1 - u) * at(iy + 1, ix) + u * at(iy + 1, ix + 1));
      // Coordinates below 32 carry an error of a few 2^-20 pixels, values change by 1 a pixel.
      ASSERT_NEAR(x[static_cast<std::size_t>(row * 16 + column) * 3 + 2], expected, 8 * 0x1p-20);
    }
  }
}

TEST(Canvas, LabelsAndRowsFollowTheIndex) {
  const Canvases canvases;
  CanvasImages images = canvases.images();
  for (const CanvasIndex index : {CanvasIndex::sample, CanvasIndex::row}) {
    images.index = index;
    const test::HostBatch batch(1, SampleLayout::image(images.shape));
    const std::vector<Slot> slots = {{1, 0, 0, 0}};  // sample 1 in row 0
    Stream stream(Device::cpu(), 1);
    MemoryPlan memory(Device::cpu());
    Stage<CanvasImages> stage;
    stage.plan(memory, "test", 1, images, images.shape);
    memory.commit();
    stage.emit(stream, "test", images, images.shape,
               {slots.data(), 0, 5, ViewSpec{}, batch.view()});
    const int expected = index == CanvasIndex::sample ? 1 : 0;
    EXPECT_EQ(batch.label()[0], canvases.labels[static_cast<std::size_t>(expected)]);
    EXPECT_EQ(batch.weight()[0], 1);
    EXPECT_EQ(batch.x()[5], canvases.value(expected, 0, 1, 2));
  }
}

TEST(Canvas, GreyImagesFillOneOrThreeChannels) {
  std::vector<std::uint8_t> bytes(64);
  for (std::size_t i = 0; i < 64; ++i) bytes[i] = static_cast<std::uint8_t>(4 * i);
  const std::int32_t label = 0;
  const CanvasImages images = {bytes.data(), &label, {8, 8, 1}, CanvasIndex::sample};
  const auto one = emit(images, images.shape, {8, 8, 1}, {});
  const auto three = emit(images, images.shape, {8, 8, 3}, {});
  for (std::size_t i = 0; i < 64; ++i) {
    ASSERT_EQ(one[i], static_cast<float>(bytes[i]) / 255.f);
    ASSERT_EQ(three[3 * i], one[i]);
    ASSERT_EQ(three[3 * i + 2], one[i]);
  }
}

}  // namespace
}  // namespace wellspring
