// Profiles of samples and their drift.
#include "measure/data_profile.h"

#include "core/io/npy.h"
#include "measure/load_test.h"
#include "measure/profile_page.h"
#include "sources/dataset_reader.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace wellspring::test {
namespace {

DataProfile profile(const std::string& generator, std::uint64_t first, std::uint64_t count,
                    const DataProfile* against = nullptr, std::vector<ParamSetting> settings = {}) {
  GeneratorReader reader(make_generator(generator, 16, settings, {"test"}),
                         SampleRange{7, first, count});
  return profile_of(reader, against, [](std::uint64_t) {});
}

/// A profile of one column with these counts.
DataProfile counted_profile(std::vector<std::uint64_t> counts) {
  ColumnProfile column;
  column.name = "x";
  column.histogram.counts = std::move(counts);
  return {"numbers", {{"a", column.histogram.total(), 0, {column}}}};
}

TEST(DataProfile, CountsOutsideValuesInTheOuterBins) {
  Histogram histogram{0, 2, std::vector<std::uint64_t>(4)};
  for (const double value : {-1.0, 0.0, 0.5, 1.0, 2.0, 2.5}) histogram.add(value);
  EXPECT_EQ(histogram.counts, (std::vector<std::uint64_t>{1, 2, 2, 1}));
}

TEST(DataProfile, SeesNoDriftBetweenSamplesOfOneGenerator) {
  const DataProfile stored = profile("gaussian_linear", 0, 2000);
  const Drift drift = compare(stored, profile("gaussian_linear", 5000, 2000, &stored));
  EXPECT_FALSE(drift.drifts());  // by chance: at most 0.001, but the seed is fixed
  EXPECT_TRUE(drift.not_compared.empty());
}

TEST(DataProfile, CountsRepeatedSamples) {
  // Noise without deviation: all images are equal.
  const DataProfile equal =
      profile("noise", 0, 100, nullptr, {{"law", "gaussian", {}}, {"sigma", "0", {}}});
  ASSERT_EQ(equal.sources.size(), 1U);
  EXPECT_EQ(equal.sources[0].samples, 100U);
  EXPECT_EQ(equal.sources[0].duplicates, 99U);
  EXPECT_EQ(equal.sources[0].columns[0].values, 100U * 16 * 16);
  EXPECT_EQ(profile("shapes", 0, 100).sources[0].duplicates, 0U);
}

/// Full and empty outer bins, and 32 (pairs) or 45 equal bins (groups of 3).
TEST(DataProfile, DrawsEqualBinsEqually) {
  for (const std::size_t bins : {32, 45}) {
    std::vector<std::uint64_t> counts(bins + 2, 7);
    counts.front() = 0;
    const std::string text = to_text(counted_profile(counts), nullptr);
    EXPECT_NE(
        text.find("| " + std::string(bins == 32 ? 16 : 15, '@') + (bins == 32 ? "=" : "-") + "|"),
        std::string::npos)
        << text;
  }
}

TEST(DataProfile, HasEquallyManyWholeNumbersInEachBin) {
  // A constant: one bin. More than 32 different numbers of hits: several per bin.
  for (const auto& [generator, column] : {std::pair{"sbi", "weight"}, {"tracks", "items"}}) {
    const DataProfile made = profile(generator, 0, 500);
    const auto& columns = made.sources[0].columns;
    const auto found = std::ranges::find(columns, column, &ColumnProfile::name);
    ASSERT_NE(found, columns.end()) << column;
    const Histogram& bins = found->histogram;
    const double width = (bins.high - bins.low) / static_cast<double>(bins.counts.size() - 2);
    EXPECT_EQ(width, std::rint(width)) << column;
    EXPECT_GE(width, 1) << column;
    EXPECT_EQ(bins.low + 0.5, std::rint(bins.low + 0.5)) << column;
  }
}

TEST(DataProfile, DoesNotCompareOtherBins) {
  DataProfile other = counted_profile({0, 50, 50, 0});
  other.sources[0].columns.push_back(other.sources[0].columns[0]);
  other.sources[0].columns[1].name = "y";
  const Drift drift = compare(counted_profile({0, 50, 50, 0}), other);
  EXPECT_EQ(drift.not_compared, std::vector<std::string>{"a: y"});
  EXPECT_TRUE(drift.drifts());
  EXPECT_TRUE(compare(other, counted_profile({0, 50, 50, 0})).drifts());
  expect_parts(
      message_of(ErrorKind::data,
                 [&] {
                   compare(counted_profile({0, 50, 50, 0}), counted_profile({0, 50, 25, 25, 0}));
                 }),
      {"no column in common"});
}

TEST(DataProfile, ComparesDistributionsWithTheStatedThreshold) {
  // Distance 0.3; threshold sqrt(ln(2 / 0.001) (n + m) / (2 n m)) = 0.2757 for n = m = 100.
  const Drift far = compare(counted_profile({0, 50, 50, 0}), counted_profile({0, 80, 20, 0}));
  EXPECT_NEAR(far.columns.at(0).distance, 0.3, 1e-12);
  EXPECT_NEAR(far.columns.at(0).threshold, 0.27569, 1e-5);
  EXPECT_TRUE(far.drifts());
  EXPECT_FALSE(compare(counted_profile({0, 50, 50, 0}), counted_profile({0, 75, 25, 0})).drifts());
}

constexpr std::size_t kDrawnColumns = 10;

/// A profile of independent columns, each of `samples` numbers in equally probable bins.
DataProfile drawn_profile(std::mt19937_64& random, std::uint64_t samples) {
  constexpr std::size_t kBins = 64;
  DataProfile profile = counted_profile(std::vector<std::uint64_t>(kBins));
  std::vector<ColumnProfile>& columns = profile.sources[0].columns;
  columns.resize(kDrawnColumns, columns[0]);
  for (std::size_t c = 0; c < kDrawnColumns; ++c) {
    columns[c].name = std::to_string(c);
    for (std::uint64_t i = 0; i < samples; ++i) ++columns[c].histogram.counts[random() % kBins];
  }
  return profile;
}

// At most 0.1 % of the comparisons: of 4,000, 4 are expected, with a binomial deviation of 2, and
// the limit is seven deviations above, which chance exceeds less than once in a million. Likewise, at most 5 % of the columns exceed the threshold of
// a rate of 5 %, whose logarithm has 0.05 instead of 0.001 / 10. That is exact only for many
// samples without bins; a simulation in NumPy finds 3.5 % for 500 samples in 64 bins, so less than
// 2.5 % would be a threshold that is too high.
TEST(DataProfile, ReportsDriftOfOneDistributionAtMostAtTheStatedRate) {
  constexpr int kPairs = 4000;
  constexpr std::uint64_t kSamples = 500;
  const auto most = [](double count, double rate) {
    return count * rate + 7 * std::sqrt(count * rate * (1 - rate));
  };
  const double closer = std::sqrt(std::log(2 / 0.05) / std::log(2 * kDrawnColumns / kFalseAlarms));
  std::mt19937_64 random(1);
  int alarms = 0, near = 0;
  for (int i = 0; i < kPairs; ++i) {
    const DataProfile stored = drawn_profile(random, kSamples);
    const Drift drift = compare(stored, drawn_profile(random, kSamples));
    alarms += drift.drifts();
    for (const ColumnDrift& column : drift.columns)
      near += column.distance > closer * column.threshold;
  }
  constexpr double kCompared = kPairs * kDrawnColumns;
  EXPECT_LE(alarms, most(kPairs, kFalseAlarms));
  EXPECT_LE(near, most(kCompared, 0.05));
  EXPECT_GE(near, kCompared * 0.025);
}

// Columns (1, NaN, 3, NaN, 5, 7) and (NaN, 2, inf, 4, 6, 8).
TEST(DataProfile, CountsValuesOfAFileThatAreNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {1, nan, nan, 2, 3, infinity, nan, 4, 5, 6, 7, 8};
  const TemporaryFolder folder;
  NpzWriter file(folder.path() / "events.npz");
  file.add("x", {ElementType::f32, {6, 2}}, bytes_of(x));
  file.commit();
  DatasetRequest request = {.path = folder.path() / "events.npz"};
  request.finite = false;
  DatasetReader reader(request, 0, {});
  const DataProfile made = profile_of(reader, nullptr, [](std::uint64_t) {});
  const auto& columns = made.sources.at(0).columns;
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(columns[c].not_finite, 2U);
    EXPECT_EQ(columns[c].values, 4U);
    EXPECT_DOUBLE_EQ(columns[c].low, c == 0 ? 1 : 2);
    EXPECT_DOUBLE_EQ(columns[c].high, c == 0 ? 7 : 8);
    EXPECT_DOUBLE_EQ(columns[c].mean, c == 0 ? 4 : 5);
    EXPECT_DOUBLE_EQ(columns[c].deviation, std::sqrt(5.0));
    EXPECT_EQ(columns[c].histogram.total(), 4U);
  }
  request.finite = true;
  DatasetReader strict(request, 0, {});
  expect_parts(
      message_of(ErrorKind::data, [&] { profile_of(strict, nullptr, [](std::uint64_t) {}); }),
      {"row 0: feature 1", "is nan"});
}

TEST(DataProfile, ReportsNewValuesThatAreNotFinite) {
  const DataProfile stored = counted_profile({0, 50, 50, 0});
  DataProfile now = stored;
  now.sources[0].columns[0].not_finite = 1;
  EXPECT_TRUE(compare(stored, now).drifts());
  EXPECT_FALSE(compare(now, now).drifts());
}

TEST(LoadTest, LeavesOutTheFirstBatch) {
  GeneratorReader reader(make_generator("gaussian_linear", 16, {}, {"test"}),
                         SampleRange{7, 0, 256}, SampleMaking{.batch = 64});
  const LoadTest test = load_test(reader, 60, std::nullopt);
  EXPECT_EQ(test.batches, 3U);
  EXPECT_EQ(test.samples, 192U);
  EXPECT_GT(test.sample_bytes, 0);
  EXPECT_LE(test.p50, test.p99);
}

TEST(LoadTest, EndsInTimeWithASlowConsumer) {
  GeneratorReader reader(make_generator("gaussian_linear", 16, {}, {"test"}),
                         SampleRange{7, 0, 640}, SampleMaking{.batch = 64});
  const LoadTest test = load_test(reader, 0.2, 1e-300);
  EXPECT_EQ(test.batches, 1U);
}

/// Needs at least `seconds` for each batch of another reader.
class SlowReader final : public SampleReader {
 public:
  SlowReader(GeneratorReader& reader, double seconds) : reader_(reader), seconds_(seconds) {}
  std::uint64_t count() const override { return reader_.count(); }
  SampleLayout layout() const override { return reader_.layout(); }
  const std::vector<SampleOrigin>& origins() const override { return reader_.origins(); }
  SetOverflow overflow() const override { return reader_.overflow(); }
  SampleHeading heading() const override { return reader_.heading(); }
  std::string summary() const override { return reader_.summary(); }
  nlohmann::ordered_json identity() const override { return reader_.identity(); }
  nlohmann::ordered_json making() const override { return reader_.making(); }
  void make(const std::function<void(const HostSamples&)>& take) override {
    reader_.make([&](const HostSamples& batch) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
      take(batch);
    });
  }

 private:
  GeneratorReader& reader_;
  double seconds_;
};

// Sleeps never end early, so each of the nine measured batches takes at least 4 ms of the reader, which
// the consumer waits for, and then 6 ms of the consumer.
TEST(LoadTest, TellsTheReaderFromAConsumerOfKnownRate) {
  constexpr double kReads = 0.004, kIsBusy = 0.006, kMeasured = 9, kBatch = 64;
  GeneratorReader reader(make_generator("gaussian_linear", 16, {}, {"test"}),
                         SampleRange{7, 0, 640}, SampleMaking{.batch = 64});
  SlowReader slow(reader, kReads);
  const LoadTest test = load_test(slow, 60, kBatch / kIsBusy);
  EXPECT_EQ(test.batches, kMeasured);
  EXPECT_GE(test.p50, kReads);
  EXPECT_GE(test.wait * test.seconds, kMeasured * kReads);
  EXPECT_GE((1 - test.wait) * test.seconds, (1 - 1e-9) * kMeasured * kIsBusy);
  EXPECT_LE(test.samples_per_second(), (1 + 1e-9) * kBatch / (kReads + kIsBusy));
}

TEST(LoadTest, RefusesASingleBatch) {
  GeneratorReader reader(make_generator("gaussian_linear", 16, {}, {"test"}), SampleRange{7, 0, 10},
                         SampleMaking{.batch = 64});
  expect_parts(message_of(ErrorKind::config, [&] { load_test(reader, 60, std::nullopt); }),
               {"fewer than two batches"});
}

TEST(ProfilePage, DrawsTheHistogramsAndSaysWhatDrifts) {
  DataProfile stored = counted_profile({0, 1000, 1000, 0}), now = counted_profile({0, 400, 100, 0});
  now.title = "a <title>";
  stored.sources[0].columns[0].histogram.high = now.sources[0].columns[0].histogram.high = 2;
  const Drift drift = compare(stored, now);
  const std::string page = to_html(now, &drift, {{{}, "36 samples"}});
  expect_parts(page, {"a &lt;title&gt;",
                      "<div style=\"height:0.0%\"></div>"
                      "<div style=\"height:100.0%\"></div><div style=\"height:25.0%\"></div>",
                      "0 to 2", "0.3000", "36 samples", "data:image/png;base64,"});
  EXPECT_NE(page.find("DRIFT"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos) << "the page needs no other file";
  EXPECT_EQ(to_html(now, nullptr, {}).find("threshold"), std::string::npos);
}

}  // namespace
}  // namespace wellspring::test
