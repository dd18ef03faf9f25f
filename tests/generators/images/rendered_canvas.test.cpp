// Generators that draw on a canvas whose size differs from the output's (SampleInfo::canvas): the
// output must equal the canvas's picture, read like a stored image.
#include "generators/images/ifs.h"
#include "generators/images/visual_atom.h"
#include "kernels/emission/byte_images.h"
#include "tests/generators/collect.h"
#include "tests/generators/images/canvas_places.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace wellspring {
namespace {

using Settings = std::vector<ParamSetting>;

struct Drawn {
  const char* generator;
  Settings settings;
};
const Drawn kDrawn[] = {{"visual_atom", {}},
                        {"ifs", {{"categories", "2", {}}, {"palette", "colour", {}}}},
                        {"ifs", {{"categories", "2", {}}, {"mode", "svd", {}}}}};

constexpr int kCanvas = 96, kCount = 6;
constexpr std::uint64_t kSeed = 4;

Settings rendered(Settings settings) {
  settings.push_back({"render", std::to_string(kCanvas), {}});
  return settings;
}

/// The pictures of `drawn` at canvas size as stored 8-bit images, with the augmentations in `yaml`.
std::vector<float> read_as_stored(const Drawn& drawn, int size, const std::string& yaml) {
  const auto whole = make_generator(drawn.generator, kCanvas, drawn.settings);
  std::vector<std::uint8_t> bytes;
  for (const float value : test::collect(*whole, {kSeed, 0, kCount}).x)
    bytes.push_back(static_cast<std::uint8_t>(std::lround(value * 255)));
  const std::vector<std::int32_t> labels(kCount, 0);
  ByteImages stored;
  stored.pixels = bytes.data();
  stored.labels = labels.data();
  stored.shape = {kCanvas, kCanvas, 3};
  std::vector<Slot> slots;
  for (std::uint64_t i = 0; i < kCount; ++i) slots.push_back({i, i, 0, 0});
  test::HostBatch batch(kCount, SampleLayout::image(size, size, 3));
  MemoryPlan memory(Device::cpu());
  PixelEmitter<ByteImages> emitter;
  emitter.plan(memory, "test", kCount);
  memory.commit();
  EmitCall call;
  call.slots = slots.data();
  call.seed = whole->key(kSeed);
  call.augmentation = test::plan_of(yaml, {kCanvas, kCanvas}, {size, size});
  call.batch = batch.view();
  Stream stream(Device::cpu());
  emitter.emit(StreamLauncher{stream}, "test", stored, stored.shape, call);
  stream.synchronize();
  return {batch.x().begin(), batch.x().end()};
}

test::Samples emitted(const Drawn& drawn, int size, const std::string& yaml) {
  const auto generator = make_generator(drawn.generator, size, rendered(drawn.settings));
  return test::collect(*generator, {kSeed, 0, kCount}, {}, yaml);
}

// 32 pixels are a third of the canvas: centres of output pixels are also centres of canvas pixels.
TEST(RenderedCanvas, IsReadLikeAStoredImage) {
  for (const Drawn& drawn : kDrawn) {
    for (const int size : {96, 41, 32, 130}) {
      for (const char* const yaml :
           {"", "interpolation: bicubic", "augment: [flip_x: 1, crop_resize: {scale: [0.08, 1]}]",
            "augment: [rotate: 40, brightness: 0.3]\ninterpolation: bicubic"}) {
        const std::vector<float> expected = read_as_stored(drawn, size, yaml);
        const std::vector<float> actual = emitted(drawn, size, yaml).x;
        ASSERT_EQ(actual.size(), expected.size());
        // Both sum the same terms in the same order, but canvas values are rounded once more.
        for (std::size_t i = 0; i < actual.size(); ++i)
          ASSERT_NEAR(actual[i], expected[i], 1e-6) << drawn.generator << size << yaml << " " << i;
      }
    }
  }
}

TEST(RenderedCanvas, ChangesNothingAtTheOutputSize) {
  for (const Drawn& drawn : kDrawn) {
    const auto plain = make_generator(drawn.generator, kCanvas, drawn.settings);
    const std::vector<float> x = test::collect(*plain, {kSeed, 0, kCount}).x;
    const std::vector<float> rendered_x = emitted(drawn, kCanvas, "").x;
    ASSERT_EQ(x.size(), rendered_x.size());
    for (std::size_t i = 0; i < x.size(); ++i)  // colours of mode svd are rounded to 8 bits
      ASSERT_NEAR(x[i], rendered_x[i], 0.5 / 255 + 1e-6);
  }
}

// Rotation and zoom are drawn in units that do not depend on the canvas size.
TEST(RenderedCanvas, KeepsTheLatents) {
  const std::string yaml = "augment: [rotate: 40, zoom: [0.5, 2]]";
  const auto plain = make_generator("visual_atom", 32);
  const std::vector<float> expected = test::collect(*plain, {kSeed, 0, kCount}, {}, yaml).latents;
  const std::vector<float> actual = emitted(kDrawn[0], 32, yaml).latents;
  ASSERT_EQ(actual.size(), expected.size());
  // Positions in canvas pixels have errors of a few times 2^-24 of 96 pixels.
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-4) << i;
}

/// Squared differences of horizontal neighbours, divided by the variance: about 2 for independent pixels, small for
/// blurred images.
double sharpness(const std::vector<float>& x, int size) {
  double sum = 0, square = 0, difference = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += double{x[i]};
    square += double{x[i]} * double{x[i]};
    if (i / 3 % static_cast<std::size_t>(size) == 0) continue;
    difference += std::pow(double{x[i]} - double{x[i - 3]}, 2);
  }
  const auto count = static_cast<double>(x.size());
  return difference / (square - sum * sum / count);
}

// A crop of 8 % of a published picture, 145 of 512 or 102 of 362 pixels wide, still shrinks to 64
// pixels. Without a separate canvas, the crop is 18 pixels wide and is enlarged.
TEST(RenderedCanvas, KeepsSmallCropsAsSharpAsTheWholePicture) {
  const Drawn published[] = {{"visual_atom", {{"preset", "visualatom-1k", {}}}},
                             {"rcdb", {{"preset", "rcdb-1k", {}}}},
                             {"ifs", {{"preset", "fractaldb-60", {}}, {"categories", "2", {}}}}};
  for (const Drawn& drawn : published) {
    const auto sharpness_of = [&](const char* render, const std::string& yaml) {
      Settings settings = drawn.settings;
      if (render != nullptr) settings.push_back({"render", render, {}});
      const auto generator = make_generator(drawn.generator, 64, settings);
      return sharpness(test::collect(*generator, {kSeed, 0, 16}, {}, yaml).x, 64);
    };
    const std::string crop = "augment: [crop_resize: {scale: [0.08, 0.08], ratio: [1, 1]}]";
    const double cropped =
        sharpness_of(nullptr, crop);  // 1.4 to 3.1 times the sharpness of the whole picture
    EXPECT_GT(cropped, sharpness_of(nullptr, "")) << drawn.generator;
    EXPECT_LT(sharpness_of("0", crop), 0.3 * cropped) << drawn.generator;
  }
}

// Teams of 7 threads settle a canvas in place, in scratch and in planned memory.
TEST(RenderedCanvas, IsTheSameInScratchAndInThePlanForIfs) {
  Ifs::Params params;
  params.mode = Ifs::Mode::svd;
  params.categories = 2;
  params.render = 40;
  Ifs::Tables tables(params);
  TableCache cache;
  tables.prepare(cache);
  MemoryPlan memory(Device::cpu());
  tables.plan(memory);
  memory.commit();
  Stream stream(Device::cpu());
  tables.load(stream);
  Ifs functor(params);
  tables.bind(functor);
  test::expect_equal_in_both_places(functor, 0, std::size_t{1} << 17,
                                    [](const test::HostBatch&) {});
}

TEST(RenderedCanvas, RefusesImpossibleSides) {
  for (const char* const side : {"-1", "5000", "1.5"}) {
    for (const char* const name : {"visual_atom", "rcdb", "ifs"}) {
      const std::string message = test::message_of(ErrorKind::config, [&] {
        make_generator(name, 32, {{"render", side, {}}});
      });
      test::expect_parts(message, {"render", side});
    }
  }
}

}  // namespace
}  // namespace wellspring
