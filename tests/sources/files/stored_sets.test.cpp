// Sets and regression targets from files. Exports match the generator byte for byte, community
// files are read, excess items are counted, and bad content is reported with its location.
#include "sources/files/stored_sets.h"

#include "core/io/hdf5.h"
#include "core/io/npy.h"
#include "export/export.h"
#include "sources/files/format.h"
#include "tests/sources/files/emitted_source.h"
#include "tests/sources/files/hdf5_testing.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;
using EmittedSets = test::EmittedSource;
using Settings = std::vector<ParamSetting>;

constexpr std::int64_t kSetRows = EmittedSets::kRows;
const Settings kJets = {{"momentum_low", "100"}, {"momentum_high", "800"}, {"items", "16"}};

SourceSpec generator_spec() {
  return test::generator_source("ginkgo", kJets);
}

class StoredSetFiles : public test::DatasetFiles {
 protected:
  /// Exports samples 100 to 111 under seed 7.
  fs::path exported(const std::string& name, const std::string& layout = "") const {
    GeneratorReader feed(make_generator("ginkgo", 1, kJets), {7, 100, kSetRows},
                         {Device::cpu(), 5, 1});
    export_samples(feed, path(name), {layout, {}});
    return path(name);
  }
  std::string refused(const std::string& name, Settings settings = {}) const {
    return message_of(ErrorKind::data, [&] {
      const auto data = open(name, std::move(settings));
      for_each_row(*data, 1, 0, data->size(),
                   [](RowReader& reader, std::int64_t i) { reader.check(i); });
    });
  }
  /// Writes three sets of 2, 0 and 3 items with 2 features: 0, 1, 2... 9.
  void write_sets(const std::string& name, std::vector<std::int64_t> offsets = {0, 2, 2, 5},
                  const std::function<void(Hdf5Writer&)>& more = {}) const {
    write(name, [&](Hdf5Writer& file) {
      add(file, "x", ElementType::f32, {5, 2}, items_);
      add(file, "offsets", ElementType::i64, {static_cast<std::int64_t>(offsets.size())}, offsets);
      if (more) more(file);
    });
  }
  /// Writes two jets with three slots; the mask of the first jet's second slot is `mask`.
  void write_jets(const std::string& name, float mask = 0) const {
    write(name, [&](Hdf5Writer& file) {
      add(file, "particle_features", ElementType::f32, {2, 3, 4},
          std::vector<float>{.1f, .2f, .5f, 1, 9, 9, 9, mask, .3f, .4f, .25f, 1,  //
                             .5f, .6f, 1,   1, 0, 0, 0, 0,    0,   0,   0,    0});
      add(file, "jet_features", ElementType::f32, {2, 4},
          std::vector<float>{900, .5f, 80, 2, 1000, -1, 10, 1});
    });
  }

  std::vector<float> items_ = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
};

// The features of TrackML hits include their truth columns.
TEST_F(StoredSetFiles, MatchGeneratedTracksByteForByte) {
  const Settings tracks = {{"columns", "truth"}, {"items", "50"}};
  for (const char* name : {"tracks.h5", "tracks.npz"}) {
    GeneratorReader feed(make_generator("tracks", 1, tracks), {7, 3, kSetRows},
                         {Device::cpu(), 5, 1});
    export_samples(feed, path(name), {});
    const EmittedSets made(test::generator_source("tracks", tracks), 3),
        read(file_source(path(name)));
    EXPECT_EQ(read.source->layout(), made.source->layout());
    EXPECT_TRUE(*read.batch == *made.batch) << name;
    EXPECT_EQ(open(name)->features().at(5).name, "particle_id");
  }
}

TEST_F(StoredSetFiles, MatchGeneratedSetsByteForByte) {
  for (const char* name : {"jets.h5", "jets.npz"}) {
    const fs::path file = exported(name, "columns");
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const EmittedSets made(generator_spec(), 100, dtype);
      for (const Storage storage : {Storage::resident, Storage::streamed}) {
        const EmittedSets read(file_source(file, {}, storage), 0, dtype);
        EXPECT_EQ(read.source->layout(), made.source->layout());
        EXPECT_EQ(read.source->classes(), made.source->classes());
        EXPECT_TRUE(*read.batch == *made.batch) << name;
        EXPECT_GT(made.batch->count()[0], 1);
        EXPECT_EQ(read.overflow().samples, 0u);  // the export has already dropped the excess items
      }
    }
    const auto generator = make_generator("ginkgo", 1, kJets);
    const auto data = open(name);
    ASSERT_EQ(data->latents().size(), generator->info().latents.size());
    for (std::size_t k = 0; k < data->latents().size(); ++k) {
      const LatentInfo &there = generator->info().latents[k], &here = data->latents()[k];
      EXPECT_EQ(here.name, there.name);
      EXPECT_EQ(here.unit, there.unit);
      EXPECT_EQ(here.low, there.low);
      EXPECT_EQ(here.high, there.high);
    }
  }
}

// The expected counts come from the same jets, read with room for more items.
TEST_F(StoredSetFiles, CountItemsWithoutRoom) {
  const fs::path file = exported("jets.h5", "columns");
  const EmittedSets whole(file_source(file)), cut(file_source(file, {{"items", "4"}}));
  std::uint64_t samples = 0, items = 0;
  const auto features = static_cast<std::size_t>(whole.source->layout().features);
  for (std::size_t row = 0; row < kSetRows; ++row) {
    const std::int32_t count = whole.batch->count()[row];
    EXPECT_EQ(cut.batch->count()[row], std::min(count, 4));
    samples += count > 4 ? 1 : 0;
    items += count > 4 ? static_cast<std::uint64_t>(count - 4) : 0;
    EXPECT_TRUE(std::ranges::equal(cut.batch->x().subspan(row * 4 * features, 4 * features),
                                   whole.batch->x().subspan(row * 16 * features, 4 * features)));
  }
  EXPECT_GT(samples, 0u);
  EXPECT_EQ(cut.overflow().samples, samples);
  EXPECT_EQ(cut.overflow().items, items);
}

TEST_F(StoredSetFiles, HaveRoomForTheLargestSet) {
  write_sets("sets.h5", {0, 2, 2, 5}, [](Hdf5Writer& file) {
    add(file, "whole", ElementType::f64, {3, 1}, std::vector<double>{.5, 1.5, 2.5});
    add(file, "azimuth", ElementType::f64, {3}, std::vector<double>{3, 1, 2});
    add(file, "target", ElementType::f32, {3, 2}, std::vector<float>{1, 0, 0, 1, 1, 1});
  });
  const auto data = open("sets.h5", {{"globals", "whole"}, {"latents", "[azimuth]"}});
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->layout().sample.items, 3);
  EXPECT_EQ(data->layout().sample.globals, 1);
  EXPECT_EQ(data->layout().bytes(), (3 * 2 + 1 + 1) * 4);
  ASSERT_EQ(data->latents().size(), 1u);
  EXPECT_EQ(data->latents()[0].name, "azimuth");
  EXPECT_EQ(data->latents()[0].low, 1.f);
  EXPECT_EQ(data->latents()[0].high, 3.f);
  ASSERT_EQ(data->targets().size(), 2u);
  EXPECT_EQ(data->targets()[1].name, "target1");
  float target[2];
  data->read_targets(1, target);
  EXPECT_EQ(target[1], 1.f);
  std::vector<float> row(8);
  std::int32_t count = 0;
  const std::vector<std::vector<float>> expected = {
      {0, 1, 2, 3, 0, 0, .5f}, {0, 0, 0, 0, 0, 0, 1.5f}, {4, 5, 6, 7, 8, 9, 2.5f}};
  for (std::int64_t i = 0; i < 3; ++i) {
    data->reader()->read(i, reinterpret_cast<std::uint8_t*>(row.data()));
    EXPECT_TRUE(std::ranges::equal(std::span(row).first(7), expected[static_cast<std::size_t>(i)]));
    std::memcpy(&count, &row[7], sizeof count);
    EXPECT_EQ(count, (std::vector<int>{2, 0, 3})[static_cast<std::size_t>(i)]);
  }
}

TEST_F(StoredSetFiles, ReadTheMaskOfJetNet) {
  write_jets("jets.hdf5");
  const auto data = open("jets.hdf5", {{"label", "1"}});
  EXPECT_EQ(data->layout().sample, SampleLayout::set(3, 3));
  EXPECT_EQ(data->label(0), 1);
  ASSERT_EQ(data->latents().size(), 4u);
  EXPECT_EQ(data->latents()[2].name, "mass");
  EXPECT_EQ(data->latents()[2].unit, "GeV");
  EXPECT_EQ(data->latents()[2].low, 10.f);
  EXPECT_EQ(data->latents()[2].high, 80.f);
  std::vector<float> row(10);
  data->reader()->read(0, reinterpret_cast<std::uint8_t*>(row.data()));
  EXPECT_TRUE(std::ranges::equal(std::span(row).first(9),
                                 std::vector<float>{.1f, .2f, .5f, .3f, .4f, .25f, 0, 0, 0}));
  std::int32_t count = 0;
  std::memcpy(&count, &row[9], sizeof count);
  EXPECT_EQ(count, 2);
}

// The export computes JetNet's features in double precision from the same jets.
TEST_F(StoredSetFiles, ReadExportedJets) {
  const EmittedSets read(file_source(exported("jets.h5")));
  const EmittedSets made(generator_spec(), 100);
  EXPECT_EQ(read.source->layout().features, 3);
  EXPECT_TRUE(std::ranges::equal(read.batch->count(), made.batch->count()));
  EXPECT_TRUE(std::ranges::equal(read.batch->globals(), made.batch->globals()));
  EXPECT_TRUE(std::ranges::equal(read.batch->latents(), made.batch->latents()));
  for (std::size_t row = 0; row < kSetRows; ++row) {
    const float* const jet = &made.batch->globals()[row * 4];
    for (std::size_t i = 0; i < static_cast<std::size_t>(read.batch->count()[row]); ++i) {
      const float share = read.batch->x()[(row * 16 + i) * 3 + 2];
      double nearest = 1;  // relative difference in pT from the nearest generated constituent
      for (std::size_t j = 0; j < 16; ++j) {
        const float* const item = &made.batch->x()[(row * 16 + j) * 4];
        const double pt = std::hypot(item[1], item[2]) / std::hypot(jet[1], jet[2]);
        nearest = std::min(nearest, std::abs(pt / share - 1));
      }
      EXPECT_LT(nearest, 0x1p-23);  // one rounding to f32: 2^-24
    }
  }
}

TEST_F(StoredSetFiles, RefuseInvalidOffsets) {
  const auto message = [&](std::vector<std::int64_t> offsets) {
    write_sets("sets.h5", std::move(offsets));
    return refused("sets.h5");
  };
  expect_parts(message({0, 3, 2, 5}), {"sets.h5: 'offsets' has 2 at index 2", "never decrease"});
  expect_parts(message({1, 2, 5}), {"has 1 at index 0", "start with 0"});
  expect_parts(message({0, 2, 4}), {"has 4 at index 2", "end with 5: 'x' has 5 items"});
  expect_parts(message({0, 9, 5}), {"has 9 at index 1"});
  expect_parts(message({0, -1, 5}), {"has -1 at index 1"});
  expect_parts(message({0}), {"'offsets' is an array of I64 [1]", "[sets + 1]"});
  write_sets("sets.h5");
  expect_parts(refused("sets.h5", {{"offsets", "ofsets"}}), {"did you mean 'offsets'?"});
  write("flat.h5", [&](Hdf5Writer& file) {
    add(file, "x", ElementType::f32, {10}, items_);
    add(file, "offsets", ElementType::i64, {2}, std::vector<std::int64_t>{0, 10});
  });
  expect_parts(refused("flat.h5"), {"'x' is an array of F32 [10]", "[all items, features]"});
  write("real.h5", [&](Hdf5Writer& file) {
    add(file, "x", ElementType::f32, {5, 2}, items_);
    add(file, "offsets", ElementType::f64, {2}, std::vector<double>{0, 5});
  });
  expect_parts(refused("real.h5"), {"'offsets' is an array of F64 [2]", "must be integers"});
}

TEST_F(StoredSetFiles, RefuseBadItemsAndTruthByLocation) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  items_[7] = nan;
  write_sets("nan.h5");
  expect_parts(refused("nan.h5"), {"nan.h5: row 2: item 1, feature 1 is nan"});
  items_[7] = 7;
  write_jets("mask.h5", 0.5f);
  expect_parts(refused("mask.h5"), {"'particle_features' has the mask 0.5 at row 0, item 1"});
  write("pairs.h5", [&](Hdf5Writer& file) {
    add(file, "particle_features", ElementType::f32, {5, 2}, items_);
  });
  expect_parts(refused("pairs.h5"), {"'particle_features' is an array of F32 [5, 2]", "a mask"});
  const auto truth = [&](const std::string& name, std::vector<std::int64_t> shape,
                         const std::vector<float>& values, const Settings& settings) {
    write_sets("truth.h5", {0, 2, 2, 5}, [&](Hdf5Writer& file) {
      add(file, name, ElementType::f32, std::move(shape), values);
    });
    return refused("truth.h5", settings);
  };
  expect_parts(truth("mass", {2}, {1, 2}, {{"latents", "[mass]"}}),
               {"'mass' is an array of F32 [2]",
                "'offsets' has 3 rows: the shape must be [3] or [3, columns]"});
  expect_parts(truth("mass", {3}, {1, nan, 2}, {{"latents", "[mass]"}}),
               {"'mass' of row 1: mass is nan", "ruins the training"});
  expect_parts(truth("mass", {3}, {1, 2, 3}, {{"latents", "[mas]"}}),
               {"'mas' is not in the file", "did you mean 'mass'?"});
  expect_parts(truth("mass", {3}, {1, 2, 3}, {{"latents", "[mass, mass]"}}),
               {"'mass' is the name of two columns"});
  expect_parts(truth("globals", {3, 1}, {1, nan, 3}, {}), {"'globals' of row 1"});
  expect_parts(truth("globals", {2, 1}, {1, 2}, {}), {"'globals' is an array of F32 [2, 1]"});
  expect_parts(refused("truth.h5", {{"globals", "all"}}), {"'all' is not in the file"});
  write("wide.h5", [&](Hdf5Writer& file) {
    add(file, "x", ElementType::f32, {10, 1}, items_);
    add(file, "offsets", ElementType::i64, {2}, std::vector<std::int64_t>{0, 10});
  });
  EXPECT_NO_THROW(open("wide.h5", {{"items", "131072"}}));
  expect_parts(refused("truth.h5", {{"items", "131072"}, {"globals", ""}}),
               {"up to 131072 items of 2 features", "set items: 65536 or less"});
}

// Column names come from the metadata or from attributes, and errors mention them.
TEST_F(StoredSetFiles, TakeColumnNamesFromTheFile) {
  const auto names = [](const std::vector<ValueInfo>& columns) {
    std::vector<std::string> all;
    for (const ValueInfo& column : columns) all.push_back(column.name + " " + column.unit);
    return all;
  };
  const SampleInfo info = make_generator("ginkgo", 1, kJets)->info();
  for (const char* name : {"jets.h5", "jets.npz"}) {
    exported(name, "columns");
    EXPECT_EQ(names(open(name)->features()), names(info.features));
    EXPECT_EQ(names(open(name)->globals()), names(info.globals));
  }
  exported("jets.h5");
  EXPECT_EQ(names(open("jets.h5")->features()),
            (std::vector<std::string>{"eta_rel ", "phi_rel ", "pt_rel "}));
  write_jets("plain.h5");
  EXPECT_EQ(names(open("plain.h5")->features()), names(open("jets.h5")->features()));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  items_[7] = nan;
  write("named.h5", [&](Hdf5Writer& file) {
    file.set(add(file, "x", ElementType::f32, {5, 2}, items_), "columns", "energy, angle");
    add(file, "offsets", ElementType::i64, {2}, std::vector<std::int64_t>{0, 5});
    file.set(add(file, "globals", ElementType::f32, {1, 2}, std::vector<float>{1, nan}), "columns",
             "mass, charge");
  });
  expect_parts(refused("named.h5"), {"'globals' of row 0: charge is nan"});
  expect_parts(refused("named.h5", {{"globals", ""}}), {"item 3, feature 1 (angle) is nan"});
}

TEST_F(StoredSetFiles, RefuseNumbersTooLargeForF32) {
  std::vector<double> large(10, 1.0);
  large[7] = 1e300;
  const auto file = [&](bool sets, bool truth) {
    write("large.h5", [&](Hdf5Writer& to) {
      add(to, "x", ElementType::f64, {5, 2}, truth ? std::vector<double>(10) : large);
      if (sets) add(to, "offsets", ElementType::i64, {3}, std::vector<std::int64_t>{0, 2, 5});
      if (truth) add(to, "mass", ElementType::f64, {5, 2}, large);
    });
    return refused("large.h5", {{"latents", truth ? "[mass]" : "[]"}});
  };
  expect_parts(file(true, false), {"row 1: item 1, feature 1 is 1e+300", "f32", "3.4e38"});
  expect_parts(file(false, false), {"row 3: feature 1 is 1e+300", "f32"});
  expect_parts(file(false, true), {"'mass' of row 3: mass1 is 1e+300", "f32"});
  write("jets.h5", [&](Hdf5Writer& to) {
    std::vector<double> places(12, 1.0);
    places[8] = -1e300;
    add(to, "particle_features", ElementType::f64, {1, 3, 4}, places);
  });
  expect_parts(refused("jets.h5"), {"row 0: item 2, feature 0 (eta_rel) is -1e+300"});
}

TEST_F(StoredSetFiles, RequireNamesForUnusualJetFeatures) {
  for (const std::int64_t width : {3, 5}) {
    const auto jets = [&](const char* columns) {
      write("jets.h5", [&](Hdf5Writer& file) {
        add(file, "particle_features", ElementType::f32, {2, 1, 4},
            std::vector<float>{.1f, .2f, 1, 1, .1f, .2f, 1, 1});
        const auto array = add(file, "jet_features", ElementType::f32, {2, width},
                               std::vector<float>(static_cast<std::size_t>(2 * width), 1));
        if (*columns != '\0') file.set(array, "columns", columns);
      });
    };
    jets("");
    expect_parts(refused("jets.h5"),
                 {fmt::format("'jet_features' is an array of F32 [2, {}]", width),
                  "pt, eta, mass, num_particles", "in an attribute"});
    jets(width == 3 ? "pt, eta, mass" : "type, pt, eta, mass, num_particles");
    EXPECT_EQ(open("jets.h5")->latents().size(), static_cast<std::size_t>(width));
  }
}

TEST_F(StoredSetFiles, ExplainMissingOffsets) {
  write("flat.h5", [&](Hdf5Writer& file) {
    add(file, "x", ElementType::f32, {5, 2}, items_);
    add(file, "label", ElementType::i32, {3}, std::vector<std::int32_t>{0, 1, 0});
  });
  expect_parts(refused("flat.h5"),
               {"'label' is an array of I32 [3]", "'x' has 5 rows, each a sample",
                "no array 'offsets' of set offsets"});
  write("padded.h5", [&](Hdf5Writer& file) {
    add(file, "x", ElementType::f32, {1, 5, 2}, items_);
  });
  expect_parts(refused("padded.h5"), {"'x' is an array of F32 [1, 5, 2]",
                                      "sets are [all items, features] with offsets [sets + 1]"});
}

TEST_F(StoredSetFiles, RefuseDamagedArchives) {
  const std::string whole = test::slurp(exported("jets.npz"));
  test::spill(path("short.npz"), whole.substr(0, whole.size() / 2));
  expect_parts(refused("short.npz"), {"short.npz"});
  std::string altered = whole;
  altered[altered.find("x.npy") + 400] ^= 1;
  test::spill(path("altered.npz"), altered);
  expect_parts(refused("altered.npz"), {"altered.npz: 'x'", "its checksum is wrong"});
}

}  // namespace
}  // namespace wellspring::test
