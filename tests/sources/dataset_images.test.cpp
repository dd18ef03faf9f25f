// Decoding, conversion and damage of data set images.
#include "sources/dataset_source.h"
#include "sources/files/format.h"
#include "tests/sources/file_run.h"
#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

class DatasetImages : public ImageFolderTest {};

std::string refused(const SourceSpec& spec, int size = 0) {
  SourceContext context;
  context.size = size;
  return message_of(ErrorKind::data, [&] {
    MemoryPlan memory(Device::cpu());
    Mixture mixture(1);
    mixture.add(make_source(spec, context), {});
    mixture.plan(memory, 4, 10);
    memory.commit();
    Stream stream(Device::cpu(), 1);
    mixture.load(stream);
  });
}

TEST_F(DatasetImages, ResizesAndConverts) {
  const fs::path mixed = folder_.path() / "mixed";
  write_bytes(mixed / "a/1.jpg", encode_jpeg(noise_rgb(40, 30, 1), 40, 30));
  write_bytes(mixed / "a/2.png", encode_png(noise_rgb(12, 90, 2), 12, 90, PngKind::grey8));
  write_bytes(mixed / "a/3.png", encode_png(noise_rgb(13, 13, 3), 13, 13, PngKind::rgb16));
  write_bytes(mixed / "a/4.jpg", encode_jpeg(noise_rgb(20, 20, 4), 20, 20, JpegKind::grey));
  write_bytes(mixed / "a/5.jpg", encode_jpeg(noise_rgb(20, 20, 5), 20, 20, JpegKind::cmyk));
  write_bytes(mixed / "a/6.webp", encode_webp(noise_rgb(14, 12, 6), 14, 12));
  write_bytes(mixed / "a/7.pgm", encode_pgm(noise_rgb(14, 12, 7), 14, 12));
  SourceSpec spec = with(files(mixed), "resize", fmt::format("{}", kSide));
  expect_parts(refused(spec), {"2.png", "greyscale image", "on_convert: convert"});
  spec = with(spec, "on_convert", "convert");
  const Trace resident = trace(with_storage(spec, Storage::resident), false);
  EXPECT_EQ(resident.x.size(), static_cast<std::size_t>(240 * kShape.elements()));
  EXPECT_EQ(trace(with_storage(spec, Storage::streamed), false), resident);
  expect_parts(DatasetSource(spec, {}).summary(), {"resized to 12"});
}

TEST_F(DatasetImages, SkipsImagesThatCannotBeDecoded) {
  write_bytes(root_ / "class1/000.jpg", {0xff, 0xd8, 0xff, 0, 1, 2});
  write_bytes(root_ / "class2/001.jpg", encode_jpeg(noise_rgb(12, 12, 1), 12, 12, JpegKind::cmyk));
  write_bytes(root_ / "class2/002.png", {});
  SourceSpec spec = files(root_);
  expect_parts(refused(spec), {"class1/000.jpg", "damaged JPEG", "on_error: skip"});
  spec = with(spec, "on_error", "skip");
  const DatasetSource source(spec, {});
  EXPECT_EQ(source.size(), 18u);
  expect_parts(source.summary(), {"18 images", "3 skipped", "class1/000.jpg"});
  fs::create_symlink("/gone", root_ / "class2/link.png");
  expect_parts(
      DatasetSource(spec, {}).summary(),
      {"18 images", "4 skipped, first " + (root_ / "class2/link.png").string(), "a broken link"});
  EXPECT_EQ(trace(with_storage(spec, Storage::streamed), false),
            trace(with_storage(spec, Storage::resident), false));
}

// A decoder that kept state from these files would refuse or misread later files.
TEST_F(DatasetImages, SkipsOnlyDamagedImages) {
  const Bytes jpeg = encode_jpeg(noise_rgb(kSide, kSide, 1), kSide, kSide);
  const fs::path set = folder_.path() / "set";
  for (int i = 0; i < 12; ++i) write_bytes(set / fmt::format("a/{:02}.jpg", i), jpeg);
  write_bytes(set / "a/00-cut.jpg", before_scan(jpeg));
  write_bytes(set / "a/05-huge.jpg", with_size(jpeg, 65535, 65535));
  write_bytes(set / "a/07-tables.jpg", without_segments(jpeg, 0xdb));
  const SourceSpec spec = with(with_storage(files(set), Storage::resident, 1), "on_error", "skip");
  expect_parts(DatasetSource(spec, {}).summary(), {"12 images of 1 class", "3 skipped"});
}

// Class 0 has fewer readable images than the limit; 70 damaged images come first in class 1.
TEST_F(DatasetImages, KeepsTheFirstReadableImagesOfEachClass) {
  const fs::path set = folder_.path() / "set";
  const auto write = [&](int label, int i, bool damaged) {
    Bytes png = encode_png(noise_rgb(kSide, kSide, static_cast<std::uint32_t>(i)), kSide, kSide);
    if (damaged) png.resize(40);
    write_bytes(set / fmt::format("{}/{:03}.png", label, i), png);
  };
  for (int i = 0; i < 3; ++i) write(0, i, i == 1);
  for (int i = 0; i < 90; ++i) write(1, i, i < 70 || i == 72);
  for (int i = 0; i < 9; ++i) write(2, i, i > 4);
  const auto open = [&](std::int64_t limit, int threads) {
    return open_dataset({.path = set,
                         .settings = {{"on_error", "skip"}},
                         .limit_per_class = limit,
                         .threads = threads});
  };
  for (const int threads : {1, 3}) {
    const auto data = open(4, threads);
    std::vector<std::string> kept;
    for (std::int64_t row = 0; row < data->size(); ++row)
      kept.push_back(fs::path(data->location(row)).stem().string());
    EXPECT_EQ(kept, (std::vector<std::string>{"000", "002", "070", "071", "073", "074", "000",
                                              "001", "002", "003"}));
    EXPECT_EQ(data->label(9), 2);
    expect_parts(data->summary(), {"first 4 of each class", "72 skipped", "0/001.png"});
    expect_parts(open(0, threads)->summary(), {"26 images of 3 classes", "76 skipped"});
  }
}

TEST_F(DatasetImages, SkipsImagesOfShardsInWhichAClassHasNone) {
  const fs::path path = folder_.path() / "x.tar";
  const auto write = [&](bool last_damaged) {
    TarWriter tar;
    for (int i = 0; i < 4; ++i) {
      Bytes png = encode_png(noise_rgb(kSide, kSide, static_cast<std::uint32_t>(i)), kSide, kSide);
      if (i == 1 || (last_damaged && i == 3)) png.resize(40);
      tar.add(fmt::format("{}.png", i), png);
      tar.add(fmt::format("{}.cls", i), {static_cast<std::uint8_t>(i < 3 ? '0' : '2')});
    }
    write_bytes(path, tar.finish());
  };
  const DatasetRequest request{
      .path = path, .settings = {{"on_error", "skip"}}, .format = "webdataset"};
  write(false);
  const auto data = open_dataset(request);
  expect_parts(data->summary(), {"3 images of 3 classes (1 without samples)", "1 skipped"});
  EXPECT_EQ(data->label(2), 2);
  write(true);
  expect_parts(message_of(ErrorKind::data, [&] { open_dataset(request); }),
               {"class '2' has no readable image"});
}

TEST_F(DatasetImages, RefusesImagesWithoutTablesForAnyThreadCount) {
  const Bytes jpeg = encode_jpeg(noise_rgb(kSide, kSide, 1), kSide, kSide);
  write_bytes(root_ / "class2/999.jpg", without_segments(jpeg, 0xdb));
  for (const int threads : {1, 2, 4, 8}) {
    for (const Storage storage : {Storage::resident, Storage::streamed}) {
      expect_parts(message_of(ErrorKind::data,
                              [&] { trace(with_storage(files(root_), storage, threads), false); }),
                   {"class2/999.jpg: damaged JPEG"});
    }
  }
}

// With any number of threads, the first bad image in order must be reported. Headers of streamed
// images are checked before the first step, even in images that no step uses.
TEST_F(DatasetImages, RefusesBadImagesByName) {
  struct Case {
    std::string name;
    Bytes bytes;
    std::vector<std::string> parts;
    bool only_pixels = false;  ///< the header is good
  };
  const Bytes rgb = noise_rgb(kSide, kSide, 1);
  const Bytes jpeg = encode_jpeg(rgb, kSide, kSide), png = encode_png(rgb, kSide, kSide);
  const Case cases[] = {
      {"1.jpg", Bytes(jpeg.begin(), jpeg.end() - 60), {"damaged JPEG", "on_error: skip"}, true},
      {"1.png", Bytes(png.begin(), png.end() - 60), {"damaged PNG", "truncated"}, true},
      {"1.jpg", {}, {"the file is empty"}},
      {"1.jpg", Bytes(40'000, 0xff), {"not a JPEG, PNG"}},  // longer than a single read
      {"1.jpg", {'B', 'M', 0, 0}, {"not a JPEG, PNG, WebP or PPM image"}},
      {"1.jpg", {'G', 'I', 'F', '8', '9', 'a'}, {"it is a GIF image", "mogrify -format png"}},
      {"1.jpg",
       encode_jpeg(rgb, kSide, kSide, JpegKind::cmyk),
       {"CMYK JPEG", "on_convert: convert"}},
      {"1.jpg",
       encode_jpeg(rgb, kSide, kSide, JpegKind::grey),
       {"greyscale image", "on_convert: convert"}},
      {"1.png",
       encode_png(rgb, kSide, kSide, PngKind::grey8),
       {"greyscale image", "on_convert: convert"}},
      {"1.png",
       encode_png(rgb, kSide, kSide, PngKind::rgb16),
       {"16-bit PNG", "on_convert: convert"}},
      {"1.png", encode_png(rgb, kSide, kSide, PngKind::rgba8), {"transparency", "on_convert"}},
      {"1.png",
       huge_png_header(60'000, 50'000),
       {"image of 60000x50000 pixels", "max_pixels is 67108864", "raise max_pixels"}},
      {"1.jpg",
       encode_jpeg(noise_rgb(16, 8, 1), 16, 8),
       {"16x8", "class0/000.jpg has 12x12", "set resize: 12"}},
  };
  for (const Case& c : cases) {
    const fs::path path = root_ / "class1" / c.name;
    write_bytes(path, c.bytes);
    write_bytes(root_ / "class2/1.jpg", {1, 2, 3});  // a later bad image
    std::vector<std::string> parts = c.parts;
    parts.push_back(path.string() + ": ");
    for (const int threads : {1, 4}) {
      expect_parts(refused(with_storage(files(root_), Storage::resident, threads)), parts);
      if (c.only_pixels) continue;
      expect_parts(refused(with_storage(files(root_), Storage::streamed, threads)), parts);
    }
    fs::remove(path);
  }
}

// Sparse files, with a good header and without one. Reading one whole could take all memory.
TEST_F(DatasetImages, RefusesAFileThatIsTooLargeForAnImage) {
  const fs::path path = root_ / "class1/huge.jpg";
  for (const Bytes& begin : {encode_jpeg(noise_rgb(kSide, kSide, 1), kSide, kSide), Bytes(9, 0)}) {
    write_bytes(path, begin);
    fs::resize_file(path, (std::uintmax_t{1} << 30) + 1);
    for (const Storage storage : {Storage::resident, Storage::streamed})
      expect_parts(refused(with_storage(files(root_), storage, 1)),
                   {path.string() + ": a file of 1.0 GiB", "at most 1.0 GiB", "on_error: skip"});
  }
}

TEST_F(DatasetImages, ReadsHeadersAfterLargeProfiles) {
  Bytes jpeg = encode_jpeg(noise_rgb(kSide, kSide, 1), kSide, kSide);
  Bytes profile = {0xff, 0xe2, 0xff, 0xff};  // an APP2 segment of the maximum length, 65535 bytes
  profile.resize(2 + 65535, 7);
  jpeg.insert(jpeg.begin() + 2, profile.begin(), profile.end());
  write_bytes(root_ / "class2/zz.jpg", jpeg);
  EXPECT_EQ(trace(with_storage(files(root_), Storage::streamed), false),
            trace(with_storage(files(root_), Storage::resident), false));
}

TEST_F(DatasetImages, RefusesImagesThatDoNotFitTheNetwork) {
  expect_parts(refused(files(root_), 32), {"class0/000.jpg", "12x12", "the network reads 32x32",
                                           "on source 'real'", "resize: 32"});
}

TEST_F(DatasetImages, ReportsTheMemberOfAnArchive) {
  TarWriter writer;
  writer.add("a/1.jpg", encode_jpeg(noise_rgb(8, 8, 1), 8, 8));
  writer.add("a/2.jpg", {1, 2, 3});
  const fs::path archive = folder_.path() / "x.tar";
  write_bytes(archive, writer.finish());
  expect_parts(refused(files(archive)), {archive.string() + ": a/2.jpg: not a JPEG, PNG"});
}

// With any number of threads, before_step must throw at the step that needs the damaged file.
TEST_F(DatasetImages, ReportsADecodingFailureAtItsStep) {
  const fs::path damaged = root_ / "class1/003.jpg";
  Bytes cut = encode_jpeg(noise_rgb(kSide, kSide, 1), kSide, kSide);
  cut.resize(cut.size() - 60);
  write_bytes(damaged, cut);
  for (const int threads : {1, 4}) {
    FileRun run(with_storage(files(root_), Storage::streamed, threads), false);
    std::uint64_t needed = 0;
    const auto uses = [&](std::uint64_t s) {
      const std::vector<Slot> slots = run.mixture.host_slots(s);
      return std::any_of(slots.begin(), slots.end(),
                         [](const Slot& slot) { return slot.sample == 7 + 3; });
    };
    while (!uses(needed)) ++needed;
    for (std::uint64_t s = 0; s < needed; ++s) run.step(s);
    for (int attempt = 0; attempt < 2; ++attempt) {  // a retry must fail, too
      expect_parts(message_of(ErrorKind::data, [&] { run.step(needed); }),
                   {damaged.string(), "damaged JPEG"});
    }
  }
}

// The large image comes first but fails later than the small image that follows it.
TEST_F(DatasetImages, ReportsTheFirstFailureInOrder) {
  const fs::path slow = folder_.path() / "slow";
  Bytes large = encode_jpeg(noise_rgb(1500, 1500, 1), 1500, 1500);
  Bytes small = encode_jpeg(noise_rgb(kSide, kSide, 1), kSide, kSide);
  large.resize(large.size() - 1000);
  small.resize(small.size() - 60);
  write_bytes(slow / "a/0.jpg", encode_jpeg(noise_rgb(kSide, kSide, 1), kSide, kSide));
  write_bytes(slow / "a/1.jpg", large);
  write_bytes(slow / "a/2.jpg", small);
  for (const Storage storage : {Storage::resident, Storage::streamed}) {
    SourceSpec spec = with_storage(files(slow), storage, 4);
    spec = with(spec, "resize", fmt::format("{}", kSide));
    spec.shuffle = false;
    expect_parts(message_of(ErrorKind::data, [&] { FileRun(spec, false).step(0); }),
                 {"a/1.jpg: damaged JPEG"});
  }
}

}  // namespace
}  // namespace wellspring::test
