#include "kernels/ops/batch_norm.h"

#include "core/error.h"
#include "kernels/ops/group_norm.h"
#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace wellspring::ops::test {
namespace {

class BatchNormTest : public test::OperationTest {};

// The mean is a thousand times the standard deviation, and there are more rows than a chunk has.
// Floats of that size are multiples of 2^-13, so x is off by up to 2^-14, compared with its
// standard deviation of 1/sqrt(3). Summing about each chunk's own mean loses no further precision.
TEST_P(BatchNormTest, KeepsPrecisionFarFromZero) {
  BatchNormSpec spec = {.rows = 5000, .channels = 3};
  const auto n = static_cast<std::size_t>(spec.rows * spec.channels);
  const auto x = random_values<float>(n, 1, 999, 1001);
  const Buffer<float> device_x = buffer(x), mean = buffer<float>(3), rstd = buffer<float>(3),
                      running_mean = buffer(std::vector<float>(3, 0)),
                      running_variance = buffer(std::vector<float>(3, 1)),
                      partials = buffer<float>(batch_norm_partials(spec));
  batch_norm_statistics(stream(), spec, device_x, {mean, rstd, running_mean, running_variance},
                        partials);
  std::vector<double> means(3, 0), rstds(3, 0), variances(3, 0);
  for (std::size_t i = 0; i < n; ++i) means[i % 3] += double{x[i]} / 5000;
  for (std::size_t i = 0; i < n; ++i) variances[i % 3] += std::pow(x[i] - means[i % 3], 2) / 5000;
  for (std::size_t k = 0; k < 3; ++k) {
    rstds[k] = 1 / std::sqrt(variances[k] + 1e-5);
    means[k] = means[k];
    variances[k] = 0.9 + 0.1 * variances[k] * 5000 / 4999;
  }
  // The mean of 1000 may be off by 4 roundings; the variance changes only by the square of that.
  test::expect_within(mean.values(), means, 4000 * test::rounding(DType::f32), "mean");
  test::expect_within(rstd.values(), rstds, 1e-5, "rstd");
  test::expect_within(running_variance.values(), variances, 1e-5, "running variance");
}

TEST_P(BatchNormTest, RefusesOneRow) {
  BatchNormSpec spec;
  spec.rows = 1;
  EXPECT_THROW(batch_norm_statistics(stream(), spec, nullptr, {}, nullptr), Error);
}

WS_ON_EVERY_BACKEND(BatchNormTest);

TEST(BatchNormTeams, GiveEqualBitsForAnySize) {
  constexpr int kRows = 70, kChannels = 6, kEach = 32, kChunks = 3;
  constexpr std::size_t kSize = kRows * kChannels;
  const auto x = random_values<float>(kSize, 1), y = random_values<float>(kSize, 2),
             dy = random_values<float>(kSize, 3), residual = random_values<float>(kSize, 4),
             gamma = random_values<float>(kChannels, 5), beta = random_values<float>(kChannels, 6);
  std::vector<float> sums(kChunks * kChannels), squares(kChunks * kChannels), mean(kChannels),
      rstd(kChannels), running_mean(kChannels), running_variance(kChannels), out(kSize), dx(kSize),
      dresidual(kSize);
  using wellspring::test::bytes_of;
  using wellspring::test::expect_equal_for_all_team_sizes;
  const TeamShape shape{kChunkTeam, batch_norm_scratch(kChannels) * sizeof(float)};
  expect_equal_for_all_team_sizes(
      BatchNormChunk<float>{x.data(), sums.data(), squares.data(), kRows, kEach, kChannels},
      kChunks, shape, {bytes_of(sums), bytes_of(squares)});
  // Without momentum, the running statistics do not depend on their old values.
  expect_equal_for_all_team_sizes(
      BatchNormTotal{sums.data(),
                     squares.data(),
                     {mean.data(), rstd.data(), running_mean.data(), running_variance.data()},
                     kRows,
                     kEach,
                     kChunks,
                     kChannels,
                     1.0f,
                     1e-5f},
      kChannels, {kChunkTeam, kReduceLanes * sizeof(float)},
      {bytes_of(mean), bytes_of(rstd), bytes_of(running_variance)});
  expect_equal_for_all_team_sizes(
      BatchNormApply<float>{x.data(), gamma.data(), beta.data(), mean.data(), rstd.data(),
                            residual.data(), out.data(), kRows, kEach, kChannels, Activation::relu},
      kChunks, shape, {bytes_of(out)});
  const BatchNormGradient<float> gradient{x.data(),    y.data(),    dy.data(),
                                          mean.data(), rstd.data(), kRows,
                                          kEach,       kChannels,   Activation::relu};
  expect_equal_for_all_team_sizes(
      BatchNormBackwardChunk<float>{gradient, sums.data(), squares.data()}, kChunks, shape,
      {bytes_of(sums), bytes_of(squares)});
  expect_equal_for_all_team_sizes(
      BatchNormBackward<float>{gradient, gamma.data(), mean.data(), rstd.data(), dx.data(),
                               dresidual.data()},
      kChunks, shape, {bytes_of(dx), bytes_of(dresidual)});
}

}  // namespace
}  // namespace wellspring::ops::test
