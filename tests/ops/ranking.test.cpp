#include "kernels/ops/ranking.h"

#include "tests/ops/operation_test.h"

#include <gtest/gtest.h>

#include <vector>

namespace wellspring::ops::test {
namespace {

class RankingTest : public test::OperationTest {};

TEST_P(RankingTest, ReadsOnlyItsTwoColumnsAndTheRequestedRows) {
  constexpr std::size_t kRows = 37, kAsked = 30, kWidth = 5, kBegin = 2;
  const std::vector<float> values = random_values<float>(kRows * kWidth, 1, -4, 4);
  std::vector<std::int32_t> label(kRows);
  for (std::size_t i = 0; i < kRows; ++i) label[i] = static_cast<std::int32_t>(i % 3) - 1;
  const Buffer<float> outputs = buffer(values);
  const Buffer<std::int32_t> labels = buffer(label);
  const Buffer<ScoredSample> out = buffer(std::vector<ScoredSample>(kRows, {-99, 7}));
  collect_scores(stream(), kAsked, outputs, kWidth, kBegin, labels, out);
  const std::vector<ScoredSample> found = out.values();
  for (std::size_t i = 0; i < kRows; ++i) {
    const float* row = &values[i * kWidth + kBegin];
    EXPECT_EQ(found[i].score, i < kAsked ? row[1] - row[0] : -99) << i;
    EXPECT_EQ(found[i].label, i < kAsked ? label[i] : 7) << i;
  }
}

WS_ON_EVERY_BACKEND(RankingTest);

}  // namespace
}  // namespace wellspring::ops::test
