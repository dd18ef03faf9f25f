// Longer than 500 lines: resident, streamed, resumed and damaged data sets share the fixtures.
#include "sources/dataset_source.h"

#include "core/io/sha256.h"
#include "kernels/runtime/end_step.h"
#include "kernels/runtime/step_graph.h"
#include "sources/files/image_codec.h"
#include "sources/files/image_set.h"
#include "sources/mixture.h"
#include "tests/sources/fake_source.h"
#include "tests/support/augmentation.h"
#include "tests/support/chi_square.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"
#include "tests/support/image_fixtures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr int kSide = 12;
constexpr SampleShape kShape{kSide, kSide, 3};

SourceSpec files(const fs::path& path) {
  SourceSpec spec;
  spec.name = "real";
  spec.kind = SourceKind::files;
  spec.path = path.string();
  spec.threads = 2;
  spec.ahead = 2;
  return spec;
}

SourceSpec with(SourceSpec spec, const std::string& key, const std::string& value) {
  spec.params.push_back({key, value});
  return spec;
}

SourceSpec with_storage(SourceSpec spec, Storage storage, int threads = 2) {
  spec.storage = storage;
  spec.threads = threads;
  return spec;
}

/// A source of files, alone or mixed with an endless source.
void add_sources(Mixture& mixture, const SourceSpec& spec, bool mixed,
                 const std::string& yaml = "") {
  SourceContext context;
  context.seed = 5;
  context.training = test::augmentations_of(yaml);
  mixture.add(make_source(spec, context), {});
  if (!mixed) return;
  const SampleShape shape = mixture.source(0).layout().shape();
  mixture.add(std::make_unique<FakeSource>("fake", FakeSource::Traits{.shape = shape}), {});
  mixture.set_schedule({{0, {0, 1}}, {0.2, {0, 1}}, {0.6, {0.7, 0.3}}, {1, {1, 0}}});
}

/// A loaded mixture with a batch to emit into.
struct FileRun {
  static constexpr std::int64_t kBatch = 8;
  static constexpr std::uint64_t kSteps = 30;

  FileRun(const SourceSpec& spec, bool mixed, const std::string& yaml = "") {
    add_sources(mixture, spec, mixed, yaml);
    mixture.plan(memory, kBatch, kSteps);
    state = memory.reserve<StepState>("state", "step", 1);
    memory.commit();
    mixture.load(stream);
    batch = std::make_unique<HostBatch>(kBatch, mixture.layout());
  }

  void step(std::uint64_t number) {
    state.data()->step = number;
    mixture.before_step(stream, number);
    mixture.emit(stream, state.data(), batch->view());
    mixture.after_step(stream, number);
  }
  const Dataset& data() const { return *mixture.source(0).rows(); }

  MemoryPlan memory{Device::cpu()};  // outlives the threads that fill it
  Mixture mixture{3};
  Stream stream{Device::cpu(), 1};
  Planned<StepState> state;
  std::unique_ptr<HostBatch> batch;
};

/// Pixels and labels of all steps, batch by batch.
struct Trace {
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  friend bool operator==(const Trace&, const Trace&) = default;
};

Trace trace(const SourceSpec& spec, bool mixed, std::uint64_t first = 0,
            const std::string& yaml = "") {
  FileRun run(spec, mixed, yaml);
  Trace result;
  for (std::uint64_t s = first; s < FileRun::kSteps; ++s) {
    run.step(s);
    const auto x = run.batch->x();
    const auto label = run.batch->label();
    result.x.insert(result.x.end(), x.begin(), x.end());
    result.labels.insert(result.labels.end(), label.begin(), label.end());
  }
  return result;
}

enum class Steps : std::uint8_t { eager, replayed };

/// The same trace on a device, where the host does not wait for steps. Each step emits `times`
/// times. If many, the device lags, and a host that fails to wait overwrites rows in use. If one,
/// the device is early, and a step that fails to wait for its data reads old rows.
Trace device_trace(const SourceSpec& spec, Device device, Steps steps, int times,
                   const std::string& yaml) {
  constexpr auto kBatches = static_cast<std::size_t>(FileRun::kSteps);
  MemoryPlan memory(device);
  Mixture mixture(3);
  Stream stream(device, 1);
  add_sources(mixture, spec, true, yaml);
  mixture.plan(memory, FileRun::kBatch, FileRun::kSteps);
  constexpr auto kRows = static_cast<std::size_t>(FileRun::kBatch);
  const std::size_t values = kRows * static_cast<std::size_t>(mixture.layout().elements());
  const auto state = memory.reserve<StepState>("state", "step", 1);
  BatchColumns columns;
  columns.plan(memory, "batch", FileRun::kBatch, mixture.layout(), DType::f32);
  const auto all_x = memory.reserve<float>("copy", "x", values * kBatches, MemorySpace::host);
  const auto all_labels =
      memory.reserve<std::int32_t>("copy", "label", kRows * kBatches, MemorySpace::host);
  memory.commit();
  mixture.load(stream);
  const BatchView batch = columns.view();
  const auto body = [&](Stream& s) {
    for (int i = 0; i < times; ++i) mixture.emit(s, state.data(), batch);
    end_step(s, state.data());
  };
  std::unique_ptr<StepGraph> graph;
  if (steps == Steps::replayed) graph = StepGraph::record(stream, body);
  for (std::size_t step = 0; step < kBatches; ++step) {
    mixture.before_step(stream, step);
    if (graph) {
      graph->launch(stream);
    } else {
      body(stream);
    }
    mixture.after_step(stream, step);
    stream.copy(all_x.data() + step * values, batch.x, values * sizeof(float),
                CopyDirection::device_to_host, "x");
    stream.copy(all_labels.data() + step * kRows, batch.label, kRows * sizeof(std::int32_t),
                CopyDirection::device_to_host, "labels");
  }
  stream.synchronize();
  return {{all_x.data(), all_x.data() + all_x.size()},
          {all_labels.data(), all_labels.data() + all_labels.size()}};
}

class DatasetSourceTest : public ::testing::Test {
 protected:
  DatasetSourceTest() { test::write_image_folder(root_, 3, 7, kSide, kSide); }
  std::string refused(const SourceSpec& spec, int size = 0) {
    SourceContext context;
    context.size = size;
    const std::string message = message_of(ErrorKind::data, [&] {
      MemoryPlan memory(Device::cpu());
      Mixture mixture(1);
      mixture.add(make_source(spec, context), {});
      mixture.plan(memory, 4, 10);
      memory.commit();
      Stream stream(Device::cpu(), 1);
      mixture.load(stream);
    });
    return message;
  }

  TemporaryFolder folder_;
  fs::path root_ = folder_.path() / "images";
};

// Every emitted row must equal the image of its slot, decoded directly.
TEST_F(DatasetSourceTest, EmitsDecodedImages) {
  FileRun run(with_storage(files(root_), Storage::resident), true);
  const ImageSet images = ImageSet::open({root_, "", 0});
  ImageDecoder decoder;
  std::vector<std::uint8_t> encoded, rgb(static_cast<std::size_t>(kShape.elements()));
  int seen = 0;
  for (std::uint64_t s = 0; s < FileRun::kSteps; ++s) {
    run.step(s);
    for (const Slot& slot : run.mixture.host_slots(s)) {
      if (slot.source != 0) continue;
      const auto image = static_cast<std::int64_t>(slot.sample);
      images.read(image, encoded);
      decoder.decode(encoded, decoder.header(encoded), rgb.data());
      ASSERT_EQ(run.batch->label()[slot.row], images.label(image));
      ASSERT_EQ(run.batch->weight()[slot.row], 1.f);
      for (std::size_t i = 0; i < rgb.size(); ++i) {
        ASSERT_EQ(run.batch->x()[slot.row * rgb.size() + i], static_cast<float>(rgb[i]) / 255.f);
      }
      ++seen;
    }
  }
  EXPECT_GT(seen, 60);  // covers several epochs of 21 images
}

TEST_F(DatasetSourceTest, StreamedRowsEqualResidentRowsForAnyThreadCount) {
  for (const bool mixed : {false, true}) {
    const Trace resident = trace(with_storage(files(root_), Storage::resident), mixed);
    for (const int threads : {1, 2, 5}) {
      EXPECT_EQ(trace(with_storage(files(root_), Storage::streamed, threads), mixed), resident)
          << mixed << " " << threads;
    }
    SourceSpec deep = with_storage(files(root_), Storage::streamed, 3);
    deep.ahead = 7;
    EXPECT_EQ(trace(deep, mixed), resident);
  }
}

// The files are removed after the start, so the rows can only come from memory.
TEST_F(DatasetSourceTest, CachedRowsEqualResidentRowsAndNeedNoFiles) {
  const fs::path archive = folder_.path() / "x.tar";
  ASSERT_EQ(std::system(("tar -C " + root_.string() + " -cf " + archive.string() + " .").c_str()),
            0);
  for (const RowCache cache : {RowCache::encoded, RowCache::decoded}) {
    for (const bool archived : {true, false}) {
      const fs::path copy = folder_.path() / "copy";
      fs::copy(archived ? archive : root_, copy, fs::copy_options::recursive);
      SourceSpec spec =
          with_storage(files(archived ? folder_.path() / "copy.tar" : copy), Storage::streamed);
      if (archived) fs::rename(copy, spec.path);
      spec.cache = cache;
      spec.rows = "3..18";
      SourceSpec resident = spec;
      resident.storage = Storage::resident;
      const Trace expected = trace(resident, true);
      FileRun run(spec, true);
      fs::remove_all(spec.path);
      Trace cached;
      for (std::uint64_t s = 0; s < FileRun::kSteps; ++s) {
        run.step(s);
        cached.x.insert(cached.x.end(), run.batch->x().begin(), run.batch->x().end());
        cached.labels.insert(cached.labels.end(), run.batch->label().begin(),
                             run.batch->label().end());
      }
      EXPECT_EQ(cached, expected) << archived;
      expect_parts(run.mixture.source(0).summary(), {"rows in host memory ("});
    }
  }
}

TEST_F(DatasetSourceTest, AugmentsEachRepeatDifferently) {
  SourceSpec spec = with_storage(files(root_), Storage::resident);
  spec.repeats = 3;
  const std::string yaml = "augment: [shift: 0.4]";
  const Trace repeated = trace(spec, false, 0, yaml);
  // A batch of 8 rows may begin between repeats of an image; 240 rows are four epochs.
  const std::size_t rows = repeated.labels.size(), values = repeated.x.size() / rows;
  const FileRun run(spec, false, yaml);
  SampleOrder once = run.mixture.source(0).order();
  once.repeats = 1;
  std::vector<std::size_t> row_of(rows);  // by ordinal, because copies are spread over the batch
  for (std::uint64_t s = 0, row = 0; s < FileRun::kSteps; ++s)
    for (const Slot& slot : run.mixture.host_slots(s)) row_of.at(slot.ordinal) = row++;
  const ImageSet images = ImageSet::open({root_, "", 0});
  const auto pixels = [&](std::size_t ordinal) {
    return repeated.x.begin() + static_cast<std::ptrdiff_t>(row_of[ordinal] * values);
  };
  for (std::size_t i = 0; i < rows; ++i) {
    ASSERT_EQ(repeated.labels[row_of[i]],
              images.label(static_cast<std::int64_t>(once.sample(i / 3))));
    if (i % 3 == 0) continue;
    ASSERT_FALSE(
        std::equal(pixels(i), pixels(i) + static_cast<std::ptrdiff_t>(values), pixels(i - 1)));
  }
  spec.storage = Storage::streamed;
  EXPECT_EQ(trace(spec, false, 0, yaml), repeated);
  spec.storage = Storage::resident;
  EXPECT_EQ(trace(spec, true, 0, yaml),
            trace(with_storage(spec, Storage::streamed, 3), true, 0, yaml));
}

/// Pixels are copied without augmentation and interpolated with it.
std::vector<std::string> device_augmentations() {
  return {"", "augment: [flip_x, rotate: 20, zoom: [0.8, 1], erase: 3]"};
}

TEST_F(DatasetSourceTest, EmitsTheSameBatchesOnAGpu) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  const Device device = Device::parse("auto");
  for (const std::string& yaml : device_augmentations()) {
    const Trace host = trace(with_storage(files(root_), Storage::resident), true, 0, yaml);
    for (const Storage storage : {Storage::resident, Storage::streamed}) {
      const SourceSpec spec = with_storage(files(root_), storage);
      for (const Steps steps : {Steps::eager, Steps::replayed}) {
        for (const int times : {1, 50}) {
          EXPECT_EQ(device_trace(spec, device, steps, times, yaml), host) << times;
        }
      }
    }
  }
}

// Tests device_trace itself on the host.
TEST_F(DatasetSourceTest, DeviceTraceMatchesOnTheHost) {
  for (const std::string& yaml : device_augmentations()) {
    const Trace host = trace(with_storage(files(root_), Storage::resident), true, 0, yaml);
    for (const Steps steps : {Steps::eager, Steps::replayed}) {
      const SourceSpec streamed = with_storage(files(root_), Storage::streamed);
      EXPECT_EQ(device_trace(streamed, Device::cpu(), steps, 2, yaml), host);
    }
  }
}

TEST_F(DatasetSourceTest, StreamsFromAnyStep) {
  const SourceSpec streamed = with_storage(files(root_), Storage::streamed);
  const Trace whole = trace(streamed, true), tail = trace(streamed, true, 13);
  EXPECT_TRUE(std::equal(tail.x.begin(), tail.x.end(),
                         whole.x.end() - static_cast<std::ptrdiff_t>(tail.x.size())));
  // Takes steps out of order, repeatedly, and beyond the planned end.
  FileRun run(streamed, true), reference(with_storage(files(root_), Storage::resident), true);
  for (const std::uint64_t s : {20, 21, 21, 22, 5, 6, 29, 30, 31, 31, 45, 0, 1, 2}) {
    run.step(s);
    reference.step(s);
    ASSERT_TRUE(*run.batch == *reference.batch) << s;
  }
}

TEST_F(DatasetSourceTest, ReplaysFromTheStepCounterAlone) {
  for (const Storage storage : {Storage::resident, Storage::streamed}) {
    FileRun eager(with_storage(files(root_), storage), true);
    FileRun replayed(with_storage(files(root_), storage), true);
    const auto graph = StepGraph::record(replayed.stream, [&](Stream& stream) {
      replayed.mixture.emit(stream, replayed.state.data(), replayed.batch->view());
    });
    EXPECT_TRUE(graph->census().no_host_transfer());
    for (std::uint64_t s = 0; s < FileRun::kSteps; ++s) {
      eager.step(s);
      replayed.state.data()->step = s;
      replayed.mixture.before_step(replayed.stream, s);
      graph->launch(replayed.stream);
      replayed.mixture.after_step(replayed.stream, s);
      ASSERT_TRUE(*eager.batch == *replayed.batch);
    }
  }
}

TEST_F(DatasetSourceTest, AllocatesNothingAfterLoading) {
  FileRun run(with_storage(files(root_), Storage::streamed), true);
  const std::uint64_t before = device_allocation_count();
  for (std::uint64_t s = 0; s < FileRun::kSteps; ++s) run.step(s);
  EXPECT_EQ(device_allocation_count(), before);
  run.memory.check_guards();
}

TEST_F(DatasetSourceTest, EvaluatesEveryImageOnceWithoutAugmentation) {
  const std::string mirrored = "augment: [flip_x: 1]";
  for (const Storage storage : {Storage::resident, Storage::streamed}) {
    FileRun run(with_storage(files(root_), storage), true, mirrored);
    run.step(15);  // evaluates in the middle of training
    FileRun undisturbed(with_storage(files(root_), storage), true, mirrored);
    undisturbed.step(15);
    std::vector<float> x;
    for (std::int64_t first = 0; first < 21; first += FileRun::kBatch) {
      const std::int64_t count = std::min<std::int64_t>(FileRun::kBatch, 21 - first);
      run.mixture.emit_range(run.stream, 0, static_cast<std::uint64_t>(first), run.batch->view(),
                             count);
      for (std::int64_t row = 0; row < count; ++row) {
        EXPECT_EQ(run.batch->label()[static_cast<std::size_t>(row)], (first + row) / 7);
      }
      const auto made = run.batch->x();
      x.insert(x.end(), made.begin(), made.begin() + count * kShape.elements());
    }
    const ImageSet images = ImageSet::open({root_, "", 0});
    ImageDecoder decoder;
    std::vector<std::uint8_t> encoded, rgb(static_cast<std::size_t>(kShape.elements()));
    for (std::int64_t i = 0; i < 21; ++i) {
      images.read(i, encoded);
      decoder.decode(encoded, decoder.header(encoded), rgb.data());
      for (std::size_t k = 0; k < rgb.size(); ++k) {
        ASSERT_EQ(x[static_cast<std::size_t>(i) * rgb.size() + k],
                  static_cast<float>(rgb[k]) / 255.f);
      }
    }
    run.step(16);
    undisturbed.step(16);
    EXPECT_TRUE(*run.batch == *undisturbed.batch);
  }
}

TEST_F(DatasetSourceTest, ChoosesItsStorageByTheBudget) {
  const std::uint64_t all = 21 * static_cast<std::uint64_t>(kShape.elements());
  const struct {
    std::uint64_t budget;
    Storage storage;
    std::vector<std::string> summary;
  } cases[] = {
      {all,
       Storage::automatic,
       {"21 images of 3 classes", "12x12", "resident", "within the budget of 8.9 KiB"}},
      {all - 1, Storage::automatic, {"streamed by 2 threads, 2 batches ahead", "over the budget"}},
      {1, Storage::resident, {"resident"}},
      {all, Storage::streamed, {"streamed", "as configured"}},
      {0, Storage::automatic, {"resident"}},  // 0 means a quarter of the machine's memory
  };
  for (const auto& [budget, storage, summary] : cases) {
    SourceContext context;
    context.budget_bytes = budget;
    DatasetSource source(with_storage(files(root_), storage), context);
    MemoryPlan memory(Device::cpu());
    source.plan(memory, Share::whole(4));
    expect_parts(source.summary(), summary);
  }
}

TEST_F(DatasetSourceTest, ResizesAndConverts) {
  const fs::path mixed = folder_.path() / "mixed";
  write_bytes(mixed / "a/1.jpg", encode_jpeg(noise_rgb(40, 30, 1), 40, 30));
  write_bytes(mixed / "a/2.png", encode_png(noise_rgb(12, 90, 2), 12, 90, PngKind::grey8));
  write_bytes(mixed / "a/3.png", encode_png(noise_rgb(13, 13, 3), 13, 13, PngKind::rgb16));
  write_bytes(mixed / "a/4.jpg", encode_jpeg(noise_rgb(20, 20, 4), 20, 20, JpegKind::grey));
  write_bytes(mixed / "a/5.jpg", encode_jpeg(noise_rgb(20, 20, 5), 20, 20, JpegKind::cmyk));
  write_bytes(mixed / "a/6.webp", test::encode_webp(noise_rgb(14, 12, 6), 14, 12));
  write_bytes(mixed / "a/7.pgm", test::encode_pgm(noise_rgb(14, 12, 7), 14, 12));
  SourceSpec spec = with(files(mixed), "resize", fmt::format("{}", kSide));
  expect_parts(refused(spec), {"2.png", "greyscale image", "on_convert: convert"});
  spec = with(spec, "on_convert", "convert");
  const Trace resident = trace(with_storage(spec, Storage::resident), false);
  EXPECT_EQ(resident.x.size(), static_cast<std::size_t>(240 * kShape.elements()));
  EXPECT_EQ(trace(with_storage(spec, Storage::streamed), false), resident);
  expect_parts(DatasetSource(spec, {}).summary(), {"resized to 12"});
}

TEST_F(DatasetSourceTest, SkipsImagesThatCannotBeDecoded) {
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
TEST_F(DatasetSourceTest, SkipsOnlyDamagedImages) {
  const Bytes jpeg = encode_jpeg(noise_rgb(kSide, kSide, 1), kSide, kSide);
  const fs::path set = folder_.path() / "set";
  for (int i = 0; i < 12; ++i) write_bytes(set / fmt::format("a/{:02}.jpg", i), jpeg);
  write_bytes(set / "a/00-cut.jpg", test::before_scan(jpeg));
  write_bytes(set / "a/05-huge.jpg", test::with_size(jpeg, 65535, 65535));
  write_bytes(set / "a/07-tables.jpg", test::without_segments(jpeg, 0xdb));
  const SourceSpec spec = with(with_storage(files(set), Storage::resident, 1), "on_error", "skip");
  expect_parts(DatasetSource(spec, {}).summary(), {"12 images of 1 class", "3 skipped"});
}

TEST_F(DatasetSourceTest, RefusesImagesWithoutTablesForAnyThreadCount) {
  const Bytes jpeg = encode_jpeg(noise_rgb(kSide, kSide, 1), kSide, kSide);
  write_bytes(root_ / "class2/999.jpg", test::without_segments(jpeg, 0xdb));
  for (const int threads : {1, 2, 4, 8}) {
    for (const Storage storage : {Storage::resident, Storage::streamed}) {
      expect_parts(message_of(ErrorKind::data,
                              [&] { trace(with_storage(files(root_), storage, threads), false); }),
                   {"class2/999.jpg: damaged JPEG"});
    }
  }
}

// With any number of threads, the first bad image in order must be reported.
TEST_F(DatasetSourceTest, RefusesBadImagesByName) {
  struct Case {
    std::string name;
    Bytes bytes;
    std::vector<std::string> parts;
  };
  const Bytes rgb = noise_rgb(kSide, kSide, 1);
  const Bytes jpeg = encode_jpeg(rgb, kSide, kSide), png = encode_png(rgb, kSide, kSide);
  const Case cases[] = {
      {"1.jpg", Bytes(jpeg.begin(), jpeg.end() - 60), {"damaged JPEG", "on_error: skip"}},
      {"1.png", Bytes(png.begin(), png.end() - 60), {"damaged PNG", "truncated"}},
      {"1.jpg", {}, {"the file is empty"}},
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
       test::huge_png_header(60'000, 50'000),
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
    }
    fs::remove(path);
  }
}

// Headers are checked before the first step, even in images that no step uses.
TEST_F(DatasetSourceTest, ChecksHeadersOfStreamedImagesAtTheStart) {
  const Bytes rgb = noise_rgb(kSide, kSide, 1);
  const fs::path path = root_ / "class2/zz.png";
  const auto message = [&](const Bytes& bytes) {
    write_bytes(path, bytes);
    std::string first;
    for (const int threads : {1, 4}) {
      first = refused(with_storage(files(root_), Storage::streamed, threads));
      expect_parts(first, {path.string() + ": "});
    }
    return first;
  };
  expect_parts(message({}), {"the file is empty"});
  expect_parts(message({'B', 'M', 0, 0}), {"not a JPEG, PNG, WebP or PPM image"});
  expect_parts(message(encode_jpeg(rgb, kSide, kSide, JpegKind::cmyk)), {"CMYK JPEG"});
  expect_parts(message(encode_jpeg(rgb, kSide, kSide, JpegKind::grey)), {"greyscale"});
  expect_parts(message(encode_png(rgb, kSide, kSide, PngKind::grey8)), {"greyscale"});
  expect_parts(message(encode_png(rgb, kSide, kSide, PngKind::rgb16)), {"16-bit PNG"});
  expect_parts(message(test::huge_png_header(60'000, 50'000)), {"60000x50000", "max_pixels"});
  expect_parts(message(encode_png(noise_rgb(16, 8, 1), 16, 8)), {"16x8", "set resize: 12"});
  expect_parts(message(Bytes(40'000, 0xff)), {"not a JPEG, PNG"});  // longer than a single read
}

TEST_F(DatasetSourceTest, ReadsHeadersAfterLargeProfiles) {
  Bytes jpeg = encode_jpeg(noise_rgb(kSide, kSide, 1), kSide, kSide);
  Bytes profile = {0xff, 0xe2, 0xff, 0xff};  // an APP2 segment of the maximum length, 65535 bytes
  profile.resize(2 + 65535, 7);
  jpeg.insert(jpeg.begin() + 2, profile.begin(), profile.end());
  write_bytes(root_ / "class2/zz.jpg", jpeg);
  EXPECT_EQ(trace(with_storage(files(root_), Storage::streamed), false),
            trace(with_storage(files(root_), Storage::resident), false));
}

TEST_F(DatasetSourceTest, RefusesImagesThatDoNotFitTheNetwork) {
  expect_parts(refused(files(root_), 32), {"class0/000.jpg", "12x12", "the network reads 32x32",
                                           "on source 'real'", "resize: 32"});
}

TEST_F(DatasetSourceTest, ReportsTheMemberOfAnArchive) {
  test::TarWriter writer;
  writer.add("a/1.jpg", encode_jpeg(noise_rgb(8, 8, 1), 8, 8));
  writer.add("a/2.jpg", {1, 2, 3});
  const fs::path archive = folder_.path() / "x.tar";
  write_bytes(archive, writer.finish());
  expect_parts(refused(files(archive)), {archive.string() + ": a/2.jpg: not a JPEG, PNG"});
}

// With any number of threads, before_step must throw at the step that needs the damaged file.
TEST_F(DatasetSourceTest, ReportsADecodingFailureAtItsStep) {
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
TEST_F(DatasetSourceTest, ReportsTheFirstFailureInOrder) {
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

TEST_F(DatasetSourceTest, StopsWhileDecoding) {
  for (int i = 0; i < 20; ++i) {
    FileRun run(with_storage(files(root_), Storage::streamed, 4), false);
    for (int s = 0; s < i % 4; ++s) run.step(static_cast<std::uint64_t>(s));
  }
}

class SharedCifar : public ::testing::Test {
 protected:
  void SetUp() override {
    data_ = test::shared_data();
    if (data_.empty()) {
      GTEST_SKIP() << "needs cifar10-train.tar in ../shared/data or WELLSPRING_SHARED";
    }
  }
  SourceSpec train(std::int64_t limit) const {
    SourceSpec spec = files(data_ / "cifar10-train.tar");
    spec.limit_per_class = limit;
    return spec;
  }
  fs::path data_;
};

TEST_F(SharedCifar, HasAllClassesInTheFirstBatch) {
  SourceContext context;
  context.seed = 1;
  const auto source = make_source(train(0), context);
  EXPECT_EQ(source->layout(), SampleLayout::image(32, 32, 3));
  const Dataset& images = *source->rows();
  const SampleOrder order = source->order();
  std::vector<double> counts(10, 0);
  for (std::uint64_t i = 0; i < 128; ++i) {
    ++counts[static_cast<std::size_t>(images.label(static_cast<std::int64_t>(order.sample(i))))];
  }
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 0);  // p < 10 * 0.9^128 = 1e-5
  EXPECT_LT(test::chi_square_score(counts, 12.8), 5);
}

TEST_F(SharedCifar, StreamedRowsEqualResidentRows) {
  const SourceSpec spec = train(20);
  const Trace resident = trace(with_storage(spec, Storage::resident), true);
  EXPECT_EQ(trace(with_storage(spec, Storage::streamed, 3), true), resident);
}

TEST_F(SharedCifar, DecodesCompletely) {
  SourceSpec spec = with(files(data_), "split", "test");
  spec.storage = Storage::resident;
  FileRun run(spec, false);
  EXPECT_EQ(run.data().size(), 5000);
}

}  // namespace
}  // namespace wellspring::test
