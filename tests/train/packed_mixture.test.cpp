// A mixture packed into array files gives the same rows as the run's batches.
#include "export/array_shards.h"
#include "export/layouts/webdataset.h"
#include "sources/files/format.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"
#include "train/run_samples.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace wellspring {
namespace {

constexpr const char* kMixture = R"(name: mixture
seed: 7
device: cpu
threads: 1
data:
  size: 12
  normalise: none
  augment: [{flip_x: 0.5}]
  sources:
    - {name: shapes, kind: generator, generator: shapes, params: {classes: 4}}
    - {name: photos, kind: files, path: photos}
  schedule:
    - {at: 0%, weights: {shapes: 3, photos: 1}}
    - {at: 100%, weights: {shapes: 1, photos: 2}}
model: {name: mlp, widths: [8]}
train: {batch: 8, steps: 6}
)";

TEST(PackedMixture, IsReadBack) {
  const test::TemporaryFolder folder;
  test::write_as_folder(folder / "photos", test::labelled_noise(3, 5, 12));
  const auto feed = [&] {
    const std::vector<std::string> root = {"data.root=" + folder.path().string()};
    return RunSamples(RunConfig::parse(kMixture, "mixture.yaml", root),
                      {RunSampleRange::Split::train, 0, 29});
  };
  for (const char* format : {kNpzShards, kHdf5Shards}) {
    ExportOptions options;
    options.shards = format;
    options.shard_samples = 6;
    options.images.pixels = ElementType::u8;
    RunSamples packed = feed(), again = feed();
    EXPECT_EQ(export_samples(packed, folder / format, options).arrays.size(), 5u);
    const auto rows = open_dataset({.path = folder / format});
    ASSERT_EQ(rows->size(), 29);
    const auto reader = rows->reader();
    std::int64_t row = 0;
    bool stored = false;
    again.make([&](const HostSamples& samples) {
      const auto width = static_cast<std::size_t>(samples.rows.layout.elements());
      std::vector<std::uint8_t> pixels(width);
      for (std::size_t i = 0; i < samples.slots.size(); ++i, ++row) {
        stored = stored || samples.slots[i].source == 1;
        EXPECT_EQ(rows->label(row), samples.label()[i]);
        reader->read(row, pixels.data());
        for (std::size_t p = 0; p < width; ++p)
          ASSERT_EQ(pixels[p], std::lround(255 * samples.x()[i * width + p])) << row;
      }
    });
    EXPECT_EQ(row, 29);
    EXPECT_TRUE(stored) << "no sample comes from the files";
  }
}

// The label of a mixed image is the class of only one of two.
TEST(PackedMixture, RefusesTheLabelsOfMixedRows) {
  const test::TemporaryFolder folder;
  test::write_as_folder(folder / "photos", test::labelled_noise(3, 5, 12));
  const auto pack = [&](const std::string& mix, const std::string& out, ExportOptions options) {
    RunSamples feed(
        RunConfig::parse(kMixture, "mixture.yaml",
                         std::vector<std::string>{"data.root=" + folder.path().string(), mix}),
        {RunSampleRange::Split::train, 0, 16});
    export_samples(feed, folder / out, options);
  };
  ExportOptions npz, tar;
  npz.shards = kNpzShards;
  tar.layout = kWebDataset;
  pack("data.mix={mixup: 1, probability: 0}", "plain", npz);
  EXPECT_EQ(open_dataset({.path = folder / "plain"})->size(), 16);
  pack("data.mix={mixup: 1}", "arrays", npz);
  pack("data.mix={cutmix: 1}", "file.npz", {});
  pack("data.mix={cutmix: 1, probability: 0.1}", "tar", tar);
  for (const char* name : {"arrays", "file.npz", "tar"}) {
    test::expect_parts(
        test::message_of(ErrorKind::data, [&] { open_dataset({.path = folder / name}); }),
        {name, "the samples were mixed (data.mix)", "data.mix.probability=0"});
    EXPECT_EQ(open_dataset({.path = folder / name, .labelled = false})->size(), 16) << name;
  }
  EXPECT_EQ(open_dataset({.path = folder / "arrays", .settings = {{"labels", ""}}})->label(0), 0);
}

}  // namespace
}  // namespace wellspring
