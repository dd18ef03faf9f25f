#include "sources/dataset_source.h"

#include "kernels/augment/operations/operations.h"
#include "kernels/runtime/end_step.h"
#include "kernels/runtime/step_graph.h"
#include "sources/files/image_codec.h"
#include "sources/files/image_set.h"
#include "tests/sources/file_run.h"
#include "tests/support/error_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

enum class Steps : std::uint8_t { eager, replayed };

/// The same trace on a device, where the host does not wait for steps. Each step emits `times`
/// times. With many, the device lags, and a host that fails to wait overwrites rows in use. With
/// one, the device is early, and a step that fails to wait for its data reads old rows.
Trace device_trace(const SourceSpec& spec, Device device, Steps steps, int times,
                   const std::string& yaml) {
  constexpr auto kBatches = static_cast<std::size_t>(FileRun::kSteps);
  MemoryPlan memory(device);
  Mixture mixture = file_mixture(spec, true, yaml);
  Stream stream(device, 1);
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

class DatasetSourceTest : public ImageFolderTest {};

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
  for (const RowForm form : {RowForm::encoded, RowForm::decoded}) {
    for (const bool archived : {true, false}) {
      const fs::path copy = folder_.path() / "copy";
      fs::copy(archived ? archive : root_, copy, fs::copy_options::recursive);
      SourceSpec spec =
          with_storage(files(archived ? folder_.path() / "copy.tar" : copy), Storage::streamed);
      if (archived) fs::rename(copy, spec.path);
      spec.cache = {{.form = form}};
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

TEST_F(DatasetSourceTest, AugmentsEquallyOnAGpu) {
  const std::string lists[] = {
      "crop_resize, blur: {probability: 1}",
      "crop: 14, flip_x: 0.5, flip_y: 0.5, shift: 0.2, zoom: [0.7, 1.2], rotate: 20",
      "perspective, affine: {angle: 20}, brightness: 0.3, contrast: 0.3, saturation: 0.3, hue: 0.2",
      "contrast: {strength: 0.5, about: mean}, solarise: 0.5, posterise: {bits: 3}",
      "autocontrast: 1",
      "equalise: 1",
      "sharpen: {factor: 1.8, probability: 1}, noise: 0.1, grey: 0.5, erase: 3",
      "blur: {probability: 1}, equalise: 1, erase_box: {probability: 1, fill: noise}",
      "rand_augment",
      "trivial_augment",
      "auto_augment",
      "augmix",
      "mask_patches: {patch: 2, ratio: 0.5}",
  };
  augment::Operations::each([&]<class Op>() {
    EXPECT_TRUE(std::ranges::any_of(lists, [](const std::string& list) {
      return list.find(Op::kInfo.name) != list.npos;
    })) << Op::kInfo.name;
  });
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  const SourceSpec spec = with_storage(files(root_), Storage::resident);
  for (const std::string& list : lists) {
    const std::string yaml = "augment: [" + list + "]";
    EXPECT_EQ(device_trace(spec, Device::parse("auto"), Steps::eager, 1, yaml),
              trace(spec, true, 0, yaml))
        << list;
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

TEST_F(DatasetSourceTest, StopsWhileDecoding) {
  for (int i = 0; i < 20; ++i) {
    FileRun run(with_storage(files(root_), Storage::streamed, 4), false);
    for (int s = 0; s < i % 4; ++s) run.step(static_cast<std::uint64_t>(s));
  }
}

}  // namespace
}  // namespace wellspring::test
