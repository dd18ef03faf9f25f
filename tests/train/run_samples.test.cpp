// Samples of a configuration must have the bytes that training uses, for any batch size and number
// of threads.
#include "train/run_samples.h"

#include "core/error.h"
#include "core/io/npy.h"
#include "export/digest.h"
#include "export/export.h"
#include "sources/source.h"
#include "tests/sources/files/hdf5_testing.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"
#include "train/trainer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace wellspring {
namespace {

using Split = RunSampleRange::Split;

/// A generator and files, augmented and normalised; the share of the files grows over the run.
constexpr const char* kMixed = R"(name: mixed
seed: 7
device: cpu
threads: 1
data:
  size: 12
  augment: [{shift: 0.2}, {flip_x: 0.5}, {brightness: 0.4}, {blur: {probability: 0.5}}]
  normalise: {mean: [0.5, 0.4, 0.3], std: [0.2, 0.3, 0.4]}
  sources:
    - {name: shapes, kind: generator, generator: shapes, params: {classes: 4}}
    - {name: photos, kind: files, path: x.npy, labels: y.npy, class_names: classes.txt}
  schedule:
    - {at: 0%, weights: {shapes: 3, photos: 1}}
    - {at: 100%, weights: {shapes: 1, photos: 2}}
eval:
  samples: 9
  sources:
    - {of: shapes}
    - {of: photos, path: held.npy, labels: held_y.npy}
model: {name: mlp, widths: [8]}
train: {batch: 8, steps: 6, log_every: 4}
)";

constexpr const char* kSets = R"(name: jets
seed: 3
device: cpu
threads: 1
data:
  sources:
    - {name: jets, kind: generator, generator: ginkgo, params: {items: 12}}
eval: {samples: 20, sources: [{of: jets}]}
model: {name: deepset}
train: {batch: 16, steps: 10}
)";

/// A row of a batch: the bytes of all its columns.
using Row = std::string;

Row row_of(const BatchView& batch, std::int64_t row) {
  Row bytes;
  for (const BatchColumn& column : columns_of(batch)) {
    if (column.data == nullptr) continue;
    const char* const begin =
        static_cast<const char*>(column.data) + static_cast<std::size_t>(row) * column.row_bytes();
    bytes.append(begin, column.row_bytes());
  }
  return bytes;
}

struct Made {
  std::vector<Row> rows;
  std::vector<Slot> slots;
};

Made collect(SampleReader& feed) {
  Made made;
  feed.make([&](const HostSamples& samples) {
    for (std::int64_t row = 0; row < samples.count(); ++row) {
      made.rows.push_back(row_of(samples.rows, row));
      made.slots.push_back(samples.slots[static_cast<std::size_t>(row)]);
    }
  });
  return made;
}

/// Wraps a source and records every row that it writes to training batches.
class Watched final : public Source {
 public:
  Watched(Source& inner, std::map<std::uint64_t, Row>& rows) : inner_(inner), rows_(rows) {}

  const std::string& name() const override { return inner_.name(); }
  SampleLayout layout() const override { return inner_.layout(); }
  const std::vector<std::string>& classes() const override { return inner_.classes(); }
  const std::vector<std::string>& latent_names() const override { return inner_.latent_names(); }
  const Dataset* rows() const override { return inner_.rows(); }
  std::uint64_t size() const override { return inner_.size(); }
  std::uint64_t first_evaluation_sample() const override {
    return inner_.first_evaluation_sample();
  }
  std::string summary() const override { return inner_.summary(); }
  void plan(MemoryPlan& plan, const Share& share) override { inner_.plan(plan, share); }
  void load(Stream& stream) override { inner_.load(stream); }
  Order order() const override { return inner_.order(); }
  void emit(Stream& stream, const Slot* slots, std::uint32_t index,
            const BatchView& batch) override {
    inner_.emit(stream, slots, index, batch);
    stream.run(NodeKind::host, "watch", [this, slots, index, batch] {
      const std::uint64_t first = steps_++ * static_cast<std::uint64_t>(batch.size);
      for (std::int64_t row = 0; row < batch.size; ++row)
        if (slots[row].source == index)
          rows_[first + static_cast<std::uint64_t>(row)] = row_of(batch, row);
    });
  }
  void emit_range(Stream& stream, const Slot* slots, std::uint32_t index, std::uint64_t first,
                  std::int64_t count, const BatchView& batch) override {
    inner_.emit_range(stream, slots, index, first, count, batch);
  }
  void start(const SlotAssignment& assignment, std::uint32_t index) override {
    inner_.start(assignment, index);
  }
  void before_step(Stream& stream, std::uint64_t step, std::uint64_t count) override {
    inner_.before_step(stream, step, count);
  }
  void after_step(Stream& stream, std::uint64_t step, std::uint64_t count) override {
    inner_.after_step(stream, step, count);
  }

 private:
  Source& inner_;
  std::map<std::uint64_t, Row>& rows_;
  std::uint64_t steps_ = 0;
};

class RunSamplesTest : public testing::Test {
 protected:
  RunSamplesTest() {
    test::write_as_npy(folder_.path(), test::labelled_noise(3, 5, 12));
    const auto held = folder_.path() / "held";
    std::filesystem::create_directory(held);
    test::LabelledImages images = test::labelled_noise(3, 9, 12);
    for (test::Bytes& image : images.rgb) image[0] ^= 1;  // must not equal the training images
    test::write_as_npy(held, images);
    std::filesystem::rename(held / "x.npy", folder_.path() / "held.npy");
    std::filesystem::rename(held / "y.npy", folder_.path() / "held_y.npy");
  }

  RunConfig config(const char* text = kMixed, std::vector<std::string> overrides = {}) const {
    overrides.push_back("data.root=" + folder_.path().string());
    return RunConfig::parse(text, "test.yaml", overrides);
  }

  /// All rows of the run's batches, recorded during training.
  static std::map<std::uint64_t, Row> trained(const RunConfig& config) {
    std::map<std::uint64_t, Row> rows;
    Mixture inner = config.open_training(), watched(config.seed);
    for (int i = 0; i < inner.size(); ++i)
      watched.add(std::make_unique<Watched>(inner.source(i), rows), {});
    watched.set_schedule(config.data.schedule);
    TrainObserver silent;
    TrainerOptions options;
    options.write_files = false;
    Trainer trainer(config, std::move(watched), silent, options);
    trainer.train_until(static_cast<std::uint64_t>(config.train.steps));
    return rows;
  }

  struct Part {
    std::uint64_t step, count;
  };
  static void expect_trained(const RunConfig& config, const std::vector<Part>& parts) {
    const std::map<std::uint64_t, Row> expected = trained(config);
    ASSERT_EQ(expected.size(), static_cast<std::size_t>(config.train.steps * config.train.batch));
    for (const auto& [step, count] : parts) {
      RunSamples feed(config, {Split::train, step, count});
      const Made made = collect(feed);
      ASSERT_EQ(made.rows.size(), count);
      const std::uint64_t first = step * static_cast<std::uint64_t>(config.train.batch);
      for (std::uint64_t row = 0; row < count; ++row) {
        ASSERT_TRUE(made.rows[row] == expected.at(first + row))
            << "row " << row << " of " << count << " from step " << step;
      }
    }
  }

  test::TemporaryFolder folder_;
};

TEST_F(RunSamplesTest, GivesTheRowsOfTheTrainersBatches) {
  for (const char* storage : {"resident", "streamed"}) {
    const RunConfig mixed = config(kMixed, {std::string("data.sources.1.storage=") + storage});
    // Tests the whole run, a count that is not a multiple of the batch, a count below the batch,
    // and a start in the middle.
    expect_trained(mixed, {{0, 48}, {0, 21}, {0, 3}, {0, 1}, {4, 13}});
  }
  expect_trained(config(kMixed, {"train.batch=1", "train.steps=11"}), {{0, 11}});
  expect_trained(config(kSets), {{0, 50}});
}

TEST_F(RunSamplesTest, GivesRowsOfBothSources) {
  RunSamples feed(config(), {Split::train, 0, 48});
  const Made made = collect(feed);
  int photos = 0;
  for (const Slot& slot : made.slots) {
    photos += slot.source == 1 ? 1 : 0;
    if (slot.source == 1) {
      EXPECT_LT(slot.sample, 15u);
    }
  }
  // The share grows linearly from 1/4 to 2/3: 11/24 on average, to within one sample.
  EXPECT_NEAR(photos, 48 * 11.0 / 24, 1);
}

TEST_F(RunSamplesTest, GivesDenseLabelsOnlyForGenerators) {
  std::vector<float> plain;
  RunSamples without(config(), {Split::train, 0, 24});
  without.make([&](const HostSamples& samples) {
    plain.insert(plain.end(), samples.x().begin(), samples.x().end());
  });
  for (const Split split : {Split::train, Split::evaluation}) {
    RunSamples feed(config(), {split, 0, 24, DenseLabels::plane});
    EXPECT_EQ(feed.layout().planes, 1);
    std::vector<float> x;
    feed.make([&](const HostSamples& samples) {
      x.insert(x.end(), samples.x().begin(), samples.x().end());
      const std::size_t pixels = samples.plane().size() / samples.slots.size();
      for (std::size_t i = 0; i < samples.slots.size(); ++i) {
        const auto plane = samples.plane().subspan(i * pixels, pixels);
        const auto number = static_cast<float>(samples.label()[i] + 1);
        const bool is_shape = samples.slots[i].source == 0;
        EXPECT_EQ(std::ranges::count(plane, number) > 0, is_shape);
        EXPECT_EQ(std::ranges::count(plane, 0) == std::ssize(plane), !is_shape);
      }
    });
    if (split == Split::train) {
      EXPECT_EQ(x, plain);
    }
  }
  test::expect_parts(
      test::message_of(ErrorKind::config,
                       [&] {
                         RunSamples(config(kSets), {Split::train, 0, 4, DenseLabels::plane});
                       }),
      {"jets has no dense labels"});
}

TEST_F(RunSamplesTest, GivesHeldOutSamplesInTheOrderOfTheEvaluation) {
  RunSamples feed(config(), {Split::evaluation, 0, {}});
  EXPECT_EQ(feed.count(), 9u + 27u);
  EXPECT_EQ(feed.origins()[1].name, "photos");
  const Made made = collect(feed);
  ASSERT_EQ(made.rows.size(), 36u);
  // Samples of the generator must be normalised, but not augmented.
  const RunConfig run = config();
  auto generator = make_generator("shapes", 12, {{"classes", "4", {}}});
  SampleMaker maker(*generator);
  AugmentationPlan plan = feed.origins()[0].augmentation;
  plan.source = plan.out = {12, 12};
  std::uint64_t row = 0;
  maker.make(
      {source_seed(run.data.sources[0].spec, run.seed), std::uint64_t{1} << 48, 9},
      [&](const HostSamples& samples) {
        for (std::int64_t i = 0; i < samples.count(); ++i, ++row) {
          EXPECT_EQ(made.slots[row].sample, (std::uint64_t{1} << 48) + row);
          EXPECT_TRUE(made.rows[row] == row_of(samples.rows, i)) << row;
        }
      },
      plan);
  // Samples of the files must be value / 255, normalised.
  const NpyArray x = read_npy(folder_.path() / "held.npy");
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(x.data.data());
  constexpr std::array<double, 3> kMean = {0.5, 0.4, 0.3}, kStd = {0.2, 0.3, 0.4};
  for (std::uint64_t i = 0; i < 27; ++i) {
    EXPECT_EQ(made.slots[9 + i].source, 1u);
    EXPECT_EQ(made.slots[9 + i].sample, i);
    std::vector<float> values(12 * 12 * 3);
    std::memcpy(values.data(), made.rows[9 + i].data(), values.size() * sizeof(float));
    for (std::size_t v = 0; v < values.size(); ++v) {
      // Four roundings (division, subtraction or fma, reciprocal, product) of values below
      // 5: 4 * 2^-24 * 5 is 1.2e-6.
      ASSERT_NEAR(values[v], (bytes[i * values.size() + v] / 255.0 - kMean[v % 3]) / kStd[v % 3],
                  1.2e-6);
    }
  }
}

nlohmann::ordered_json digest(const RunConfig& config, const RunSampleRange& range) {
  RunSamples feed(config, range);
  return digest_report(feed);
}

TEST_F(RunSamplesTest, HasADigestIndependentOfExecution) {
  const auto mixed = digest(config(), {Split::train, 0, 40});
  EXPECT_EQ(digest(config(kMixed, {"threads=2"}), {Split::train, 0, 40})["sha256"],
            mixed["sha256"]);
  EXPECT_EQ(
      digest(config(kMixed, {"data.sources.1.storage=streamed"}), {Split::train, 0, 40})["columns"],
      mixed["columns"]);
  EXPECT_NE(digest(config(kMixed, {"seed=8"}), {Split::train, 0, 40})["sha256"], mixed["sha256"]);
  EXPECT_NE(digest(config(), {Split::train, 1, 40})["sha256"], mixed["sha256"]);

  // Held-out samples and the order of a single source must not depend on the batch size.
  const auto held = digest(config(), {Split::evaluation, 0, {}});
  const auto jets = digest(config(kSets), {Split::train, 0, 33});
  for (const char* batch : {"5", "64"}) {
    const std::vector<std::string> other = {std::string("train.batch=") + batch, "train.steps=99"};
    EXPECT_EQ(digest(config(kMixed, other), {Split::evaluation, 0, {}})["columns"],
              held["columns"]);
    EXPECT_EQ(digest(config(kSets, other), {Split::train, 0, 33})["columns"], jets["columns"]);
    EXPECT_EQ(digest(config(kSets, other), {Split::train, 0, 33})["sha256"], jets["sha256"]);
  }
  // A single source without augmentation must give its generator's samples under its seed.
  const RunConfig run = config(kSets);
  const auto generator = make_generator("ginkgo", 1, {{"items", "12", {}}});
  EXPECT_EQ(jets["sha256"],
            sample_digest(*generator, {source_seed(run.data.sources[0].spec, 3), 0, 33}));
}

TEST_F(RunSamplesTest, ReportsVersionsWithTheDigest) {
  const auto report = digest(config(), {Split::train, 2, 10});
  EXPECT_EQ(report["split"], "train");
  EXPECT_EQ(report["step"], 2);
  EXPECT_EQ(report["count"], 10);
  EXPECT_EQ(report["seed"], 7);
  EXPECT_EQ(report["sources"][0]["generator"], "shapes");
  EXPECT_EQ(report["sources"][0]["generator_version"], find_generator("shapes").version);
  EXPECT_EQ(report["sources"][1]["rows"], 15);
  EXPECT_EQ(report["columns"].size(), 6u) << report["columns"];
  // A run with the reported settings must give the same samples.
  const RunConfig again =
      RunConfig::parse(report["configuration"].dump(), "again.yaml",
                       std::vector<std::string>{"data.root=" + folder_.path().string()});
  EXPECT_EQ(digest(again, {Split::train, 2, 10})["sha256"], report["sha256"]);
}

TEST_F(RunSamplesTest, ExportsSetsInPieces) {
  RunSamples feed(config(kSets), {Split::train, 0, 37});
  const auto path = folder_.path() / "jets.npz";
  export_samples(feed, path);
  RunSamples again(config(kSets), {Split::train, 0, 37});
  std::vector<float> x;
  std::vector<std::int64_t> offsets = {0};
  again.make([&](const HostSamples& samples) {
    for (std::size_t row = 0; row < samples.items().size(); ++row) {
      const auto items = static_cast<std::size_t>(samples.items()[row]);
      const auto values = samples.x().subspan(row * 48, items * 4);
      x.insert(x.end(), values.begin(), values.end());
      offsets.push_back(offsets.back() + samples.items()[row]);
    }
  });
  EXPECT_TRUE(std::ranges::equal(read_npz(path, "x").as<float>(), x));
  EXPECT_TRUE(std::ranges::equal(read_npz(path, "offsets").as<std::int64_t>(), offsets));
  EXPECT_GT(feed.overflow().samples, 0u) << "rows of 12 items are too few";
  EXPECT_EQ(feed.overflow().samples, again.overflow().samples);
}

// An export that is read as a data set and exported again must keep all column names.
TEST_F(RunSamplesTest, KeepsTheColumnNamesOfFiles) {
  RunSamples made(config(kSets), {Split::train, 0, 16});
  export_samples(made, folder_.path() / "jets.npz");
  std::string files(kSets);
  const std::string generator = "kind: generator, generator: ginkgo, params: {items: 12}";
  files.replace(files.find(generator), generator.size(), "kind: files, path: jets.npz");
  files.replace(files.find("eval:"), files.find("model:") - files.find("eval:"), "");
  files.replace(files.find("data:"), 5, "data:\n  normalise: none");
  const RunSamples read(config(files.c_str()), {Split::train, 0, 16});
  const SampleInfo &before = made.origins()[0].info, &after = read.origins()[0].info;
  const auto equal = [](const auto& a, const auto& b) {
    return std::ranges::equal(
        a, b, [](const auto& x, const auto& y) { return x.name == y.name && x.unit == y.unit; });
  };
  EXPECT_GT(after.globals.size(), 0u);
  EXPECT_TRUE(equal(after.features, before.features));
  EXPECT_TRUE(equal(after.globals, before.globals));
  EXPECT_TRUE(equal(after.latents, before.latents));
}

// A sample's number counts the rows in use; the row in the file is printed as well.
TEST_F(RunSamplesTest, PrintsTheFileRowsOfStoredSamples) {
  const RunConfig limited =
      config(kMixed, {"data.sources.1.limit_per_class=2", "data.schedule.1.at=50%"});
  RunSamples feed(limited, {Split::train, 0, 48});
  export_samples(feed, folder_ / "a.npz");
  const NpyArray sources = read_npz(folder_ / "a.npz", "source"),
                 samples = read_npz(folder_ / "a.npz", "sample"),
                 location = read_npz(folder_ / "a.npz", "location");
  const auto source = sources.as<std::int32_t>();
  const auto sample = samples.as<std::int64_t>();
  const auto text = location.as<std::uint8_t>();
  ASSERT_EQ(location.spec.shape, (std::vector<std::int64_t>{48, 13}));
  // Three classes of five consecutive rows each.
  const int rows[] = {0, 1, 5, 6, 10, 11};
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < 48; ++i) {
    std::string found(text.begin() + static_cast<std::ptrdiff_t>(13 * i),
                      text.begin() + static_cast<std::ptrdiff_t>(13 * (i + 1)));
    found.resize(found.find_last_not_of('\0') + 1);
    if (source[i] == 0) {
      EXPECT_EQ(found, "");
      continue;
    }
    seen.insert(sample[i]);
    EXPECT_EQ(found, "x.npy: row " + std::to_string(rows[sample[i]]));
  }
  EXPECT_EQ(seen.size(), 6u);
  RunSamples made(config(kSets), {Split::train, 0, 3});
  EXPECT_EQ(export_samples(made, folder_ / "b.npz").arrays.back(), "metadata");
  EXPECT_EQ(made.longest_location(), 0u);
}

TEST_F(RunSamplesTest, WritesAGeneratorInItsCommunityFormat) {
  const std::vector<std::string> telescope = {
      "data.sources.0.generator=nu_telescope",
      "data.sources.0.params={output: truth, strings: 12, items: 200}"};
  RunSamples feed(config(kSets, telescope), {Split::train, 0, 9});
  export_samples(feed, folder_ / "run.h5");
  const RunConfig run = config(kSets, telescope);
  GeneratorReader alone(
      make_generator("nu_telescope", 32,
                     {{"output", "truth", {}}, {"strings", "12", {}}, {"items", "200", {}}}),
      {source_seed(run.data.sources[0].spec, run.seed), 0, 9});
  export_samples(alone, folder_ / "alone.h5");
  for (const char* name : {"event_id", "first_pulse_index", "last_pulse_index", "azimuth", "zenith",
                           "sensor_geometry", "time", "sensor_id", "charge", "auxiliary"})
    EXPECT_EQ(test::hdf5_values(folder_ / "run.h5", name),
              test::hdf5_values(folder_ / "alone.h5", name))
        << name;

  const auto refused = [&](const std::vector<std::string>& overrides, const std::string& layout) {
    RunSamples other(config(kSets, overrides), {Split::train, 0, 9});
    return test::message_of(ErrorKind::config, [&] {
      export_samples(other, folder_ / "no.h5", {layout, {}});
    });
  };
  test::expect_parts(refused({"data.sources.0.params={frame: rest, items: 12}"}, "jetnet"),
                     {"do not fit the layout 'jetnet'", "the lab frame"});
  test::expect_parts(
      refused({"data.sources=[{name: jets, generator: ginkgo}, {name: b, generator: ginkgo}]",
               "loss.kind=cross_entropy"},
              "jetnet"),
      {"'jetnet'", "sets from one source", "--layout columns"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "no.h5"));
}

// In a partial last batch, only the requested samples may count.
TEST_F(RunSamplesTest, CountsOverflowOnlyForRequestedSamples) {
  RunSamples feed(config(kSets), {Split::train, 0, 37});
  collect(feed);
  const RunConfig run = config(kSets);
  const auto generator = make_generator("ginkgo", 1, {{"items", "12", {}}});
  SampleMaker maker(*generator);
  maker.make({source_seed(run.data.sources[0].spec, 3), 0, 37}, [](const HostSamples&) {});
  EXPECT_EQ(feed.overflow().samples, maker.overflow().samples);
  EXPECT_EQ(feed.overflow().items, maker.overflow().items);
}

TEST_F(RunSamplesTest, RefusesMoreSamplesThanTheRunHas) {
  const auto refused = [&](const RunSampleRange& range, const RunConfig& run) {
    return test::message_of(ErrorKind::config, [&] { RunSamples(run, range); });
  };
  EXPECT_EQ(refused({Split::train, 1, 41}, config()),
            "41 samples: only 40 are left in mixed from step 1 on\n"
            "  ask for fewer, or increase train.steps");
  EXPECT_NE(refused({Split::train, 6, 1}, config()).find("mixed has no step 6"), std::string::npos);
  EXPECT_NE(refused({Split::evaluation, 0, 37}, config()).find("only 36 are held out by mixed"),
            std::string::npos);
  EXPECT_NE(refused({Split::evaluation, 0, {}}, config(kMixed, {"eval.sources=[]"}))
                .find("mixed has no held-out samples"),
            std::string::npos);
}

}  // namespace
}  // namespace wellspring
