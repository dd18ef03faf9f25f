// Normalisation of events and sets: statistics compared with an independent computation, the rule
// for several sources, and the values in a batch.
#include "sources/normalisation.h"

#include "core/io/hdf5.h"
#include "export/export.h"
#include "sources/datasets/row_view.h"
#include "sources/files/format.h"
#include "tests/sources/files/emitted_source.h"
#include "tests/sources/files/hdf5_testing.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;
using Choice = Normalisation::Choice;

/// Room for 16 items, of which many sets have fewer, and globals in GeV.
const std::vector<ParamSetting> kJets = {{"items", "16"}, {"pt_high", "900"}};
constexpr std::int64_t kRows = EmittedSource::kRows;

struct Normalising : ::testing::Test {
  fs::path exported(std::uint64_t count = 500) const {
    GeneratorReader feed(make_generator("lund_shower", 1, kJets), {7, 0, count});
    export_samples(feed, folder / "jets.npz", {});
    return folder / "jets.npz";
  }
  /// Events with these columns.
  fs::path events(const std::vector<std::vector<float>>& columns) const {
    std::vector<float> values;
    for (std::size_t row = 0; row < columns[0].size(); ++row)
      for (const auto& column : columns) values.push_back(column[row]);
    write_hdf5(folder / "events.h5", [&](Hdf5Writer& file) {
      add(file, "x", ElementType::f32,
          {static_cast<std::int64_t>(columns[0].size()), static_cast<std::int64_t>(columns.size())},
          values);
    });
    return folder / "events.h5";
  }
  static Normalisation measured(const fs::path& path, int threads = 2) {
    return measure_rows(*open_dataset({.path = path}), threads);
  }

  TemporaryFolder folder;
};

/// Mean and standard deviation, computed in two passes in extended precision.
void expect_statistics(const ColumnScaling& scaling, std::size_t column,
                       const std::vector<float>& values) {
  long double mean = 0, squares = 0;
  for (const float value : values) mean += value;
  mean /= static_cast<long double>(values.size());
  for (const float value : values) squares += (value - mean) * (value - mean);
  const auto std =
      static_cast<double>(std::sqrt(squares / static_cast<long double>(values.size())));
  // The results are rounded to 9 and 6 digits.
  EXPECT_NEAR(scaling.mean[column], static_cast<double>(mean),
              1e-8 * std::abs(static_cast<double>(mean)) + 1e-12 * std);
  EXPECT_NEAR(scaling.std[column], std, 1e-5 * std);
}

TEST_F(Normalising, MatchesTwoPassesOverExistingItems) {
  const auto data = open_dataset({.path = exported()});
  const SampleLayout layout = data->layout().sample;
  const auto features = static_cast<std::size_t>(layout.features),
             globals = static_cast<std::size_t>(layout.globals);
  std::vector<std::vector<float>> columns(features + globals);
  std::vector<float> row(static_cast<std::size_t>(data->layout().bytes()) / sizeof(float));
  const auto reader = data->reader();
  for (std::int64_t i = 0; i < data->size(); ++i) {
    reader->read(i, reinterpret_cast<std::uint8_t*>(row.data()));
    const float* const rest = row.data() + layout.elements();
    std::int32_t count = 0;
    std::memcpy(&count, rest + globals, sizeof count);
    for (std::size_t k = 0; k < features * static_cast<std::size_t>(std::min(count, layout.items));
         ++k)
      columns[k % features].push_back(row[k]);
    for (std::size_t k = 0; k < globals; ++k) columns[features + k].push_back(rest[k]);
  }
  const Normalisation values = measure_rows(*data, 1);
  for (std::size_t k = 0; k < features; ++k) expect_statistics(values, k, columns[k]);
  for (std::size_t k = 0; k < globals; ++k)
    expect_statistics(values.globals, k, columns[features + k]);
}

TEST_F(Normalising, IsIndependentOfThreads) {
  const fs::path file = exported(3000);
  const Normalisation one = measured(file, 1), four = measured(file, 4);
  EXPECT_EQ(one.mean, four.mean);
  EXPECT_EQ(one.std, four.std);
  EXPECT_EQ(one.globals, four.globals);
}

// Sums of squares in f64 would not give a single correct digit here.
TEST_F(Normalising, HandlesLargeOffsetsAndConstants) {
  std::vector<float> offset, constant(4000, 0.1f), rare(4000, 0);
  for (int i = 0; i < 4000; ++i) offset.push_back(1e8f + 8 * static_cast<float>(i % 4));
  rare[17] = 1;
  const Normalisation values = measured(events({offset, constant, rare}));
  expect_statistics(values, 0, offset);
  EXPECT_FLOAT_EQ(static_cast<float>(values.mean[1]), 0.1f);
  EXPECT_EQ(values.std[1], 1);
  expect_statistics(values, 2, rare);
}

TEST_F(Normalising, UsesOneScalingForManyFeatures) {
  std::vector<std::vector<float>> columns(300, std::vector<float>{0, 2});
  EXPECT_EQ(measured(events(columns)).mean, (std::vector<double>{1}));
  columns.resize(256);
  EXPECT_EQ(measured(events(columns)).mean.size(), 256u);
}

TEST_F(Normalising, CountsGlobalsButNoItemsOfEmptySets) {
  write_hdf5(folder / "sets.h5", [&](Hdf5Writer& file) {
    add(file, "x", ElementType::f32, {5, 2}, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    add(file, "offsets", ElementType::i64, {5}, std::vector<std::int64_t>{0, 2, 2, 5, 5});
    add(file, "globals", ElementType::f32, {4, 1}, std::vector<float>{1, 3, 1, 3});
  });
  const Normalisation values = measured(folder / "sets.h5");
  EXPECT_EQ(values.mean, (std::vector<double>{4, 5}));
  EXPECT_NEAR(values.std[0], std::sqrt(8), 1e-5);
  EXPECT_EQ(values.globals, (ColumnScaling{{2}, {1}}));
}

/// The expected value of an entry in a normalised column.
float scaled(float value, const ColumnScaling& scaling, std::int64_t column) {
  const auto k = static_cast<std::size_t>(column);
  return (value - static_cast<float>(scaling.mean[k])) * static_cast<float>(1 / scaling.std[k]);
}

TEST_F(Normalising, ScalesOnlyExistingItemsAndGlobals) {
  const fs::path file = exported();
  const Normalisation values = measured(file);
  for (const SourceSpec& spec : {file_source(file), file_source(file, {}, Storage::streamed),
                                 generator_source("lund_shower", kJets)}) {
    const EmittedSource raw(spec), made(spec, 0, DType::f32, values);
    const SampleLayout layout = raw.source->layout();
    std::int64_t missing = 0;
    for (std::int64_t b = 0; b < kRows; ++b) {
      const auto at = [&](std::int64_t i) {
        return static_cast<std::size_t>(b * layout.elements() + i);
      };
      const int count = raw.batch->count()[static_cast<std::size_t>(b)];
      EXPECT_EQ(made.batch->count()[static_cast<std::size_t>(b)], count);
      for (std::int64_t i = 0; i < layout.elements(); ++i) {
        const bool exists = i / layout.features < count;
        missing += exists ? 0 : 1;
        const float expected =
            exists ? scaled(raw.batch->x()[at(i)], values, i % layout.features) : 0;
        EXPECT_EQ(made.batch->x()[at(i)], expected) << spec.name;
      }
      for (int k = 0; k < layout.globals; ++k) {
        const auto g = static_cast<std::size_t>(b * layout.globals + k);
        EXPECT_EQ(made.batch->globals()[g], scaled(raw.batch->globals()[g], values.globals, k));
      }
    }
    EXPECT_GT(missing, 0);
  }
}

TEST_F(Normalising, RoundsToTheBatchsTypeAfterScaling) {
  std::vector<float> offset(kRows);
  std::iota(offset.begin(), offset.end(), 1000.f);  // bf16 is coarser than 1 here
  const fs::path file = events({offset});
  const EmittedSource made(file_source(file), 0, DType::bf16, measured(file));
  for (std::size_t row = 1; row < offset.size(); ++row)
    EXPECT_GT(static_cast<float>(made.batch->x<bf16>()[row]),
              static_cast<float>(made.batch->x<bf16>()[row - 1]));
}

TEST_F(Normalising, RefusesTheWrongNumberOfColumns) {
  Normalisation values;
  values.mean = {1, 2, 3};
  const auto refused = [&](const SourceSpec& spec) {
    return message_of(ErrorKind::config, [&] { EmittedSource(spec, 0, DType::f32, values); });
  };
  expect_parts(refused(file_source(exported())),
               {"source 'full': normalise.mean has 3 values", "4 features"});
  values.mean = {0};
  values.globals.std = {1, 2};
  expect_parts(refused(generator_source("lund_shower", kJets)),
               {"normalise.globals.std has 2 values", "4 globals"});
}

/// Several sources of jets, from files() or made(), that settle their normalisation together.
struct Settled : Normalising {
  /// Returns the scaling of each source after settling.
  std::vector<Normalisation> settle(const std::string& sources) {
    const std::string yaml = "{sources: [" + sources + "]}";
    const ConfigDocument document = ConfigDocument::parse(yaml, "a.yaml");
    DataConfig data = read_data(document.root());
    Mixture mixture(1);
    for (const SourceConfig& source : data.sources) mixture.add(make_source(source.spec, {}), {});
    measured_rows = settle_normalisation(data, mixture, {1, 1});
    std::vector<Normalisation> all;
    for (const SourceConfig& source : data.sources)
      all.push_back(source.augmentations.normalisation);
    return all;
  }
  std::string files(const std::string& name, const std::string& more = "") const {
    return "{name: " + name + ", kind: files, path: " + (folder / "jets.npz").string() + more + "}";
  }
  static std::string made(const std::string& name, const std::string& more = "") {
    return "{name: " + name +
           ", kind: generator, generator: lund_shower, params: {items: 16, pt_high: 900}" + more +
           "}";
  }
  std::string measured_rows;
};

TEST_F(Settled, SharesTheScalingOfTheLastFileAmongAllSources) {
  exported();
  const auto all =
      settle(files("a", ", rows: 0..100") + "," + files("b", ", rows: 100..400") + "," + made("c"));
  EXPECT_EQ(measured_rows, "300 rows of 'b'");
  const Normalisation expected =
      measure_rows(*view_rows(open_dataset({.path = folder / "jets.npz"}),
                              RowRange::parse("100..400", RowOrder::hash), 0),
                   1);
  for (const Normalisation& values : all) {
    EXPECT_EQ(values.mean, expected.mean);
    EXPECT_EQ(values.globals, expected.globals);
    EXPECT_EQ(values.choice, Choice::given);
  }
}

TEST_F(Settled, GeneratorsAloneAreScaledOnlyOnRequest) {
  EXPECT_TRUE(settle(made("a"))[0].is_identity());
  EXPECT_EQ(measured_rows, "");
  const Normalisation values = settle(made("a", ", normalise: auto"))[0];
  EXPECT_EQ(measured_rows, "16384 samples of 'a'");
  // Momenta are uniform from 500 to 900 GeV, and the first global is at least as large.
  EXPECT_GT(values.globals.mean[0], 400);
  EXPECT_EQ(settle(made("a", ", normalise: auto"))[0].mean, values.mean);
}

TEST_F(Settled, ExplicitChoicesAreKept) {
  exported();
  const auto none = settle(made("a") + "," + files("b", ", normalise: none"));
  EXPECT_TRUE(none[0].is_identity());
  EXPECT_TRUE(none[1].is_identity());
  EXPECT_EQ(none[0].choice, Choice::by_default);  // as in runs of earlier versions
  EXPECT_EQ(measured_rows, "");
  const auto given =
      settle(made("a") + "," + files("b", ", normalise: {mean: [1], globals: {std: [2]}}"));
  EXPECT_EQ(given[0].mean, (std::vector<double>{1}));
  EXPECT_EQ(given[0].globals.std, (std::vector<double>{2}));
  const auto own = settle(made("a", ", normalise: none") + "," + files("b"));
  EXPECT_TRUE(own[0].is_identity());
  EXPECT_FALSE(own[1].is_identity());
}

}  // namespace
}  // namespace wellspring::test
