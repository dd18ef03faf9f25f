#include "core/error.h"
#include "kernels/augment/augmentation_draw.h"
#include "kernels/emission/byte_images.h"
#include "kernels/emission/emitter.h"
#include "tests/kernels/emission_functors.h"
#include "tests/support/augmentation.h"
#include "tests/support/host_batch.h"
#include "tests/support/team_launcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace wellspring::test {
namespace {

template <class T = float, class F>
std::vector<T> emit(const F& functor, SampleShape source_shape, SampleShape shape,
                    const std::string& yaml, std::int64_t count = 1, std::uint64_t first = 0) {
  const test::HostBatch batch(count, SampleLayout::image(shape), DTypeOf<T>::value);
  std::vector<Slot> slots(static_cast<std::size_t>(count));
  for (std::uint32_t i = 0; i < slots.size(); ++i) slots[i] = {first + i, first + i, 0, i};
  Stream stream(Device::cpu(), 1);
  const auto plan = test::plan_of(yaml, frame_of(source_shape), frame_of(shape));
  MemoryPlan memory(Device::cpu());
  Emitter<F> stage;
  stage.plan(memory, "test", count, functor, source_shape);
  memory.commit();
  stage.emit(stream, "test", functor, source_shape, {slots.data(), 0, 5, plan, batch.view()});
  const auto x = batch.x<T>();
  return {x.begin(), x.end()};
}

Augmentation drawn(const std::string& yaml, SampleShape shape, std::uint64_t sample = 0) {
  return draw_augmentation(test::plan_of(yaml, shape), {5, sample});
}

TEST(Emission, IdentityReadsPixelCentres) {
  for (const int width : {1, 7, 31, 32, 33, 100}) {
    const SampleShape shape = {5, width, 3};
    const auto x = emit(Coordinates{}, shape, shape, "");
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
  const auto flipped = emit(Coordinates{}, shape, shape, "augment: [flip_x: 1, flip_y: 1]");
  auto plain = emit(Coordinates{}, shape, shape, "");
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column < 37; ++column) {
      const auto at = [](int r, int c) { return static_cast<std::size_t>(r * 37 + c) * 3; };
      ASSERT_EQ(flipped[at(row, column)], plain[at(5 - row, 36 - column)]);
      ASSERT_EQ(flipped[at(row, column) + 1], plain[at(5 - row, 36 - column) + 1]);
    }
  }
}

TEST(Emission, ShiftsMoveByWholePixels) {
  const SampleShape shape = {16, 24, 3};
  const std::string yaml = "augment: [shift: 0.25]";
  bool moved = false;
  for (std::uint64_t sample = 0; sample < 20; ++sample) {
    const Augmentation v = drawn(yaml, shape, sample);
    const float dx = v.origin_x - 12, dy = v.origin_y - 8;
    ASSERT_EQ(dx, std::round(dx));
    ASSERT_LE(std::abs(dx), 6);
    ASSERT_LE(std::abs(dy), 4);
    ASSERT_TRUE(v.on_grid);
    moved |= dx != 0 && dy != 0;
    const auto x = emit(Coordinates{}, shape, shape, yaml, 1, sample);
    ASSERT_EQ(x[0], 0.5f + dx);
    ASSERT_EQ(x[1], 0.5f + dy);
    ASSERT_EQ(x[x.size() - 3], 23.5f + dx);
  }
  EXPECT_TRUE(moved);
}

TEST(Emission, PixelsDoNotDependOnTheLengthOfTheRun) {
  for (const std::string yaml : {"augment: [rotate: 57, zoom: [0.5, 2]]",
                                 "augment: [perspective: {probability: 1}, rotate: 30]"}) {
    const Augmentation view = drawn(yaml, {64, 64, 3});
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
}

TEST(Emission, BytesDoNotDependOnTheTiling) {
  const SampleShape shape = {33, 41, 3};
  const std::string yaml = "augment: [rotate: 20, erase: 9]";
  const auto whole = emit(Coordinates{}, shape, shape, yaml, 2);
  for (const auto& [width, height] : std::map<int, int>{{41, 1}, {32, 8}, {7, 33}, {1, 1}}) {
    const test::HostBatch batch(2, SampleLayout::image(shape));
    const std::vector<Slot> slots = {{0, 0, 0, 0}, {1, 1, 0, 1}};
    const Tiling tiling = Tiling::of(shape, width, height);
    std::vector<DrawnImage<Coordinates>> drawn_images(2);
    host::run_map(2, 1,
                  DrawImages<Coordinates>{Coordinates{},
                                          slots.data(),
                                          0,
                                          5,
                                          test::plan_of(yaml, shape),
                                          {},
                                          shape,
                                          batch.view(),
                                          drawn_images.data()});
    host::run_league(2 * tiling.count(), 1, {128, 1024},
                     PaintImages<Coordinates, float>{Coordinates{}, slots.data(), 0,
                                                     drawn_images.data(), batch.view(), tiling});
    ASSERT_TRUE(std::ranges::equal(batch.x(), whole)) << width << " x " << height;
  }
}

TEST(Emission, EraseSetsASquareToTheMean) {
  const SampleShape shape = {20, 20, 3};
  const std::string yaml = "augment: [erase: 6]\nnormalise: {mean: [0.5, 0, 0]}";
  int whole = 0;
  for (std::uint64_t sample = 0; sample < 50; ++sample) {
    const auto x = emit(Coordinates{}, shape, shape, yaml, 1, sample);
    const Augmentation v = drawn(yaml, shape, sample);
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
    ASSERT_GE(zeros, 9) << "at least a quarter of the square is in the image";
  }
  EXPECT_GT(whole, 0);
}

TEST(Emission, SingleChannelIsLuma) {
  const auto x = emit(Coordinates{}, {4, 40, 1}, {4, 40, 1}, "");
  ASSERT_EQ(x.size(), 160u);
  // Red and green are 1.5, and blue is 1; three products and two sums are rounded.
  EXPECT_NEAR(x[41], 0.299 * 1.5 + 0.587 * 1.5 + 0.114, 5 * 0x1p-24);
}

TEST(Emission, Bf16IsRoundedOnce) {
  const SampleShape shape = {4, 37, 3};
  const std::string yaml = "augment: [rotate: 20]";
  const auto wide = emit(Coordinates{}, shape, shape, yaml);
  const auto narrow = emit<bf16>(Coordinates{}, shape, shape, yaml);
  for (std::size_t i = 0; i < wide.size(); ++i) ASSERT_EQ(narrow[i].bits, bf16(wide[i]).bits);
}

/// Shades of grey, as one channel that represents all three or as three channels.
template <bool kOne>
struct Greys {
  static constexpr int kLatents = 0;
  static constexpr forms::Pixels kForm = {};
  struct Scene {
    float across;
  };
  Scene draw(const SampleKey& key, Truth<kLatents>&) const {
    return {0.013f * static_cast<float>(1 + key.slot.sample)};
  }
  template <int N>
  void shade(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    colour.grey = kOne;
    for (int i = 0; i < N; ++i) {
      const float v = math::fma(scene.across, run.x[i], 0.029f * run.y[i]);
      colour.r[i] = v - math::floor(v);
      colour.g[i] = colour.b[i] = kOne ? math::kInfinity : colour.r[i];
    }
  }
};

template <class T, bool kOne>
std::vector<T> greys(SampleShape shape, const std::string& yaml, int members) {
  constexpr int kCount = 3;
  const test::HostBatch batch(kCount, SampleLayout::image(shape), DTypeOf<T>::value);
  const Slot slots[kCount] = {{4, 4, 0, 0}, {5, 7, 0, 1}, {6, 1, 0, 2}};
  MemoryPlan memory(Device::cpu());
  PixelEmitter<Greys<kOne>> stage;
  stage.plan(memory, "test", kCount);
  memory.commit();
  stage.emit(test::TeamLauncher{members}, "greys", Greys<kOne>{}, shape,
             {slots, 0, 5, test::plan_of(yaml, shape), batch.view()});
  const auto x = batch.x<T>();
  return {x.begin(), x.end()};
}

// Computing one channel and copying it on store must give the same bytes as computing three
// channels, for all operations, in full runs and in runs at the end of a row.
TEST(Emission, GreyIsThreeEqualChannels) {
  const std::string normalised = "\nnormalise: {mean: [0.3, 0.4, 0.5], std: [0.25, 0.5, 1]}";
  for (const SampleShape shape : {SampleShape{5, 64, 3}, {5, 75, 3}, {5, 9, 3}}) {
    for (const std::string list :
         {"", "erase: 3", "hue: 0.3, brightness: 0.5, solarise: 0.5",
          "rotate: 20, perspective: 0.3", "blur: {sigma: [0.5, 1], kernel: 5}"}) {
      const std::string yaml = "augment: [" + list + "]" + normalised;
      const auto expected = greys<float, false>(shape, yaml, 1);
      ASSERT_NE(expected.front(), expected.back());
      for (const int members : {1, 7}) {
        EXPECT_EQ((greys<float, true>(shape, yaml, members)), expected) << yaml;
      }
      const auto narrow = greys<bf16, false>(shape, yaml, 1),
                 one = greys<bf16, true>(shape, yaml, 1);
      for (std::size_t i = 0; i < narrow.size(); ++i)
        ASSERT_EQ(one[i].bits, narrow[i].bits) << yaml;
    }
  }
}

// Lanes are in step if each lane reads the source pixel next to the previous lane's pixel.
TEST(Emission, LanesAreInStepUnlessRotatedScaledOrMirrored) {
  const SampleShape shape = {40, 40, 3};
  const std::map<std::string, bool> lists = {
      {"", true},           {"shift: 0.25", true}, {"flip_y: 1", true},
      {"flip_x: 1", false}, {"rotate: 20", false}, {"zoom: [0.5, 0.9]", false}};
  for (const auto& [list, in_step] : lists) {
    const Augmentation seen = drawn("augment: [" + list + "]", shape);
    const PixelTile tile = {0, 0, 40, 40};
    const PixelRun<16> run = detail::place_run<16>(seen, tile, 3, 5);
    EXPECT_EQ(run.in_step, in_step) << list;
    bool stepped = true;
    for (int i = 0; i < 16; ++i) {
      stepped &= run.x[i] == run.x[0] + static_cast<float>(i) && run.y[i] == run.y[0];
    }
    EXPECT_EQ(stepped, in_step) << list;
  }
  Augmentation sheared, tilted;
  sheared.m10 = 0.25f;
  tilted.projective = true;
  tilted.w_x = 0.001f;
  for (const Augmentation& seen : {sheared, tilted}) {
    EXPECT_FALSE(detail::place_run<16>(seen, {0, 0, 40, 40}, 3, 5).in_step);
  }
}

// ---- stored images ------------------------------------------------------------------------------

/// Two images that contain every byte value in every channel.
struct Canvases {
  SampleShape shape = {16, 16, 3};
  std::vector<std::uint8_t> bytes;
  std::vector<std::int32_t> labels = {4, 9};
  Canvases() : bytes(2 * 16 * 16 * 3) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>((i / 3) * (2 * (i % 3) + 1) + 31 * (i / 768));
    }
  }
  ByteImages images() const { return {bytes.data(), labels.data(), shape, ImageIndex::sample}; }
  float value(int image, int row, int column, int c) const {
    return static_cast<float>(
               bytes[static_cast<std::size_t>(((image * 16 + row) * 16 + column) * 3 + c)]) /
           255.f;
  }
};

// colour.test.cpp tests the formula of each operation; this test runs them in the complete pass.
TEST(Canvas, ColourOperationsRunInOrderBeforeNormalisation) {
  const Canvases canvases;
  const SampleShape shape = canvases.shape;
  const std::string yaml =
      "augment: [brightness: 0.9, solarise: {threshold: 0.6, probability: 1}]\n"
      "normalise: {mean: [0.3, 0.4, 0.5], std: [0.25, 0.5, 1]}";
  const auto plain = emit(canvases.images(), shape, shape, "", 2);
  const auto coloured = emit(canvases.images(), shape, shape, yaml, 2);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const Augmentation a = drawn(yaml, shape, i / 768);
    ASSERT_EQ(a.colour_count, 2);
    const double mean = 0.3 + 0.1 * static_cast<double>(i % 3);
    const double deviation = std::ldexp(0.25, static_cast<int>(i % 3));
    const double lit = std::clamp(static_cast<double>(a.colour[0].value) * plain[i], 0., 1.);
    if (std::abs(lit - 0.6) < 1e-6) continue;  // rounding decides here
    const double expected = ((lit < 0.6 ? lit : 1 - lit) - mean) / deviation;
    // The tolerance covers half a dozen f32 operations on values up to 1, scaled by 4.
    ASSERT_NEAR(coloured[i], expected, 24 * 0x1p-24);
  }
}

TEST(Canvas, BytesOver255AreCorrectlyRounded) {
  for (int byte = 0; byte < 256; ++byte) {
    ASSERT_EQ(unit_from_byte(static_cast<std::uint8_t>(byte)), static_cast<float>(byte) / 255.f);
  }
}

TEST(Canvas, IdentityAndFlipsCopyExactly) {
  const Canvases canvases;
  const auto plain = emit(canvases.images(), canvases.shape, canvases.shape, "", 2);
  const auto flipped =
      emit(canvases.images(), canvases.shape, canvases.shape, "augment: [flip_x: 1]", 2);
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
    const std::string yaml = std::string("augment: [shift: 0.25]\npadding: ") +
                             (padding == Padding::zero ? "zero" : "edge");
    for (std::uint64_t sample = 0; sample < 2; ++sample) {
      const Augmentation v = drawn(yaml, canvases.shape, sample);
      const int dx = static_cast<int>(v.origin_x) - 8, dy = static_cast<int>(v.origin_y) - 8;
      const auto x = emit(canvases.images(), canvases.shape, canvases.shape, yaml, 1, sample);
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

TEST(Canvas, CopyingEqualsInterpolatingAtPixelCentres) {
  const Canvases canvases;
  const ByteImages images = canvases.images();
  const int w = images.shape.width, h = images.shape.height;
  for (const Padding padding : {Padding::zero, Padding::edge}) {
    PixelRun<16> run;
    run.footprint = 1;
    for (int i = 0; i < 16; ++i) {
      run.x[i] = static_cast<float>(i) - 2.5f;
      run.y[i] = 3.5f;
    }
    ColourRun<16> copied, interpolated;
    images.shade({canvases.bytes.data(), w, h, padding, true}, run, copied);
    images.shade({canvases.bytes.data(), w, h, padding, false}, run, interpolated);
    for (int i = 0; i < 16; ++i) {
      ASSERT_EQ(copied.r[i], interpolated.r[i]);
      ASSERT_EQ(copied.b[i], interpolated.b[i]);
    }
  }
}

TEST(Canvas, InterpolatesBilinearly) {
  const Canvases canvases;
  const std::string yaml = "augment: [rotate: 34, zoom: [1.3, 1.3]]\npadding: edge";
  const Augmentation v = drawn(yaml, canvases.shape);
  const auto x = emit(canvases.images(), canvases.shape, canvases.shape, yaml);
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
      // Coordinates below 32 are off by a few times 2^-20 pixels, and values change by 1 per pixel.
      ASSERT_NEAR(x[static_cast<std::size_t>(row * 16 + column) * 3 + 2], expected, 8 * 0x1p-20);
    }
  }
}

TEST(Canvas, LabelsAndRowsMatchTheIndex) {
  const Canvases canvases;
  ByteImages images = canvases.images();
  for (const ImageIndex index : {ImageIndex::sample, ImageIndex::row}) {
    images.index = index;
    const test::HostBatch batch(1, SampleLayout::image(images.shape));
    const std::vector<Slot> slots = {{1, 0, 0, 0}};  // sample 1 in row 0
    Stream stream(Device::cpu(), 1);
    MemoryPlan memory(Device::cpu());
    Emitter<ByteImages> stage;
    stage.plan(memory, "test", 1, images, images.shape);
    memory.commit();
    stage.emit(stream, "test", images, images.shape, {slots.data(), 0, 5, {}, batch.view()});
    const int expected = index == ImageIndex::sample ? 1 : 0;
    EXPECT_EQ(batch.label()[0], canvases.labels[static_cast<std::size_t>(expected)]);
    EXPECT_EQ(batch.weight()[0], 1);
    EXPECT_EQ(batch.x()[5], canvases.value(expected, 0, 1, 2));
  }
}

TEST(Canvas, GreyImagesFillOneOrThreeChannels) {
  std::vector<std::uint8_t> bytes(64);
  for (std::size_t i = 0; i < 64; ++i) bytes[i] = static_cast<std::uint8_t>(4 * i);
  const std::int32_t label = 0;
  const ByteImages images = {bytes.data(), &label, {8, 8, 1}, ImageIndex::sample};
  const auto one = emit(images, images.shape, {8, 8, 1}, "");
  const auto three = emit(images, images.shape, {8, 8, 3}, "");
  for (std::size_t i = 0; i < 64; ++i) {
    ASSERT_EQ(one[i], static_cast<float>(bytes[i]) / 255.f);
    ASSERT_EQ(three[3 * i], one[i]);
    ASSERT_EQ(three[3 * i + 2], one[i]);
  }
}

}  // namespace
}  // namespace wellspring::test
