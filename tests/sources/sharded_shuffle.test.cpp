// The order of a data set in shards that are sorted by class, compared with a full shuffle.
#include "tests/sources/file_run.h"
#include "tests/support/chi_square.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace wellspring::test {
namespace {

constexpr int kShards = 20, kShardRows = 100;  ///< rows per shard
constexpr int kShuffledBatch = 200, kShuffledEpochs = 4;
constexpr int kShardedRows = kShards * kShardRows,
              kShuffledBatches = kShuffledEpochs * kShardedRows / kShuffledBatch;
/// Standard scores beyond 6 have a probability of 1e-9. With 40 batches and 3 lags, a correct order is
/// refused with a probability below 1e-7.
constexpr double kWorstScore = 6;

/// The worst score of the shard numbers within a batch, which are equally likely.
double worst_batch(const std::vector<int>& shards) {
  double worst = -1e9;
  for (int batch = 0; batch < kShuffledBatches; ++batch) {
    std::vector<double> counts(kShards, 0);
    for (int i = 0; i < kShuffledBatch; ++i)
      ++counts[static_cast<std::size_t>(
          shards[static_cast<std::size_t>(batch * kShuffledBatch + i)])];
    worst = std::max(worst, chi_square_score(counts, kShuffledBatch / double{kShards}));
  }
  return worst;
}

/// Standard score of the correlation of shard numbers that are `lag` rows apart, within epochs. Its
/// standard deviation is 1 / sqrt(n), and its mean of -1 / (n - 1) is negligible.
double correlation_score(const std::vector<int>& shards, int lag) {
  constexpr double kMean = (kShards - 1) / 2.0, kVariance = (kShards * kShards - 1) / 12.0;
  double sum = 0;
  for (int i = 0; i < kShuffledEpochs * kShardedRows; ++i) {
    const int next = i / kShardedRows * kShardedRows + (i % kShardedRows + lag) % kShardedRows;
    sum += (shards[static_cast<std::size_t>(i)] - kMean) *
           (shards[static_cast<std::size_t>(next)] - kMean);
  }
  return sum / kVariance / std::sqrt(kShuffledEpochs * kShardedRows);
}

TEST(ShardedShuffle, IsAsGoodAsAFullShuffle) {
  TemporaryFolder folder;
  const Bytes image = encode_ppm(noise_rgb(4, 4, 1), 4, 4);
  for (int shard = 0; shard < kShards; ++shard) {
    TarWriter writer;
    for (int row = 0; row < kShardRows; ++row) {
      const std::string name = fmt::format("{:04}", row), label = std::to_string(shard);
      writer.add(name + ".ppm", image);
      writer.add(name + ".cls", {label.begin(), label.end()});
    }
    write_bytes(folder / fmt::format("s-{:02}.tar", shard), writer.finish());
  }
  SourceContext context;
  context.seed = 5;
  const auto source = make_source(files(folder / "s-{00..19}.tar"), context);
  ASSERT_EQ(source->rows()->size(), kShardedRows);
  const auto order = source->order();
  std::vector<int> shards;
  for (std::uint64_t i = 0; i < kShuffledEpochs * kShardedRows; ++i)
    shards.push_back(source->rows()->label(static_cast<std::int64_t>(order.sample(i))));
  EXPECT_LT(worst_batch(shards), kWorstScore);
  for (const int lag : {1, 2, 32})
    EXPECT_LT(std::abs(correlation_score(shards, lag)), kWorstScore) << lag;

  // Shards in order, through a shuffle buffer of a quarter of the rows, would not pass.
  std::minstd_rand random(1);
  std::vector<int> buffer, buffered;
  for (int i = 0; i < kShuffledEpochs * kShardedRows; ++i) {
    buffer.push_back(i % kShardedRows / kShardRows);
    if (buffer.size() < kShardedRows / 4 && i + 1 < kShuffledEpochs * kShardedRows) continue;
    std::swap(buffer[random() % buffer.size()], buffer.back());
    buffered.push_back(buffer.back());
    buffer.pop_back();
  }
  for (; !buffer.empty(); buffer.pop_back()) buffered.push_back(buffer.back());
  EXPECT_GT(worst_batch(buffered), kWorstScore);
  EXPECT_GT(correlation_score(buffered, 1), kWorstScore);
}

}  // namespace
}  // namespace wellspring::test
