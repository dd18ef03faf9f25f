#include "kernels/ops/metrics.h"

#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace wellspring::ops {
namespace {

using test::Buffer;
using test::random_values;

constexpr std::size_t kBatch = 200;  // more than three rows a lane, and not a multiple

struct Batch {
  std::vector<Slot> slots = std::vector<Slot>(kBatch);
  std::vector<float> loss = random_values<float>(kBatch, 1, 0, 3);
  std::vector<std::uint8_t> correct = std::vector<std::uint8_t>(kBatch);
  Batch() {
    for (std::size_t i = 0; i < kBatch; ++i) {
      slots[i].source = i % 7 == 0 ? 15 : static_cast<std::uint32_t>(i % 2);
      correct[i] = i % 3 == 0;
    }
  }
};

class MetricsTest : public test::OperationTest {};

TEST_P(MetricsTest, SumsBySourceAndFillsTheRing) {
  const Batch batch;
  StepState state;
  state.step = 1000003;
  state.gradient_norm = 3;
  state.learning_rate = 0.5f;
  const Buffer<Slot> slots = buffer(batch.slots);
  const Buffer<float> loss = buffer(batch.loss);
  const Buffer<std::uint8_t> correct = buffer(batch.correct);
  const Buffer<StepState> device_state = buffer(std::vector<StepState>{state});
  const Buffer<StepMetrics> ring = buffer(std::vector<StepMetrics>(8));
  collect_metrics(stream(), kBatch, slots, loss, correct, device_state, ring, 8);

  double sum[kMaxSources] = {}, total = 0;
  std::uint32_t hits[kMaxSources] = {}, count[kMaxSources] = {};
  for (std::size_t i = 0; i < kBatch; ++i) {
    const std::uint32_t s = batch.slots[i].source;
    sum[s] += static_cast<double>(batch.loss[i]);
    total += static_cast<double>(batch.loss[i]) / kBatch;
    hits[s] += batch.correct[i];
    ++count[s];
  }
  const StepMetrics line = ring.values()[1000003 % 8];
  EXPECT_EQ(line.step, 1000003u);
  EXPECT_EQ(line.gradient_norm, 3);
  EXPECT_EQ(line.learning_rate, 0.5f);
  EXPECT_EQ(line.nonfinite, 0u);
  // 4 terms a lane, 64 lanes, 16 sources: 84 roundings of values below 3.
  EXPECT_NEAR(line.loss, total, 84 * 0x1p-24 * 3);
  EXPECT_EQ(device_state.values()[0].loss, line.loss);
  for (int s = 0; s < kMaxSources; ++s) {
    EXPECT_NEAR(line.source_loss[s], sum[s], 68 * 0x1p-24 * sum[s]) << s;
    EXPECT_EQ(line.source_correct[s], hits[s]) << s;
    EXPECT_EQ(line.source_count[s], count[s]) << s;
  }
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == 1000003 % 8) continue;
    EXPECT_EQ(ring.values()[i].source_count[0], 0u) << "line " << i;
  }
}

TEST_P(MetricsTest, NonFiniteLossIsRememberedByItsFirstStep) {
  Batch batch;
  batch.loss[77] = std::numeric_limits<float>::quiet_NaN();
  StepState state;
  state.step = 41;
  const Buffer<Slot> slots = buffer(batch.slots);
  const Buffer<float> loss = buffer(batch.loss);
  const Buffer<std::uint8_t> correct = buffer(batch.correct);
  const Buffer<StepState> device_state = buffer(std::vector<StepState>{state});
  const Buffer<StepMetrics> ring = buffer(std::vector<StepMetrics>(4));
  collect_metrics(stream(), kBatch, slots, loss, correct, device_state, ring, 4);
  EXPECT_EQ(device_state.values()[0].nonfinite, 42u);
  EXPECT_EQ(ring.values()[1].nonfinite, 42u);
  state = device_state.values()[0];
  state.step = 50;
  const Buffer<StepState> later = buffer(std::vector<StepState>{state});
  collect_metrics(stream(), kBatch, slots, loss, correct, later, ring, 4);
  EXPECT_EQ(later.values()[0].nonfinite, 42u) << "the first step must stay";
}

TEST_P(MetricsTest, EvaluationAddsUpValidRowsOnly) {
  const Batch batch;
  const Buffer<Slot> slots = buffer(batch.slots);
  const Buffer<float> loss = buffer(batch.loss);
  const Buffer<std::uint8_t> correct = buffer(batch.correct);
  const Buffer<StepMetrics> sums = buffer(std::vector<StepMetrics>(1));
  accumulate_evaluation(stream(), kBatch, slots, loss, correct, sums);
  accumulate_evaluation(stream(), 5, slots, loss, correct, sums);
  std::uint32_t count[kMaxSources] = {}, hits[kMaxSources] = {};
  double total[kMaxSources] = {};
  for (const std::size_t valid : {kBatch, std::size_t{5}}) {
    for (std::size_t i = 0; i < valid; ++i) {
      const std::uint32_t s = batch.slots[i].source;
      ++count[s];
      hits[s] += batch.correct[i];
      total[s] += static_cast<double>(batch.loss[i]);
    }
  }
  const StepMetrics result = sums.values()[0];
  for (int s = 0; s < kMaxSources; ++s) {
    EXPECT_EQ(result.source_count[s], count[s]) << s;
    EXPECT_EQ(result.source_correct[s], hits[s]) << s;
    EXPECT_NEAR(result.source_loss[s], total[s], 70 * 0x1p-24 * total[s]) << s;
  }
}

WS_ON_EVERY_BACKEND(MetricsTest);

TEST(MetricsTeams, SameBitsForAnyTeamSize) {
  const Batch batch;
  std::vector<StepState> state(1);
  std::vector<StepMetrics> ring(2);
  using wellspring::test::bytes_of;
  wellspring::test::expect_equal_for_all_team_sizes(
      CollectMetrics{kBatch, batch.slots.data(), batch.loss.data(), batch.correct.data(),
                     state.data(), ring.data(), 2},
      1, {kMetricLanes, kMetricScratch}, {bytes_of(state), bytes_of(ring)});
  wellspring::test::expect_equal_for_all_team_sizes(
      AccumulateEvaluation{kBatch, batch.slots.data(), batch.loss.data(), batch.correct.data(),
                           ring.data()},
      1, {kMetricLanes, kMetricScratch}, {bytes_of(ring)});
}

}  // namespace
}  // namespace wellspring::ops
