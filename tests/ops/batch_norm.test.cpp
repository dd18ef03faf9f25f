#include "kernels/ops/batch_norm.h"

#include "core/error.h"
#include "tests/ops/operation_test.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_team.h"
#include "tests/support/rank_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace wellspring::ops::test {
namespace {

class BatchNormTest : public test::OperationTest {};

// The mean is a thousand times the standard deviation, and there are more rows than a chunk has.
// Floats of this size are multiples of 2^-13, so x is off by up to 2^-14, with a standard deviation
// of 2^-14 / sqrt(3). Sums about each chunk's own mean lose no further precision.
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
  // The mean of 1000 may be off by 4 rounding errors; the variance, only by the square of this.
  test::expect_within(mean.values(), means, 4000 * test::rounding(DType::f32), "mean");
  test::expect_within(rstd.values(), rstds, 1e-5, "rstd");
  test::expect_within(running_variance.values(), variances, 1e-5, "running variance");
}

TEST(BatchNormWidth, IsRefusedBeyondTheScratchOfATeam) {
  EXPECT_NO_THROW(expect_batch_norm_fits({.rows = 64, .channels = 16384}, Device::cpu()));
  wellspring::test::expect_parts(
      wellspring::test::message_of(
          ErrorKind::device,
          [] { expect_batch_norm_fits({.rows = 64, .channels = 32768}, Device::cpu()); }),
      {"batch norm of 32768 channels: too wide for cpu", "786432 bytes of scratch", "narrower"});
}

/// Results of a batch norm over some rows.
struct NormResult {
  std::vector<float> y, dx, dgamma, dbeta, running_mean, running_variance;
};

/// A training pass and its gradient for rows [first, first + rows) of x and dy [all rows, channels].
NormResult norm_pass(const std::vector<float>& x, const std::vector<float>& dy, std::int64_t first,
                     BatchNormSpec spec) {
  Stream stream(Device::cpu(), 1);
  const auto c = static_cast<std::size_t>(spec.channels);
  const auto n = static_cast<std::size_t>(spec.rows) * c, at = static_cast<std::size_t>(first) * c;
  NormResult result{std::vector<float>(n), std::vector<float>(n),    std::vector<float>(c),
                    std::vector<float>(c), std::vector<float>(c, 0), std::vector<float>(c, 1)};
  std::vector<float> mean(c), rstd(c), gamma(c, 1.5f), beta(c, 0.25f),
      partials(batch_norm_partials(spec));
  batch_norm_forward(
      stream, spec, x.data() + at, gamma.data(), beta.data(), nullptr, result.y.data(),
      {mean.data(), rstd.data(), result.running_mean.data(), result.running_variance.data()},
      partials.data());
  std::vector<float> arriving(dy.begin() + static_cast<std::ptrdiff_t>(at),
                              dy.begin() + static_cast<std::ptrdiff_t>(at + n));
  batch_norm_backward(stream, spec, x.data() + at, result.y.data(), arriving.data(), gamma.data(),
                      mean.data(), rstd.data(), result.dx.data(), nullptr, result.dgamma.data(),
                      result.dbeta.data(), partials.data());
  return result;
}

// x is in [-1, 5] around 2, with a standard deviation s > 1.5, dy in [-1, 1], m rows. A sum of m terms in
// two orders differs by 2 m u of the sum of its absolute values (Higham 2002, section 4.2), so the means
// differ by 10 m u. The sums of squares differ by a relative 2 m u, and by the square of the difference of the means.
// So rstd < 2/3 differs by a relative (m + 10) u, and xhat, at most 2, by (10 m 2/3 + 2 (m + 10)) u < 10 (m + 2) u. In
// dx, whose factor gamma rstd is below 1, the means of dy and of dy xhat differ by 2 m u (1 + 2) and by the difference
// of xhat, and their product with xhat by as much again: less than 30 (m + 2) u. The sums dgamma and dbeta differ by m
// times the error of a term.
TEST(BatchNormRanks, ShareTheStatisticsOfTheWholeBatch) {
  constexpr std::int64_t kRows = 600;
  constexpr int kChannels = 24;
  constexpr double kUnit = 0x1p-24 * (kRows + 2);
  const auto n = static_cast<std::size_t>(kRows * kChannels);
  const auto x = random_values<float>(n, 1, -1, 5), dy = random_values<float>(n, 2, -1, 1);
  BatchNormSpec spec = {.rows = kRows, .channels = kChannels, .activation = Activation::relu};
  const NormResult whole = norm_pass(x, dy, 0, spec);
  const auto close = [](const std::vector<float>& part, const std::vector<float>& all,
                        std::size_t first, double bound) {
    for (std::size_t i = 0; i < part.size(); ++i) ASSERT_NEAR(part[i], all[first + i], bound) << i;
  };
  for (const int ranks : {2, 3}) {
    std::vector<NormResult> parts(static_cast<std::size_t>(ranks));
    wellspring::test::RankGroup(ranks).run([&](Communicator& communicator) {
      BatchNormSpec own = spec;
      own.rows = kRows / ranks;
      own.ranks = &communicator;
      parts[static_cast<std::size_t>(communicator.rank())] =
          norm_pass(x, dy, communicator.rank() * own.rows, own);
    });
    std::vector<float> dgamma(kChannels, 0), dbeta(kChannels, 0);
    for (std::size_t r = 0; r < parts.size(); ++r) {
      const NormResult& part = parts[r];
      close(part.y, whole.y, r * part.y.size(), 1.5 * 10 * kUnit);
      close(part.dx, whole.dx, r * part.dx.size(), 30 * kUnit);
      close(part.running_mean, whole.running_mean, 0, kUnit);
      close(part.running_variance, whole.running_variance, 0, 3 * kUnit);
      EXPECT_EQ(part.running_mean, parts[0].running_mean) << "equal bits on all ranks";
      EXPECT_EQ(part.running_variance, parts[0].running_variance);
      for (std::size_t k = 0; k < dgamma.size(); ++k) {
        dgamma[k] += part.dgamma[k];
        dbeta[k] += part.dbeta[k];
      }
    }
    close(dgamma, whole.dgamma, 0, kRows * 12 * kUnit);
    close(dbeta, whole.dbeta, 0, kRows * 2 * kUnit);
    // The statistics of a rank's own rows are different.
    BatchNormSpec own = spec;
    own.rows = kRows / ranks;
    EXPECT_GT(std::abs(norm_pass(x, dy, 0, own).running_mean[0] - whole.running_mean[0]),
              100 * kUnit);
  }
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
    // One launch gives the same bits as two.
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
