#include "kernels/ops/group_norm.h"

#include "core/error.h"
#include "kernels/ops/part_totals.h"
#include "tests/ops/operation_test.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

namespace wellspring::ops::test {
namespace {

struct Inputs {
  Doubles x, gamma, beta, residual;
};

std::size_t size_of_tensor(const GroupNormSpec& s) {
  return static_cast<std::size_t>(s.batch * s.height * s.width * s.channels);
}

/// The normalisation, computed in two passes in double precision.
Doubles forward(const GroupNormSpec& s, const Inputs& in) {
  Doubles y(in.x.size());
  const int pixels = s.height * s.width, width = s.channels / s.groups;
  const auto at = [&](int n, int p, int c) {
    return static_cast<std::size_t>((n * pixels + p) * s.channels + c);
  };
  for (int n = 0; n < s.batch; ++n)
    for (int g = 0; g < s.groups; ++g) {
      double mean = 0, variance = 0;
      const double count = pixels * width;
      for (int p = 0; p < pixels; ++p)
        for (int c = g * width; c < (g + 1) * width; ++c) mean += in.x[at(n, p, c)] / count;
      for (int p = 0; p < pixels; ++p)
        for (int c = g * width; c < (g + 1) * width; ++c)
          variance += std::pow(in.x[at(n, p, c)] - mean, 2) / count;
      const double rstd = 1 / std::sqrt(variance + static_cast<double>(s.epsilon));
      for (int p = 0; p < pixels; ++p)
        for (int c = g * width; c < (g + 1) * width; ++c) {
          const auto k = static_cast<std::size_t>(c);
          const std::size_t i = at(n, p, c);
          double value = (in.x[i] - mean) * rstd * in.gamma[k] + in.beta[k];
          if (s.residual) value += in.residual[i];
          y[i] = s.activation == Activation::relu ? std::max(value, 0.0) : value;
        }
    }
  return y;
}

GroupNormSpec spec_of(int batch, int height, int width, int channels, int groups, bool residual,
                      Activation activation) {
  GroupNormSpec s;
  s.batch = batch;
  s.height = height;
  s.width = width;
  s.channels = channels;
  s.groups = groups;
  s.residual = residual;
  s.activation = activation;
  return s;
}

class GroupNormTest : public test::OperationTest {
 protected:
  template <class T>
  void check(GroupNormSpec s, float offset) {
    s.compute = DTypeOf<T>::value;
    SCOPED_TRACE(std::to_string(s.channels) + " channels in " + std::to_string(s.groups) +
                 " groups, offset " + std::to_string(offset));
    const std::size_t n = size_of_tensor(s), c = static_cast<std::size_t>(s.channels);
    const std::size_t groups = static_cast<std::size_t>(s.batch * s.groups);
    const auto x = random_values<T>(n, 1, offset - 1, offset + 1);
    const auto residual = random_values<T>(n, 2), dy = random_values<T>(n, 3);
    const auto gamma = random_values<float>(c, 4, 0.5f, 1.5f), beta = random_values<float>(c, 5);
    const Buffer<T> device_x = buffer(x), device_residual = buffer(residual),
                    device_dy = buffer(dy), y = buffer<T>(n), dx = buffer<T>(n),
                    dresidual = buffer<T>(n);
    const Buffer<float> device_gamma = buffer(gamma), device_beta = buffer(beta),
                        mean = buffer<float>(groups), rstd = buffer<float>(groups),
                        dgamma = buffer<float>(c), dbeta = buffer<float>(c),
                        partials = buffer<float>(group_norm_partials(s));
    group_norm_forward(stream(), s, device_x, device_gamma, device_beta, device_residual, y, mean,
                       rstd, partials);
    group_norm_backward(stream(), s, device_x, y, device_dy.data(), device_gamma, mean, rstd, dx,
                        s.residual ? dresidual.data() : nullptr, dgamma, dbeta, partials);

    const Inputs in{in_double(x), in_double(gamma), in_double(beta), in_double(residual)};
    // With a large offset, x - mean has an error of offset * u. Sums over 256 lanes add a few
    // rounding errors of the mean magnitude. A factor of 16 covers both for xhat up to about 2.
    const double u = test::rounding(DType::f32);
    const double scale = 16 * (1 + static_cast<double>(std::abs(offset)));
    const double size = static_cast<double>(s.height * s.width * s.channels / s.groups);
    // A group of one value has zero variance: rstd is 1 / sqrt(epsilon), which amplifies the error.
    const double sharp = size < 8 ? 1 / std::sqrt(static_cast<double>(s.epsilon)) : 2;
    const double forward_bound = scale * u * sharp + 4 * test::rounding(s.compute);
    expect_within(y.values(), forward(s, in), forward_bound, "y");

    // Gradients of sum(dy y) by finite differences. If y is within its error of ReLU's kink, the
    // mask may differ; these few elements are skipped.
    Doubles through = in_double(dy);
    const Doubles written = in_double(y.values());
    if (s.activation == Activation::relu) {
      for (std::size_t i = 0; i < n; ++i) through[i] = written[i] > 0 ? through[i] : 0;
    }
    GroupNormSpec linear = s;
    linear.activation = Activation::none;
    const auto along = [&](const Inputs& inputs) { return dot(forward(linear, inputs), through); };
    const double backward_bound = (sharp * scale * u + 4 * test::rounding(s.compute)) * sharp;
    // In large samples, only some elements, from different chunks.
    std::vector<T> some_dx;
    Doubles expected_dx;
    for (std::size_t i = 0; i < n; i += n < 4096 ? 1 : n / 16 + 1) {
      some_dx.push_back(dx.values()[i]);
      expected_dx.push_back(test::derivative(
          [&](const Doubles& v) {
            Inputs moved = in;
            moved.x = v;
            return along(moved);
          },
          in.x, i));
    }
    expect_within(some_dx, expected_dx, backward_bound + 1e-8, "dx");
    const double terms = static_cast<double>(s.batch * s.height * s.width);
    expect_within(dgamma.values(),
                  test::gradient(
                      [&](const Doubles& v) {
                        Inputs moved = in;
                        moved.gamma = v;
                        return along(moved);
                      },
                      in.gamma),
                  scale * u * sharp * terms + 1e-8, "dgamma");
    expect_within(dbeta.values(),
                  test::gradient(
                      [&](const Doubles& v) {
                        Inputs moved = in;
                        moved.beta = v;
                        return along(moved);
                      },
                      in.beta),
                  u * terms + 1e-8, "dbeta");
    if (s.residual) expect_within(dresidual.values(), through, 0, "dresidual");
  }
};

TEST_P(GroupNormTest, AgreesWithDoublePrecisionAndFiniteDifferences) {
  const Activation relu = Activation::relu, none = Activation::none;
  for (const GroupNormSpec& s :
       {spec_of(2, 4, 4, 8, 2, false, relu), spec_of(1, 7, 5, 3, 3, true, relu),
        spec_of(3, 3, 3, 4, 1, true, none), spec_of(1, 1, 1, 16, 2, false, none),
        spec_of(2, 2, 2, 6, 6, false, none), spec_of(1, 2, 1, 300, 4, true, relu)}) {
    check<float>(s, 0);
    check<bf16>(s, 0);
  }
}

// Samples of more than kFusedValues values have several chunks.
TEST_P(GroupNormTest, LargeSamplesAgreeWithDoublePrecision) {
  const GroupNormSpec s = spec_of(2, 93, 101, 8, 2, true, Activation::relu);
  ASSERT_GT(s.height * s.width * s.channels, kFusedValues);
  check<float>(s, 0);
}

// The mean is a thousand times the spread: a single pass over x, without a shift, would lose all
// digits of the variance.
TEST_P(GroupNormTest, KeepsPrecisionFarFromZero) {
  check<float>(spec_of(2, 4, 4, 8, 2, false, Activation::none), 1000);
}

TEST_P(GroupNormTest, RefusesGroupsThatDoNotDivide) {
  const GroupNormSpec s = spec_of(1, 1, 1, 6, 4, false, Activation::none);
  const auto run = [&] {
    group_norm_forward(stream(), s, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                       nullptr);
  };
  wellspring::test::expect_parts(wellspring::test::message_of(ErrorKind::config, run),
                                 {"6 channels in 4 groups"});
}

WS_ON_EVERY_BACKEND(GroupNormTest);

using wellspring::test::bytes_of;
using wellspring::test::expect_equal_for_all_team_sizes;

/// Buffers of all functors. With chunks of kEach rows, the last one is shorter.
template <class T>
void expect_equal_bits(int rows, int channels, int groups) {
  SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(channels) + " channels");
  constexpr int kBatch = 2;
  const NormShape whole{rows, rows, 1, channels, groups};
  const int each = (rows + 2) / 3, chunks = (rows + each - 1) / each;
  const NormShape shape{rows, each, chunks, channels, groups};
  const auto n = static_cast<std::size_t>(kBatch * rows * channels);
  const auto c = static_cast<std::size_t>(channels);
  const auto parts = static_cast<std::size_t>(kBatch * chunks) * c;
  const auto x = random_values<T>(n, 1), residual = random_values<T>(n, 2),
             dy = random_values<T>(n, 3);
  const auto gamma = random_values<float>(c, 4), beta = random_values<float>(c, 5);
  std::vector<T> y(n), dx(n), dresidual(n);
  std::vector<float> mean(static_cast<std::size_t>(kBatch * groups)), rstd(mean.size()), one(parts),
      two(parts), gamma_sums(kBatch * c), beta_sums(kBatch * c);
  const TeamShape team{kChunkTeam, norm_scratch(whole) * sizeof(float)};
  expect_equal_for_all_team_sizes(
      GroupNormForward<T>{x.data(), gamma.data(), beta.data(), residual.data(), y.data(),
                          mean.data(), rstd.data(), whole, 1e-5f, Activation::relu},
      kBatch, team, {bytes_of(y), bytes_of(mean), bytes_of(rstd)});
  const NormGradient<T> in{x.data(),    y.data(), dy.data(),        mean.data(),
                           rstd.data(), whole,    Activation::relu, dresidual.data()};
  expect_equal_for_all_team_sizes(
      GroupNormBackward<T>{in, gamma.data(), dx.data(), gamma_sums.data(), beta_sums.data()},
      kBatch, team, {bytes_of(dx), bytes_of(dresidual), bytes_of(gamma_sums), bytes_of(beta_sums)});

  NormGradient<T> divided = in;
  divided.shape = shape;
  expect_equal_for_all_team_sizes(NormMoments<T>{x.data(), one.data(), two.data(), shape},
                                  kBatch * chunks, team, {bytes_of(one), bytes_of(two)});
  expect_equal_for_all_team_sizes(
      GroupNormTotal{one.data(), two.data(), gamma.data(), mean.data(), rstd.data(), shape, 1e-5f},
      kBatch, team, {bytes_of(mean), bytes_of(rstd)});
  expect_equal_for_all_team_sizes(
      NormApply<T>{x.data(), gamma.data(), beta.data(), mean.data(), rstd.data(), residual.data(),
                   y.data(), shape, Activation::relu},
      kBatch * chunks, team, {bytes_of(y)});
  expect_equal_for_all_team_sizes(NormGradientSums<T>{divided, one.data(), two.data()},
                                  kBatch * chunks, team,
                                  {bytes_of(one), bytes_of(two), bytes_of(dresidual)});
  ASSERT_TRUE(team_adds_parts(chunks, channels));
  expect_equal_for_all_team_sizes(
      NormBackward<T>{divided, gamma.data(), one.data(), two.data(), chunks, gamma_sums.data(),
                      beta_sums.data(), dx.data()},
      kBatch * chunks, team, {bytes_of(dx), bytes_of(gamma_sums), bytes_of(beta_sums)});
  // Adding the parts beforehand gives the same bits.
  const std::vector<T> at_once = dx;
  std::vector<float> gamma_totals(kBatch * c), beta_totals(kBatch * c);
  AddParts<kTotals> all;
  all.table[0] = {one.data(), gamma_totals.data(), chunks, channels, kBatch};
  all.table[1] = {two.data(),
                  beta_totals.data(),
                  chunks,
                  channels,
                  kBatch,
                  1,
                  kBatch * channel_units(channels)};
  all.entries = 2;
  host::run_league(2 * kBatch * channel_units(channels), 1, team, all);
  EXPECT_EQ(gamma_totals, gamma_sums);
  EXPECT_EQ(beta_totals, beta_sums);
  host::run_league(kBatch * chunks, 1, team,
                   NormBackward<T>{divided, gamma.data(), gamma_totals.data(), beta_totals.data(),
                                   1, nullptr, nullptr, dx.data()});
  EXPECT_EQ(std::memcmp(dx.data(), at_once.data(), dx.size() * sizeof(T)), 0);
}

TEST(GroupNormTeams, GiveEqualBitsForAnySize) {
  for (const auto& [rows, channels, groups] :
       {std::tuple{35, 3, 1}, std::tuple{15, 6, 2}, std::tuple{63, 8, 2}, std::tuple{1, 10, 5},
        std::tuple{99, 16, 1}, std::tuple{25, 24, 3}, std::tuple{9, 64, 4}}) {
    expect_equal_bits<float>(rows, channels, groups);
  }
  expect_equal_bits<bf16>(49, 8, 2);
  expect_equal_bits<bf16>(5, 512, 32);
}

}  // namespace
}  // namespace wellspring::ops::test
