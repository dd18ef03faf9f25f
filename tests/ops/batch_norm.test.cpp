#include "kernels/ops/batch_norm.h"

#include "core/error.h"
#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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
                      partials = buffer<float>(batch_norm_partials(spec)),
                      gamma = buffer(std::vector<float>(3, 1)),
                      beta = buffer(std::vector<float>(3, 0)), y = buffer<float>(n);
  batch_norm_forward(stream(), spec, device_x, gamma, beta, nullptr, y,
                     {mean, rstd, running_mean, running_variance}, partials);
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
  EXPECT_THROW(
      batch_norm_forward(stream(), spec, nullptr, nullptr, nullptr, nullptr, nullptr, {}, nullptr),
      Error);
}

WS_ON_EVERY_BACKEND(BatchNormTest);

// The other functors of batch normalisation are tested in group_norm.test.cpp.
TEST(BatchNormTeams, GiveEqualBitsForAnySize) {
  for (const int channels : {3, 8, 24}) {
    SCOPED_TRACE(std::to_string(channels) + " channels");
    const NormShape shape = {70, 8, 9, channels, channels};
    const auto c = static_cast<std::size_t>(channels), n = 70 * c;
    const auto y = random_values<float>(n, 2), dy = random_values<float>(n, 3),
               gamma = random_values<float>(c, 5), means = random_values<float>(9 * c, 6),
               squares = random_values<float>(9 * c, 7, 0, 1), x = random_values<float>(n, 8),
               beta = random_values<float>(c, 9);
    std::vector<float> mean(c), rstd(c), running_mean(c), running_variance(c), dx(n), dresidual(n);
    using wellspring::test::bytes_of;
    using wellspring::test::expect_equal_for_all_team_sizes;
    const TeamShape team{kChunkTeam, norm_scratch(shape) * sizeof(float)};
    // Without momentum, the running statistics do not depend on their old values.
    const BatchNormTotal total{
        means.data(),
        squares.data(),
        {mean.data(), rstd.data(), running_mean.data(), running_variance.data()},
        shape,
        1.0f,
        1e-5f};
    expect_equal_for_all_team_sizes(
        total, channel_units(channels),
        {kChunkTeam, BatchNormTotal::scratch_floats(shape) * sizeof(float)},
        {bytes_of(mean), bytes_of(rstd), bytes_of(running_variance)});
    // One launch gives the bits of two.
    ASSERT_TRUE(team_adds_parts(shape.chunks, channels));
    std::vector<float> normalised(n), at_once(n);
    host::run_league(shape.chunks, 1, team,
                     NormApply<float>{x.data(), gamma.data(), beta.data(), mean.data(), rstd.data(),
                                      y.data(), normalised.data(), shape, Activation::relu});
    const auto separate = std::array{mean, rstd, running_mean, running_variance};
    for (auto* statistic : {&mean, &rstd, &running_mean, &running_variance})
      std::ranges::fill(*statistic, 0.0f);
    expect_equal_for_all_team_sizes(
        BatchNormForward<float>{total, x.data(), gamma.data(), beta.data(), y.data(),
                                at_once.data(), Activation::relu},
        shape.chunks, {kChunkTeam, BatchNormForward<float>::scratch_floats(shape) * sizeof(float)},
        {bytes_of(at_once), bytes_of(mean), bytes_of(rstd), bytes_of(running_variance)});
    EXPECT_EQ(at_once, normalised);
    EXPECT_EQ((std::array{mean, rstd, running_mean, running_variance}), separate);
    const NormGradient<float> in{nullptr,     y.data(), dy.data(),       mean.data(),
                                 rstd.data(), shape,    Activation::relu};
    expect_equal_for_all_team_sizes(
        BatchNormFrozenBackward<float>{in, gamma.data(), dx.data(), dresidual.data()}, shape.chunks,
        team, {bytes_of(dx), bytes_of(dresidual)});
  }
}

}  // namespace
}  // namespace wellspring::ops::test
