#include "kernels/ops/metrics.h"

#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace wellspring::ops::test {
namespace {

constexpr std::size_t kBatch = 300;  // more than two rows per lane, not a multiple of the lanes
constexpr std::size_t kSources = 3;
constexpr std::size_t kMeasures = 4;  // two losses, two scores
constexpr std::size_t kSums = (kMeasures + 1) * kSources;

struct Batch {
  std::vector<Slot> slots = std::vector<Slot>(kBatch);
  std::vector<float> values = random_values<float>(kBatch * kMeasures, 1, 0, 3);
  Batch() {
    for (std::size_t i = 0; i < kBatch; ++i)
      slots[i].source = i % 7 == 0 ? 2 : static_cast<std::uint32_t>(i % 2);
  }
  /// The sums of rows [0, rows) in double precision, in a different order than in the operation.
  std::vector<double> sums(std::size_t rows) const {
    std::vector<double> result(kSums, 0);
    for (std::size_t m = 0; m <= kMeasures; ++m)
      for (std::size_t i = 0; i < rows; ++i)
        result[m * kSources + slots[i].source] +=
            m == kMeasures ? 1.0 : static_cast<double>(values[m * kBatch + i]);
    return result;
  }
};

Measures measures_of(const float* values) {
  return {.batch = kBatch, .count = kMeasures, .losses = 2, .sources = kSources, .values = values};
}

/// Tolerance for sums of 300 numbers below 3 in double precision, in a different order.
constexpr double kSumTolerance = 300 * 900 * 0x1p-53;

class MetricsTest : public test::OperationTest {};

TEST_P(MetricsTest, SumsBySourceAndFillsTheRing) {
  const Batch batch;
  StepState state = {.step = 1000003, .learning_rate = 0.5f, .gradient_norm = 3};
  const Buffer<Slot> slots = buffer(batch.slots);
  const Buffer<float> values = buffer(batch.values);
  const Buffer<StepState> device_state = buffer(std::vector<StepState>{state});
  const Buffer<SetOverflow> overflow = buffer(std::vector<SetOverflow>{{5, 1ull << 40}});
  const Buffer<StepMetrics> lines = buffer(std::vector<StepMetrics>(8));
  const Buffer<double> sums = buffer(std::vector<double>(8 * kSums, -1));
  collect_metrics(stream(), measures_of(values), slots, overflow, device_state, {lines, sums, 8});

  const std::vector<double> expected = batch.sums(kBatch), found = sums.values();
  const StepMetrics line = lines.values()[1000003 % 8];
  EXPECT_EQ(line.step, 1000003u);
  EXPECT_EQ(line.gradient_norm, 3);
  EXPECT_EQ(line.learning_rate, 0.5f);
  EXPECT_EQ(line.nonfinite, 0u);
  EXPECT_EQ(line.overflow.samples, 5u);
  EXPECT_EQ(line.overflow.items, 1ull << 40);
  double total = 0;
  for (std::size_t i = 0; i < 2 * kSources; ++i) total += expected[i] / kBatch;
  EXPECT_NEAR(line.loss, total, 8 * 0x1p-24);  // below 8, rounded to float once
  EXPECT_EQ(device_state.values()[0].step, 1000004u);
  for (std::size_t i = 0; i < kSums; ++i)
    EXPECT_NEAR(found[1000003 % 8 * kSums + i], expected[i], kSumTolerance) << i;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i / kSums == 1000003 % 8) continue;
    EXPECT_EQ(found[i], -1) << "another line was written";
  }
}

TEST_P(MetricsTest, RemembersTheFirstStepWithANonFiniteLoss) {
  Batch batch;
  batch.values[kBatch + 77] = std::numeric_limits<float>::quiet_NaN();  // in the second head
  StepState state;
  state.step = 41;
  const Buffer<Slot> slots = buffer(batch.slots);
  const Buffer<float> values = buffer(batch.values);
  const Buffer<StepState> device_state = buffer(std::vector<StepState>{state});
  const Buffer<StepMetrics> lines = buffer(std::vector<StepMetrics>(4));
  const Buffer<double> sums = buffer<double>(4 * kSums);
  collect_metrics(stream(), measures_of(values), slots, nullptr, device_state, {lines, sums, 4});
  EXPECT_EQ(device_state.values()[0].nonfinite, 42u);
  EXPECT_EQ(lines.values()[1].nonfinite, 42u);
  state = device_state.values()[0];
  state.step = 50;
  const Buffer<StepState> later = buffer(std::vector<StepState>{state});
  collect_metrics(stream(), measures_of(values), slots, nullptr, later, {lines, sums, 4});
  EXPECT_EQ(later.values()[0].nonfinite, 42u) << "the first step must be kept";
}

// A non-finite score does not stop a run.
TEST_P(MetricsTest, IgnoresScoresInTheLoss) {
  Batch batch;
  batch.values[2 * kBatch + 5] = std::numeric_limits<float>::infinity();
  const Buffer<Slot> slots = buffer(batch.slots);
  const Buffer<float> values = buffer(batch.values);
  const Buffer<StepState> state = buffer(std::vector<StepState>(1));
  const Buffer<StepMetrics> lines = buffer(std::vector<StepMetrics>(4));
  const Buffer<double> sums = buffer<double>(4 * kSums);
  collect_metrics(stream(), measures_of(values), slots, nullptr, state, {lines, sums, 4});
  EXPECT_EQ(state.values()[0].nonfinite, 0u);
}

TEST_P(MetricsTest, SumsOnlyValidRowsInEvaluation) {
  const Batch batch;
  const Buffer<Slot> slots = buffer(batch.slots);
  const Buffer<float> values = buffer(batch.values);
  const Buffer<double> sums = buffer(std::vector<double>(kSums, 0));
  accumulate_evaluation(stream(), measures_of(values), kBatch, slots, sums);
  accumulate_evaluation(stream(), measures_of(values), 5, slots, sums);
  const std::vector<double> all = batch.sums(kBatch), five = batch.sums(5), found = sums.values();
  for (std::size_t i = 0; i < kSums; ++i)
    EXPECT_NEAR(found[i], all[i] + five[i], 2 * kSumTolerance) << i;
}

WS_ON_EVERY_BACKEND(MetricsTest);

TEST(MetricsTeams, GiveEqualBitsForAnySize) {
  const Batch batch;
  using wellspring::test::bytes_of;
  // A team adds up 12 sums of three sources or, in two rounds, 48.
  for (const std::int32_t count : {3, 15}) {
    std::vector<StepState> state(1);
    std::vector<StepMetrics> lines(2);
    const std::vector<float> values =
        random_values<float>(kBatch * static_cast<std::size_t>(count), 1, 0, 3);
    const Measures measures = {
        .batch = kBatch, .count = count, .losses = 2, .sources = kSources, .values = values.data()};
    const auto size = static_cast<std::size_t>(metric_sums(count, kSources));
    std::vector<double> sums(2 * size);
    wellspring::test::expect_equal_for_all_team_sizes(
        CollectMetrics{
            measures, batch.slots.data(), nullptr, state.data(), {lines.data(), sums.data(), 2}},
        1, {kMetricLanes, kMetricScratch}, {bytes_of(state), bytes_of(lines), bytes_of(sums)});
    double rows = 0;
    for (std::size_t s = 0; s < kSources; ++s) rows += sums[size - kSources + s];
    EXPECT_EQ(rows, kBatch) << "the last sums count the rows";
    wellspring::test::expect_equal_for_all_team_sizes(
        AccumulateEvaluation{measures, kBatch, batch.slots.data(), sums.data()}, 1,
        {kMetricLanes, kMetricScratch}, {bytes_of(sums)});
  }
}

}  // namespace
}  // namespace wellspring::ops::test
