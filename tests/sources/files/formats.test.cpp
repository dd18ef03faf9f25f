// Tests inputs that every data set format must read or refuse. The same images must give the same
// batches in every format and storage.
#include "core/io/npy.h"
#include "kernels/runtime/step_state.h"
#include "sources/files/format.h"
#include "sources/mixture.h"
#include "sources/source_spec.h"
#include "tests/sources/fake_source.h"
#include "tests/support/augmentation.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> row_of(const Dataset& data, std::int64_t row) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(data.layout().bytes()));
  data.reader()->read(row, bytes.data());
  return bytes;
}

template <class T>
void write_array(const fs::path& path, ElementType type, std::vector<std::int64_t> shape,
                 const std::vector<T>& values) {
  write_npy(path, {type, std::move(shape)}, std::as_bytes(std::span(values)));
}

class DatasetFormats : public ::testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  std::unique_ptr<Dataset> open(const std::string& name, std::vector<ParamSetting> settings = {},
                                std::int64_t limit = 0, const std::string& format = "") const {
    return open_dataset({.path = path(name),
                         .settings = std::move(settings),
                         .limit_per_class = limit,
                         .threads = 2,
                         .format = format});
  }
  std::string refused(const std::string& name, std::vector<ParamSetting> settings = {},
                      const std::string& format = "") const {
    return message_of(ErrorKind::data, [&] { open(name, std::move(settings), 0, format); });
  }
  /// Writes the same small set of images in every format.
  void write_all(const test::LabelledImages& images) const {
    test::write_as_folder(path("folder"), images);
    test::write_as_tar(path("set.tar"), images);
    test::write_as_shard(path("shard-0.tar"), images);
    test::write_as_zip(path("images.zip"), images);
    test::write_as_npy(path("arrays"), images);
    test::write_as_cifar(path("cifar"), images);
  }
  struct Stored {
    std::string path;
    std::vector<ParamSetting> settings;
  };
  std::vector<Stored> all_formats() const {
    return {{"folder", {}},
            {"set.tar", {}},
            {"shard-{0..0}.tar", {{"classes", "arrays/classes.txt"}}},
            {"images.zip", {}},
            {"arrays/x.npy", {{"labels", "y.npy"}, {"class_names", "classes.txt"}}},
            {"cifar", {}}};
  }

  TemporaryFolder folder_;
};

TEST_F(DatasetFormats, AreListedWithSummariesAndHelp) {
  std::vector<std::string> names;
  for (const DatasetFormat& format : format_registry()) {
    names.push_back(format.name);
    EXPECT_FALSE(format.summary.empty());
    EXPECT_FALSE(format.files.empty());
    EXPECT_EQ(&find_format(format.name), &format);
    for (const ParamRow& row : format.parameters) EXPECT_FALSE(row.help.empty()) << row.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"cifar", "folder", "hdf5", "idx", "npy", "npz", "tar",
                                             "tfrecord", "webdataset", "zip"}));
  expect_parts(message_of(ErrorKind::config,
                          [] {
                            find_format("nyp", {"run.yaml", 3, 4});
                          }),
               {"run.yaml:3:4", "unknown format 'nyp'", "npy"});
}

TEST_F(DatasetFormats, GiveEqualRowsForEqualImages) {
  const test::LabelledImages images = test::labelled_noise(3, 5, 32);
  write_all(images);
  for (const Stored& stored : all_formats()) {
    const auto data = open(stored.path, stored.settings);
    ASSERT_EQ(data->size(), 15) << stored.path;
    EXPECT_EQ(data->layout().sample, SampleLayout::image(32, 32, 3));
    EXPECT_EQ(data->layout().bytes(), 3072);
    EXPECT_EQ(data->classes(), images.classes);
    for (std::int64_t i = 0; i < data->size(); ++i) {
      EXPECT_EQ(data->label(i), images.label[static_cast<std::size_t>(i)]);
      ASSERT_EQ(row_of(*data, i), images.rgb[static_cast<std::size_t>(i)]) << data->location(i);
    }
    expect_parts(data->summary(), {"15 images of 3 classes", "32x32", path(stored.path).string()});
  }
}

TEST_F(DatasetFormats, TakeTheFirstRowsOfEachClass) {
  const test::LabelledImages images = test::labelled_noise(3, 5, 32);
  write_all(images);
  for (const Stored& stored : all_formats()) {
    const auto data = open(stored.path, stored.settings, 2);
    ASSERT_EQ(data->size(), 6) << stored.path;
    for (std::int64_t i = 0; i < 6; ++i) {
      EXPECT_EQ(data->label(i), i / 2);
      EXPECT_EQ(row_of(*data, i), images.rgb[static_cast<std::size_t>(5 * (i / 2) + i % 2)]);
    }
    expect_parts(data->summary(), {"first 2 of each class"});
  }
}

/// All batches of a short mixture of the files in `spec` with an endless source.
std::vector<float> batches(const SourceSpec& spec, Storage storage) {
  constexpr std::int64_t kBatch = 6;
  constexpr std::uint64_t kSteps = 8;
  SourceSpec own = spec;
  own.storage = storage;
  own.threads = 2;
  own.ahead = 2;
  SourceContext context;
  context.seed = 5;
  context.training = test::augmentations_of("augment: [flip_x: 0.5]");
  MemoryPlan memory(Device::cpu());
  Mixture mixture(3);
  mixture.add(make_source(own, context), {.weight = 2});
  const SampleLayout layout = mixture.layout();
  const FakeSource::Traits traits{.shape = layout.shape(), .kind = layout.kind};
  mixture.add(std::make_unique<FakeSource>("fake", traits), {});
  mixture.plan(memory, kBatch, kSteps);
  const auto state = memory.reserve<StepState>("state", "step", 1);
  memory.commit();
  Stream stream(Device::cpu(), 1);
  mixture.load(stream);
  const HostBatch batch(kBatch, layout);
  std::vector<float> all;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    state.data()->step = step;
    mixture.before_step(stream, step);
    mixture.emit(stream, state.data(), batch.view());
    mixture.after_step(stream, step);
    for (const float value : batch.x()) all.push_back(value);
    for (const std::int32_t value : batch.label()) all.push_back(static_cast<float>(value));
    for (const float value : batch.weight()) all.push_back(value);
  }
  return all;
}

SourceSpec spec_of(const fs::path& path, std::vector<ParamSetting> settings) {
  SourceSpec spec;
  spec.name = "real";
  spec.kind = SourceKind::files;
  spec.path = path.string();
  spec.params = std::move(settings);
  return spec;
}

TEST_F(DatasetFormats, GiveEqualBatchesForEqualImages) {
  write_all(test::labelled_noise(3, 5, 32));
  const std::vector<float> expected = batches(spec_of(path("folder"), {}), Storage::resident);
  for (const Stored& stored : all_formats()) {
    const SourceSpec spec = spec_of(path(stored.path), stored.settings);
    EXPECT_EQ(batches(spec, Storage::resident), expected) << stored.path;
    EXPECT_EQ(batches(spec, Storage::streamed), expected) << stored.path;
  }
}

TEST_F(DatasetFormats, ReadEventsBitForBit) {
  constexpr std::int64_t kRows = 20, kFeatures = 3;
  std::vector<float> x;
  std::vector<std::int32_t> y;
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t f = 0; f < kFeatures; ++f) {
      x.push_back(std::sin(static_cast<float>(7 * i + f)));
    }
    y.push_back(static_cast<std::int32_t>(i % 2));
  }
  write_array(path("x.npy"), ElementType::f32, {kRows, kFeatures}, x);
  write_array(path("y.npy"), ElementType::i32, {kRows}, y);
  const SourceSpec spec = spec_of(path("x.npy"), {{"labels", "y.npy"}});
  EXPECT_EQ(batches(spec, Storage::streamed), batches(spec, Storage::resident));

  for (const Storage storage : {Storage::resident, Storage::streamed}) {
    SourceSpec own = spec;
    own.storage = storage;
    const auto source = make_source(own, {});
    EXPECT_EQ(source->classes(), (std::vector<std::string>{"0", "1"}));
    expect_parts(source->summary(), {"20 events of 2 classes", "3 features"});
    MemoryPlan memory(Device::cpu());
    source->plan(memory, Share::whole(4));
    memory.commit();
    Stream stream(Device::cpu(), 1);
    source->load(stream);
    SampleLayout layout = source->layout();
    layout.latents = 2;  // room for the latents of another source
    const HostBatch batch(4, layout);
    std::vector<Slot> slots(4);
    for (std::uint32_t row = 0; row < 4; ++row) slots[row] = {8 + row, 8 + row, 1, row};
    source->emit_range(stream, slots.data(), 1, 8, 4, batch.view());
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(batch.label()[i], y[8 + i]);
      EXPECT_EQ(batch.weight()[i], 1.f);
      EXPECT_EQ(batch.latents()[2 * i + 1], 0.f);
      for (std::size_t f = 0; f < 3; ++f) EXPECT_EQ(batch.x()[3 * i + f], x[3 * (8 + i) + f]);
    }
  }
}

TEST_F(DatasetFormats, ReadGreyImagesAsOneChannel) {
  write_array(path("x.npy"), ElementType::u8, {2, 3, 4}, std::vector<std::uint8_t>(24, 7));
  write_array(path("y.npy"), ElementType::u8, {2}, std::vector<std::uint8_t>{0, 1});
  EXPECT_EQ(open("x.npy", {{"labels", "y.npy"}})->layout().sample, SampleLayout::image(3, 4, 1));
}

TEST_F(DatasetFormats, NameClassesByFileOrNumber) {
  write_array(path("x.npy"), ElementType::u8, {2, 2, 2}, std::vector<std::uint8_t>(8, 7));
  write_array(path("y.npy"), ElementType::i64, {2}, std::vector<std::int64_t>{0, 1});
  using Names = std::vector<std::string>;
  EXPECT_EQ(open("x.npy", {{"labels", "y.npy"}})->classes(), (Names{"0", "1"}));
  EXPECT_EQ(open("x.npy", {{"labels", "y.npy"}, {"classes", "3"}})->classes(),
            (Names{"0", "1", "2"}));
  spill(path("names"), "left hand\n right \r\n\n");
  EXPECT_EQ(open("x.npy", {{"labels", "y.npy"}, {"class_names", "names"}})->classes(),
            (Names{"left hand", "right"}));
  expect_parts(refused("x.npy", {{"labels", "y.npy"}, {"class_names", "names"}, {"classes", "3"}}),
               {"names: has names for 2 classes", "classes: is 3"});
  spill(path("names"), "a\nb\na\n");
  expect_parts(refused("x.npy", {{"labels", "y.npy"}, {"class_names", "names"}}),
               {"duplicate class 'a'"});
  spill(path("names"), "\n \n");
  expect_parts(refused("x.npy", {{"labels", "y.npy"}, {"class_names", "names"}}),
               {"names: no class names"});
}

TEST_F(DatasetFormats, RefuseDamagedArrays) {
  const std::vector<ParamSetting> labels = {{"labels", "y.npy"}};
  const auto images = [&] {
    write_array(path("x.npy"), ElementType::u8, {3, 2, 2, 3}, std::vector<std::uint8_t>(36, 7));
    write_array(path("y.npy"), ElementType::i64, {3}, std::vector<std::int64_t>{0, 1, 2});
  };
  images();
  EXPECT_EQ(open("x.npy", labels)->size(), 3);

  spill(path("x.npy"), slurp(path("x.npy")).substr(0, 150));
  expect_parts(refused("x.npy", labels), {"x.npy", "22 bytes of data, but its shape needs 36"});
  spill(path("x.npy"), "PK\3\4 something else");
  expect_parts(refused("x.npy", labels), {"x.npy: not a NumPy array", "it is a zip archive"});
  spill(path("x.npy"), "");
  expect_parts(refused("x.npy", labels), {"x.npy", "the file is empty"});
  fs::remove(path("x.npy"));
  expect_parts(refused("x.npy", labels), {"x.npy: no such file"});

  images();
  fs::remove(path("y.npy"));
  expect_parts(refused("x.npy", labels), {"y.npy: no such file"});
  write_array(path("y.npy"), ElementType::i64, {2}, std::vector<std::int64_t>{0, 1});
  expect_parts(refused("x.npy", labels), {"y.npy is an array of I64 [2]", "'x.npy' has 3 rows"});
  write_array(path("y.npy"), ElementType::f32, {3}, std::vector<float>{0, 1.5, 2});
  expect_parts(refused("x.npy", labels), {"y.npy of row 1 is 1.5", "astype('int64')"});
  write_array(path("y.npy"), ElementType::i64, {3}, std::vector<std::int64_t>{0, -1, 2});
  expect_parts(refused("x.npy", labels), {"y.npy: row 1 has label -1", "3 classes, 0 to 2"});
  write_array(path("y.npy"), ElementType::i64, {3}, std::vector<std::int64_t>{0, 1, 2});
  expect_parts(refused("x.npy", {{"labels", "y.npy"}, {"classes", "2"}}),
               {"y.npy: row 2 has label 2", "2 classes, 0 to 1", "classes:"});
  write_array(path("y.npy"), ElementType::i64, {3}, std::vector<std::int64_t>{0, 1, 1LL << 40});
  expect_parts(refused("x.npy", labels), {"largest label is 1099511627776", "classes:"});
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  write_array(path("y.npy"), ElementType::i64, {3}, std::vector<std::int64_t>{0, 1, kMost});
  expect_parts(refused("x.npy", labels), {"largest label is 9223372036854775807", "classes:"});

  images();
  const auto wrong = [&]<class T>(ElementType type, std::vector<std::int64_t> shape,
                                  std::vector<T> values) {
    write_array(path("x.npy"), type, std::move(shape), values);
    return refused("x.npy", labels);
  };
  expect_parts(wrong(ElementType::u8, {3, 4, 2, 2}, std::vector<std::uint8_t>(48)),
               {"array of U8 [3, 4, 2, 2]", "[rows, height, width, 1 or 3]", "reshape"});
  expect_parts(wrong(ElementType::f32, {3, 0}, std::vector<float>()), {"array of F32 [3, 0]"});
  expect_parts(wrong(ElementType::u8, {0, 2, 2}, std::vector<std::uint8_t>()), {"it has no rows"});
  expect_parts(wrong(ElementType::u8, {}, std::vector<std::uint8_t>(1)), {"is a scalar"});
}

TEST_F(DatasetFormats, RefuseFeaturesThatAreNan) {
  write_array(path("x.npy"), ElementType::f32, {2, 2},
              std::vector<float>{0, 1, 2, std::numeric_limits<float>::quiet_NaN()});
  write_array(path("y.npy"), ElementType::i64, {2}, std::vector<std::int64_t>{0, 1});
  for (const Storage storage : {Storage::resident, Storage::streamed}) {
    SourceSpec spec = spec_of(path("x.npy"), {{"labels", "y.npy"}});
    spec.storage = storage;
    const auto source = make_source(spec, {});
    MemoryPlan memory(Device::cpu());
    source->plan(memory, Share::whole(4));
    memory.commit();
    Stream stream(Device::cpu(), 1);
    expect_parts(message_of(ErrorKind::data, [&] { source->load(stream); }),
                 {"x.npy: row 1: feature 1 is nan"});
  }
}

TEST_F(DatasetFormats, ReadSplitsOfCifar) {
  const test::LabelledImages images = test::labelled_noise(2, 6, 32);
  test::write_as_cifar(path("cifar"), images, 3);
  fs::copy_file(path("cifar/data_batch_2.bin"), path("cifar/test_batch.bin"));
  EXPECT_EQ(open("cifar")->size(), 12);
  EXPECT_EQ(open("cifar", {{"split", "train"}})->size(), 12);
  const auto test = open("cifar", {{"split", "test"}});
  EXPECT_EQ(test->size(), 4);
  EXPECT_EQ(row_of(*test, 1), images.rgb[5]);
  EXPECT_EQ(test->location(1), path("cifar/test_batch.bin").string() + ": record 1");
  EXPECT_EQ(open("cifar")->location(5), path("cifar/data_batch_2.bin").string() + ": record 1");
  EXPECT_EQ(open("cifar/data_batch_3.bin")->size(), 4);
}

// Records of CIFAR-100 begin with two labels.
TEST_F(DatasetFormats, ReadBothLabelsOfCifar100) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) {
    bytes += static_cast<char>(i / 2);  // coarse label
    bytes += static_cast<char>(i);      // fine label
    bytes += std::string(3072, static_cast<char>(10 + i));
  }
  fs::create_directory(path("hundred"));
  spill(path("hundred/train.bin"), bytes);
  spill(path("hundred/fine_label_names.txt"), "a\nb\nc\nd\n");
  spill(path("hundred/coarse_label_names.txt"), "ab\ncd\n");
  const auto fine = open("hundred"), coarse = open("hundred", {{"labels", "coarse"}});
  EXPECT_EQ(fine->classes().size(), 4u);
  EXPECT_EQ(coarse->classes(), (std::vector<std::string>{"ab", "cd"}));
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(fine->label(i), i);
    EXPECT_EQ(coarse->label(i), i / 2);
    EXPECT_EQ(row_of(*fine, i), std::vector<std::uint8_t>(3072, static_cast<std::uint8_t>(10 + i)));
  }
}

TEST_F(DatasetFormats, RefusePickledCifar) {
  fs::create_directories(path("py"));
  spill(path("py/data_batch_1"), "\x80\2}.");
  expect_parts(refused("py"), {"py/data_batch_1: a Python pickle", "scripts/fetch-cifar10 DIR"});
  fs::rename(path("py/data_batch_1"), path("py/train"));  // CIFAR-100
  expect_parts(refused("py", {}, "cifar"), {"py/train: a Python pickle"});
}

TEST_F(DatasetFormats, RefuseDamagedCifar) {
  const test::LabelledImages images = test::labelled_noise(2, 6, 32);
  const auto fresh = [&] {
    fs::remove_all(path("cifar"));
    test::write_as_cifar(path("cifar"), images, 3);
  };
  fresh();
  spill(path("cifar/data_batch_3.bin"), slurp(path("cifar/data_batch_3.bin")).substr(0, 5000));
  expect_parts(refused("cifar"), {"data_batch_3.bin: 5000 bytes", "3073 bytes", "unpack it again"});
  spill(path("cifar/data_batch_3.bin"), "");
  expect_parts(refused("cifar"), {"data_batch_3.bin: 0 bytes"});
  fs::remove(path("cifar/data_batch_2.bin"));
  expect_parts(refused("cifar"), {"data_batch_2.bin: no such file"});
  expect_parts(refused("cifar", {{"split", "test"}}), {"test_batch.bin: no such file"});
  fresh();
  std::string bytes = slurp(path("cifar/data_batch_2.bin"));
  bytes[2 * 3073] = 9;
  spill(path("cifar/data_batch_2.bin"), bytes);
  expect_parts(refused("cifar"), {"data_batch_2.bin: record 2 has label 9",
                                  "batches.meta.txt has 2 classes, 0 to 1"});
  std::string many(std::size_t{3073} * 3000, '\0');  // labels are read a thousand records at a time
  many[std::size_t{3073} * 2500] = 9;
  spill(path("cifar/data_batch_2.bin"), many);
  expect_parts(refused("cifar"), {"data_batch_2.bin: record 2500 has label 9"});
  fresh();
  fs::remove(path("cifar/batches.meta.txt"));
  expect_parts(refused("cifar"), {"batches.meta.txt: no such file"});
  fresh();
  expect_parts(refused("cifar", {{"labels", "coarse"}}), {"labels: coarse", "only CIFAR-100"});
}

TEST_F(DatasetFormats, AreChosenByPathOrName) {
  const test::LabelledImages images = test::labelled_noise(2, 2, 32);
  write_all(images);
  fs::rename(path("set.tar"), path("set.bundle"));
  expect_parts(refused("set.bundle"),
               {"set.bundle: cannot tell the format from the file name",
                "cifar, folder, hdf5, idx, npy, npz, tar, tfrecord, webdataset, zip", "format:"});
  EXPECT_EQ(open("set.bundle", {}, 0, "tar")->size(), 4);
  spill(path("weights.ckpt"),
        std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"));
  expect_parts(refused("weights.ckpt"), {"it is a PyTorch checkpoint", "scripts/torch-weights"});
  spill(path("set.zip"), "PK\3\4" + std::string(60, '\0'));
  expect_parts(refused("set.zip"), {"set.zip: not a zip archive, or a damaged one"});
  spill(path("set.tar.gz"), "\x1f\x8b\x08");
  expect_parts(refused("set.tar.gz"), {"it is compressed with gzip", "gunzip"});
  expect_parts(refused("folder", {}, "tar"), {"that is format folder, but format: is tar"});
  expect_parts(refused("cifar", {}, "folder"), {"no images"});
  expect_parts(refused("folder", {}, "cifar"), {"batches.meta.txt: no such file"});
  expect_parts(refused("folder", {{"labels", "y.npy"}}, "npy"), {"folder"});
  expect_parts(
      message_of(ErrorKind::config,
                 [&] {
                   open("arrays/x.npy", {{"labels", "y.npy"}, {"resize", "3", {"run.yaml", 2, 5}}});
                 }),
      {"run.yaml:2:5", "unknown key 'resize'"});
}

TEST_F(DatasetFormats, CheckSettingsBeforeOpening) {
  check_format_settings("", {{"resize", "32"}, {"labels", "y.npy"}, {"split", "whatever"}});
  check_format_settings("cifar", {{"split", "test"}});
  const auto refusal = [](const std::string& format, const ParamSetting& setting) {
    return message_of(ErrorKind::config, [&] { check_format_settings(format, {setting}); });
  };
  expect_parts(refusal("cifar", {"split", "val", {"a.yaml", 1, 2}}), {"a.yaml:1:2", "val"});
  expect_parts(refusal("", {"resize", "x", {"a.yaml", 1, 2}}), {"a.yaml:1:2", "resize"});
  expect_parts(refusal("npy", {"resize", "3"}), {"format npy", "'resize'"});
}

}  // namespace
}  // namespace wellspring::test
