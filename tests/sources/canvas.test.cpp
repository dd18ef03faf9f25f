// Images of different sizes on a canvas, images with one channel, and masks of patches.
#include "core/config/config.h"
#include "sources/data_config.h"
#include "sources/datasets/stored_rows.h"
#include "sources/files/resize.h"
#include "sources/mixture.h"
#include "sources/source_spec.h"
#include "tests/sources/files/emitted_source.h"
#include "tests/support/augmentation.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"
#include "tests/support/image_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr int kOutSide = 8;
constexpr ImageSize kWide = {8, 12};

void write_image(const fs::path& path, FrameSize size, std::uint32_t seed) {
  write_bytes(path, encode_ppm(noise_rgb(size.width, size.height, seed), size.width, size.height));
}

SourceSpec photos(const fs::path& path, const std::vector<ParamSetting>& settings,
                  Storage storage = Storage::resident) {
  SourceSpec spec = file_source(path, settings, storage);
  spec.name = "photos";
  return spec;
}

/// All images of a source, as a network reads them.
struct ReadPhotos {
  ReadPhotos(const SourceSpec& spec, const std::string& training, int channels = 0,
             ImageSize size = kOutSide) {
    SourceContext context;
    context.size = size;
    context.channels = channels;
    context.training = augmentations_of(training);
    context.evaluation = context.training.held_out();
    source = make_source(spec, context);
    rows = static_cast<std::int64_t>(source->size());
    source->plan(memory, Share::whole(rows));
    memory.commit();
    source->load(stream);
    batch = std::make_unique<HostBatch>(rows, source->layout());
    slots.resize(static_cast<std::size_t>(rows));
    for (std::uint32_t row = 0; row < slots.size(); ++row) slots[row] = {row, row, 1, row};
  }
  const HostBatch& held_out() {
    source->emit_range(stream, slots.data(), 1, 0, rows, batch->view());
    return *batch;
  }
  const HostBatch& training() {
    source->emit(stream, slots.data(), 1, batch->view());
    return *batch;
  }
  const float* row(std::int64_t i) const {
    return batch->x().data() + i * batch->view().layout.elements();
  }

  MemoryPlan memory{Device::cpu()};
  std::unique_ptr<Source> source;
  std::int64_t rows = 0;
  std::vector<Slot> slots;
  Stream stream{Device::cpu(), 1};
  std::unique_ptr<HostBatch> batch;
};

// A centre crop without resizing copies the pixels, at the offsets of torchvision's CenterCrop.
TEST(Canvas, KeepsImagesAtTheirOwnSizes) {
  const TemporaryFolder folder;
  const FrameSize sizes[] = {{20, 14}, {14, 17}, {14, 14}};
  for (std::uint32_t i = 0; i < 3; ++i)
    write_image(folder / "a" / (std::to_string(i) + ".ppm"), sizes[i], i);
  for (const char* const list : {"centre_crop: 14", "augment: [crop: {resize: 14, place: centre}]"})
    for (const Storage storage : {Storage::resident, Storage::streamed}) {
      ReadPhotos read(photos(folder.path(), {{"canvas", "32"}}, storage), list);
      EXPECT_EQ(read.source->layout().shape(), (SampleShape{kOutSide, kOutSide, 3}));
      if (storage == Storage::streamed && list[0] == 'a') continue;  // needs a schedule
      list[0] == 'a' ? read.training() : read.held_out();
      for (std::uint32_t i = 0; i < 3; ++i) {
        const Bytes rgb = noise_rgb(sizes[i].width, sizes[i].height, i);
        const int left = (sizes[i].width - kOutSide) / 2;
        const int top = static_cast<int>(std::nearbyint((sizes[i].height - kOutSide) / 2.));
        for (int y = 0; y < kOutSide; ++y)
          for (int v = 0; v < 3 * kOutSide; ++v)
            ASSERT_EQ(
                read.row(i)[y * 3 * kOutSide + v],
                unit_from_byte(
                    rgb[static_cast<std::size_t>(((top + y) * sizes[i].width + left) * 3 + v)]))
                << list << ", image " << i << ", row " << y;
      }
    }
}

// Without a crop, the whole shorter side is visible. Means of 2 x 2 bytes are exact except for
// rounding errors of three sums and a division, with numbers up to 4.
TEST(Canvas, ShrinksHeldOutImagesToTheOutput) {
  const TemporaryFolder folder;
  write_image(folder / "a" / "0.ppm", {32, 16}, 3);
  ReadPhotos read(photos(folder.path(), {{"canvas", "40"}}), "");
  read.held_out();
  const Bytes rgb = noise_rgb(32, 16, 3);
  for (int y = 0; y < kOutSide; ++y)
    for (int x = 0; x < kOutSide; ++x)
      for (int c = 0; c < 3; ++c) {
        double sum = 0;
        for (int j = 0; j < 4; ++j)
          sum += rgb[static_cast<std::size_t>(((2 * y + j / 2) * 32 + 8 + 2 * x + j % 2) * 3 + c)];
        ASSERT_NEAR(read.row(0)[(y * kOutSide + x) * 3 + c], sum / 4 / 255, 4 * 0x1p-24);
      }
}

// The image just covers an output that is not square: 32 x 16 pixels become 16 x 8, and the middle 12
// columns remain; 16 x 32 become 12 x 24. Means of 2 x 2 bytes are as above; with a factor of 4 /
// 3, pixels are not compared. Crops have the output's size, too.
TEST(Canvas, CoversOutputsThatAreNotSquare) {
  const TemporaryFolder folder;
  write_image(folder / "a" / "0.ppm", {32, 16}, 3);
  write_bytes(folder / "a" / "1.ppm", encode_ppm(Bytes(16 * 32 * 3, 51), 16, 32));
  const SourceSpec spec = photos(folder.path(), {{"canvas", "40"}});
  ReadPhotos read(spec, "", 0, kWide);
  EXPECT_EQ(read.source->layout().shape(), (SampleShape{8, 12, 3}));
  read.held_out();
  const Bytes rgb = noise_rgb(32, 16, 3);
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 12; ++x)
      for (int c = 0; c < 3; ++c) {
        double sum = 0;
        for (int j = 0; j < 4; ++j)
          sum += rgb[static_cast<std::size_t>(((2 * y + j / 2) * 32 + 4 + 2 * x + j % 2) * 3 + c)];
        ASSERT_NEAR(read.row(0)[(y * 12 + x) * 3 + c], sum / 4 / 255, 4 * 0x1p-24);
      }
  for (int i = 0; i < 8 * 12 * 3; ++i) ASSERT_NEAR(read.row(1)[i], 0.2, 4 * 0x1p-24);
  for (const char* const list :
       {"augment: [crop_resize, flip_x: 0.5]", "augment: [crop: 12, rotate: 20]"}) {
    ReadPhotos cropped(spec, list, 0, kWide);
    cropped.training();
    for (int i = 0; i < 8 * 12 * 3; ++i) ASSERT_GE(cropped.row(0)[i], 0) << list;
  }
  expect_parts(
      message_of(ErrorKind::config, [&] { ReadPhotos(spec, "augment: [crop: 10]", 0, kWide); }),
      {"augment.crop.resize is 10", "12 x 8"});
}

// augmix mixes copies of the crop.
TEST(Canvas, MixesCopiesOfCrops) {
  const TemporaryFolder folder;
  write_image(folder / "a" / "0.ppm", {32, 16}, 3);
  write_image(folder / "a" / "1.ppm", {20, 30}, 4);
  const auto rows = [&](const std::string& list) {
    ReadPhotos read(photos(folder.path(), {{"canvas", "40"}}), list, 0, kWide);
    read.training();
    return std::vector<float>(read.row(0), read.row(1) + 8 * 12 * 3);
  };
  const auto plain = rows("augment: [crop_resize]"), mixed = rows("augment: [crop_resize, augmix]");
  EXPECT_EQ(rows("augment: [crop_resize, augmix: {probability: 0}]"), plain);
  for (const std::size_t first : {0, 8 * 12 * 3}) {
    bool changed = false;
    for (std::size_t i = first; i < first + 8 * 12 * 3; ++i) {
      changed |= mixed[i] != plain[i];
      ASSERT_TRUE(mixed[i] >= 0 && mixed[i] <= 1);
    }
    EXPECT_TRUE(changed) << first;
  }
}

// Stored rows that are not square need their own size.
TEST(Canvas, ResizesFilesToSizesThatAreNotSquare) {
  const TemporaryFolder folder;
  write_image(folder / "a" / "0.ppm", {32, 16}, 3);
  write_image(folder / "a" / "1.ppm", {20, 30}, 4);
  ReadPhotos read(photos(folder.path(), {{"resize", "[8, 12]"}}), "", 0, kWide);
  EXPECT_EQ(read.source->layout().shape(), (SampleShape{8, 12, 3}));
  read.held_out();
  for (const auto& [row, size] : {std::pair(0, FrameSize{32, 16}), {1, FrameSize{20, 30}}}) {
    Bytes cut(8 * 12 * 3);
    ImageResizer().resize_and_crop(
        noise_rgb(size.width, size.height, static_cast<std::uint32_t>(row) + 3).data(), size,
        {12, 8}, cut.data());
    for (std::size_t i = 0; i < cut.size(); ++i)
      ASSERT_EQ(read.row(row)[i], unit_from_byte(cut[i])) << row;
  }
  const auto refused = [&](const char* resize, ImageSize size, ErrorKind kind = ErrorKind::data) {
    return message_of(kind, [&] {
      ReadPhotos(photos(folder.path(), {{"resize", resize}}), "", 0, size);
    });
  };
  expect_parts(refused("[12, 8]", kWide),
               {"image of 8x12 pixels", "the network reads 12x8", "resize: [8, 12]"});
  expect_parts(refused("8", kWide), {"image of 8x8 pixels", "resize: [8, 12]"});
  expect_parts(refused("[0, 12]", kWide, ErrorKind::config), {"no side can be 0"});
}

// An image larger than the canvas equals the image that Pillow has shrunk to the canvas.
TEST(Canvas, ShrinksLargerImagesToIt) {
  const TemporaryFolder folder;
  const Bytes large = noise_rgb(64, 30, 4);
  Bytes small(32 * 15 * 3);
  ImageResizer().resize(large.data(), {64, 30}, {32, 15}, small.data());
  write_bytes(folder / "a" / "0.ppm", encode_ppm(large, 64, 30));
  write_bytes(folder / "a" / "1.ppm", encode_ppm(small, 32, 15));
  ReadPhotos read(photos(folder.path(), {{"canvas", "32"}}), "interpolation: bicubic");
  read.held_out();
  EXPECT_TRUE(std::equal(read.row(0), read.row(1), read.row(1)));
}

// Every position of a random crop occurs, even at the ends of the longer side.
TEST(Canvas, CropsAnyPartOfAnImage) {
  const TemporaryFolder folder;
  const FrameSize size = {16, 8};
  Bytes rgb(16 * 8 * 3);
  for (std::size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<std::uint8_t>(i / 3 % 16);
  for (int i = 0; i < 200; ++i)
    write_bytes(folder / "a" / (std::to_string(i) + ".ppm"),
                encode_ppm(rgb, size.width, size.height));
  ReadPhotos read(photos(folder.path(), {{"canvas", "16"}}), "augment: [crop: 8]");
  read.training();
  std::vector<int> first(9);
  for (std::int64_t i = 0; i < read.rows; ++i)
    ++first[static_cast<std::size_t>(std::lround(read.row(i)[0] * 255))];
  // The chance that any of nine positions is missing in 200 draws is below 9 (8/9)^200 < 1e-9.
  for (const int count : first) EXPECT_GT(count, 0);
}

TEST(Canvas, HoldsImagesWithOneChannel) {
  const TemporaryFolder folder;
  const Bytes rgb = noise_rgb(9, 9, 5);
  write_bytes(folder / "a" / "0.ppm", encode_ppm(rgb, 9, 9));
  write_bytes(folder / "a" / "1.pgm", encode_pgm(rgb, 9, 9));
  const std::vector<ParamSetting> settings = {{"canvas", "9"}, {"on_convert", "convert"}};
  ReadPhotos read(photos(folder.path(), settings), "centre_crop: 9", 1);
  EXPECT_EQ(read.source->layout().channels, 1);
  read.held_out();
  for (int y = 0; y < kOutSide; ++y)
    for (int x = 0; x < kOutSide; ++x) {
      const std::uint8_t* const p = rgb.data() + (y * 9 + x) * 3;
      // Pillow rounds the luma to a byte.
      const double luma = std::floor(0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2] + 0.5);
      ASSERT_NEAR(read.row(0)[y * kOutSide + x] * 255, luma, 1);
      ASSERT_EQ(read.row(1)[y * kOutSide + x], unit_from_byte(p[0]));
    }
  expect_parts(message_of(ErrorKind::data,
                          [&] {
                            ReadPhotos(photos(folder.path(), {{"canvas", "9"}}), "", 1);
                          }),
               {"0.ppm", "colours", "on_convert: convert"});
  expect_parts(
      message_of(ErrorKind::config,
                 [&] { ReadPhotos(photos(folder.path(), settings), "augment: [hue: 0.1]", 1); }),
      {"augment.hue", "one channel", "remove hue"});
  expect_parts(message_of(ErrorKind::config,
                          [&] {
                            ReadPhotos(photos(folder.path(), settings),
                                       "normalise: {mean: [0.5, 0.5, 0.4]}", 1);
                          }),
               {"normalise.mean has 3 values", "one channel"});
}

// The luma is the sum of colours with the weights of BT.601: three products in f32.
TEST(OneChannel, GeneratorsGiveTheLumaOfTheirColours) {
  SourceSpec spec;
  spec.name = spec.generator = "shapes";
  const auto made = [&](int channels, DType dtype) {
    SourceContext context;
    context.size = 16;
    context.channels = channels;
    context.training = augmentations_of("augment: [brightness: 0.4, flip_x: 0.5]");
    const auto source = make_source(spec, context);
    MemoryPlan memory{Device::cpu()};
    source->plan(memory, Share::whole(6));
    memory.commit();
    Stream stream{Device::cpu(), 1};
    source->load(stream);
    auto batch = std::make_unique<HostBatch>(6, source->layout(), dtype);
    std::vector<Slot> slots(6);
    for (std::uint32_t row = 0; row < 6; ++row) slots[row] = {row, row, 0, row};
    source->emit(stream, slots.data(), 0, batch->view());
    return batch;
  };
  const auto grey = made(1, DType::f32), colours = made(3, DType::f32);
  EXPECT_EQ(grey->view().layout.shape(), (SampleShape{16, 16, 1}));
  int clipped = 0;
  for (std::size_t i = 0; i < 6 * 256; ++i) {
    const float* const p = colours->x().data() + 3 * i;
    // Brightness clamps each channel, so bright pixels differ.
    if (std::max({p[0], p[1], p[2]}) >= 1) {
      ++clipped;
      continue;
    }
    ASSERT_NEAR(grey->x()[i], 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2], 8 * 0x1p-24);
  }
  EXPECT_LT(clipped, 3 * 256);
  const auto narrow = made(1, DType::bf16);
  for (std::size_t i = 0; i < 6 * 256; ++i)
    ASSERT_EQ(static_cast<float>(narrow->x<bf16>()[i]), static_cast<float>(bf16(grey->x()[i])));
}

// Masked pixels are 0, but colours minus 2 are never 0. Rows of a source without masks have no
// mask, although they held another source's masks in an earlier step.
TEST(Masks, AreAColumnOfTheBatch) {
  Mixture mixture(3);
  for (const char* const list : {"augment: [mask_patches: {patch: 4, ratio: 0.7}]", ""}) {
    SourceSpec spec;
    spec.name = std::string("shapes") + (list[0] == 0 ? "" : " masked");
    spec.generator = "shapes";
    SourceContext context;
    context.size = 12;
    context.training = augmentations_of(list + std::string("\nnormalise: {mean: [2]}"));
    mixture.add(make_source(spec, context), {1});
  }
  constexpr std::int64_t kRows = 16, kSteps = 6;
  MemoryPlan memory{Device::cpu()};
  mixture.plan(memory, kRows, kSteps);
  auto state = memory.reserve<StepState>("state", "step", 1);
  memory.commit();
  Stream stream{Device::cpu(), 1};
  mixture.load(stream);
  const HostBatch batch(kRows, mixture.layout());
  ASSERT_EQ(batch.view().layout.patches, 9);
  std::fill_n(batch.view().mask, 9 * kRows, std::uint8_t{7});
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    state.data()->step = step;
    mixture.emit(stream, state.data(), batch.view());
    const std::vector<Slot> slots = mixture.host_slots(step);
    for (std::size_t row = 0; row < static_cast<std::size_t>(kRows); ++row) {
      const std::uint8_t* const mask = batch.view().mask + 9 * row;
      EXPECT_EQ(std::count(mask, mask + 9, 1), slots[row].source == 0 ? 6 : 0);
      EXPECT_EQ(std::count(mask, mask + 9, 0), slots[row].source == 0 ? 3 : 9);
      for (std::size_t p = 0; p < 144; ++p)
        ASSERT_EQ(batch.x()[(144 * row + p) * 3] == 0, mask[p / 12 / 4 * 3 + p % 12 / 4] == 1);
    }
  }
}

TEST(Canvas, RefusesWhatHasNoMeaning) {
  const auto data = [](const std::string& text) {
    return message_of(ErrorKind::config, [&] {
      const ConfigDocument document = ConfigDocument::parse(
          "sources: [{name: a, kind: generator, generator: shapes}]\n" + text, "a.yaml");
      read_data(document.root());
    });
  };
  expect_parts(data("size: 32\ncentre_crop: 24"), {"centre_crop: 24, and size: 32"});
  expect_parts(data("size: 32\naugment: [crop: 24]"), {"augment.crop.resize is 24", "32 x 32"});
  expect_parts(data("augment: [crop]"), {"resize"});
  expect_parts(data("channels: 1\naugment: [simclr]"), {"one channel"});
  expect_parts(data("channels: 2"), {"channels", "auto, 1, 3"});
  expect_parts(message_of(ErrorKind::config,
                          [] {
                            plan_of("augment: [shift: 0.1, crop: 40]", {}, {32, 32});
                          }),
               {"augment.crop comes after shift", "move crop before shift"});
  const TemporaryFolder folder;
  write_image(folder / "a" / "0.ppm", {20, 14}, 1);
  expect_parts(
      message_of(ErrorKind::config,
                 [&] {
                   ReadPhotos(photos(folder.path(), {{"canvas", "9"}, {"resize", "8"}}), "");
                 }),
      {"resize: 8 and canvas: 9", "remove one"});
}

}  // namespace
}  // namespace wellspring::test
