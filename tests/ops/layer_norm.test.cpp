#include "kernels/ops/layer_norm.h"

#include "core/error.h"
#include "tests/ops/operation_test.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

namespace wellspring::ops::test {
namespace {

struct LayerNormInputs {
  Doubles x, gamma, beta;
};

/// y, and for each row 1 / sqrt(variance + epsilon) and the largest magnitude of xhat.
struct Normalised {
  Doubles y, rstd, reach;
};

Normalised normalise(const LayerNormSpec& s, const LayerNormInputs& in) {
  Normalised result;
  const auto c = static_cast<std::size_t>(s.channels);
  for (std::size_t first = 0; first < in.x.size(); first += c) {
    double mean = 0, variance = 0, reach = 0;
    for (std::size_t k = 0; k < c; ++k) mean += in.x[first + k] / static_cast<double>(c);
    for (std::size_t k = 0; k < c; ++k)
      variance += std::pow(in.x[first + k] - mean, 2) / static_cast<double>(c);
    const double rstd = 1 / std::sqrt(variance + static_cast<double>(s.epsilon));
    for (std::size_t k = 0; k < c; ++k) {
      const double xhat = (in.x[first + k] - mean) * rstd;
      reach = std::max(reach, std::abs(xhat));
      result.y.push_back(xhat * in.gamma[k] + in.beta[k]);
    }
    result.rstd.push_back(rstd);
    result.reach.push_back(reach);
  }
  return result;
}

LayerNormSpec spec_of(std::int64_t rows, int channels, DType compute = DType::f32) {
  LayerNormSpec s;
  s.rows = rows;
  s.channels = channels;
  s.compute = compute;
  return s;
}

/// Tensors of one layer on a device, and the same inputs in double precision.
template <class T>
struct Layer {
  Layer(Stream& stream, const LayerNormSpec& spec, float offset)
      : s(spec),
        n(static_cast<std::size_t>(s.rows * s.channels)),
        c(static_cast<std::size_t>(s.channels)),
        x(stream, random_values<T>(n, 1, offset - 1, offset + 1)),
        dy(stream, random_values<T>(n, 2)),
        y(stream, n),
        dx(stream, n),
        gamma(stream, random_values<float>(c, 3, 0.5f, 1.5f)),
        beta(stream, random_values<float>(c, 4)),
        mean(stream, static_cast<std::size_t>(s.rows)),
        rstd(stream, static_cast<std::size_t>(s.rows)),
        dgamma(stream, c),
        dbeta(stream, c),
        partials(stream, layer_norm_partials(s)),
        in{in_double(x.values()), in_double(gamma.values()), in_double(beta.values())},
        exact(normalise(s, in)),
        magnitude(1 + std::abs(static_cast<double>(offset))) {}

  void run(Stream& stream) const {
    layer_norm_forward(stream, s, x, gamma, beta, y, mean, rstd);
    layer_norm_backward(stream, s, x, dy, gamma, mean, rstd, dx, dgamma, dbeta, partials);
  }
  /// Rounding errors of a row's mean: one per pack of a lane, one per level of the tree over values
  /// and lanes, and the division.
  double roundings() const {
    const double slots = kPack * row_team(s.channels);
    return std::ceil(static_cast<double>(c) / slots) + std::log2(slots) + 1;
  }
  /// Error of a row's xhat. x - mean has one more rounding error than the mean, of the magnitude of
  /// x. The relative error of rstd is half the variance's error (two more for the square) plus 3 of
  /// its own, and the product rounds once.
  double error_of_xhat(std::size_t row) const {
    return kU * ((roundings() + 1) * exact.rstd[row] * magnitude +
                 (roundings() / 2 + 5) * exact.reach[row]);
  }

  LayerNormSpec s;
  std::size_t n, c;
  Buffer<T> x, dy, y, dx;
  Buffer<float> gamma, beta, mean, rstd, dgamma, dbeta, partials;
  LayerNormInputs in;
  Normalised exact;
  double magnitude;
};

/// gamma is at most 1.5; scaling and shifting round twice in f32, and storing rounds once.
template <class T>
void expect_forward(const Layer<T>& layer) {
  Doubles bound;
  for (std::size_t i = 0; i < layer.n; ++i) {
    const double size = std::abs(layer.exact.y[i]);
    bound.push_back(1.5 * layer.error_of_xhat(i / layer.c) + 4 * kU * (1 + size) +
                    test::rounding(layer.s.compute) * size);
  }
  expect_within(layer.y.values(), layer.exact.y, bound, "y");
}

/// Compares with central differences of sum(dy y). Their error is about f''' step^2, and f''' grows
/// like rstd cubed.
template <class T>
void expect_backward(const Layer<T>& layer) {
  const Doubles through = in_double(layer.dy.values());
  const auto differences = [&](Doubles LayerNormInputs::*member, std::size_t i) {
    const auto along = [&](const Doubles& v) {
      LayerNormInputs moved = layer.in;
      moved.*member = v;
      return dot(normalise(layer.s, moved).y, through);
    };
    return test::derivative(along, layer.in.*member, i);
  };
  const auto dx = layer.dx.values();
  std::vector<T> some;
  Doubles expected, bound;
  for (std::size_t i = 0; i < layer.n; i += layer.n < 600 ? 1 : layer.n / 64 + 1) {
    const std::size_t row = i / layer.c;
    const double rstd = layer.exact.rstd[row], reach = layer.exact.reach[row];
    some.push_back(dx[i]);
    expected.push_back(differences(&LayerNormInputs::x, i));
    // g, a and xhat b are at most 1.5 (1 + 1 + reach), and round like means. The error of xhat
    // enters through xhat and through b, where |g| is at most 1.5.
    bound.push_back(
        rstd * 1.5 *
            ((layer.roundings() + 3) * kU * (2 + reach) + layer.error_of_xhat(row) * (1 + reach)) +
        test::rounding(layer.s.compute) * std::abs(expected.back()) +
        1e-8 * (1 + std::pow(rstd, 3)));
  }
  if (layer.c > 1) {  // a single value has zero variance, so differences are meaningless
    expect_within(some, expected, bound, "dx");
  }
  // A sum of `rows` terms has at most `rows` rounding errors of their magnitudes.
  double gamma_bound = 1e-8;
  for (std::size_t row = 0; row < layer.exact.rstd.size(); ++row) {
    gamma_bound +=
        layer.error_of_xhat(row) + kU * layer.exact.reach[row] * static_cast<double>(layer.s.rows);
  }
  const double rows = static_cast<double>(layer.s.rows);
  Doubles expected_gamma, expected_beta;
  std::vector<float> some_gamma, some_beta;
  for (std::size_t k = 0; k < layer.c; k += layer.c < 100 ? 1 : 37) {
    some_gamma.push_back(layer.dgamma.values()[k]);
    some_beta.push_back(layer.dbeta.values()[k]);
    expected_gamma.push_back(differences(&LayerNormInputs::gamma, k));
    expected_beta.push_back(differences(&LayerNormInputs::beta, k));
  }
  expect_within(some_gamma, expected_gamma, gamma_bound, "dgamma");
  expect_within(some_beta, expected_beta, kU * rows * rows + 1e-8, "dbeta");
}

class LayerNormTest : public test::OperationTest {
 protected:
  template <class T>
  void check(std::int64_t rows, int channels) {
    SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(channels) + " channels, " +
                 std::string(to_string(DTypeOf<T>::value)));
    const Layer<T> layer(stream(), spec_of(rows, channels, DTypeOf<T>::value), 0);
    layer.run(stream());
    expect_forward(layer);
    expect_backward(layer);
  }
};

TEST_P(LayerNormTest, AgreesWithDoublePrecisionAndFiniteDifferences) {
  for (const int channels : {1, 3, 7, 8, 65, 384, 768}) {
    check<float>(3, channels);
    check<bf16>(3, channels);
  }
  check<bf16>(1, kMaxLayerNormChannels);
}

// Chunks of the parameter gradients have 16384 values.
TEST_P(LayerNormTest, AddsTheGradientsOfManyRows) {
  check<float>(4200, 8);
  check<bf16>(50, 768);
  check<float>(700, 65);
}

// The mean is a thousand times the spread: mean(x^2) - mean(x)^2 would lose all digits.
TEST_P(LayerNormTest, KeepsPrecisionFarFromZero) {
  for (const int channels : {7, 768}) {
    const Layer<float> layer(stream(), spec_of(4, channels), 1000);
    layer.run(stream());
    expect_forward(layer);
  }
}

TEST_P(LayerNormTest, ReplacesItsInputsAndSkipsUnwantedGradients) {
  const Layer<float> layer(stream(), spec_of(40, 768), 0), other(stream(), spec_of(40, 768), 0);
  layer.run(stream());
  layer_norm_backward(stream(), other.s, other.x, other.dy, other.gamma, layer.mean, layer.rstd,
                      nullptr, other.dgamma, other.dbeta, other.partials);
  EXPECT_EQ(other.dgamma.values(), layer.dgamma.values());
  EXPECT_EQ(other.dbeta.values(), layer.dbeta.values());
  layer_norm_backward(stream(), other.s, other.x, other.dy, other.gamma, layer.mean, layer.rstd,
                      other.dy, other.dgamma, other.dbeta, other.partials);
  EXPECT_EQ(other.dy.values(), layer.dx.values());
  EXPECT_EQ(other.dgamma.values(), layer.dgamma.values());
  layer_norm_backward(stream(), layer.s, layer.x, layer.dy, layer.gamma, layer.mean, layer.rstd,
                      other.y, nullptr, nullptr, nullptr);
  EXPECT_EQ(other.y.values(), layer.dx.values());
  layer_norm_forward(stream(), other.s, other.x, other.gamma, other.beta, other.x, other.mean,
                     other.rstd);
  EXPECT_EQ(other.x.values(), layer.y.values());
}

TEST_P(LayerNormTest, RefusesImpossibleWidths) {
  for (const int channels : {0, kMaxLayerNormChannels + 1}) {
    const auto run = [&] {
      layer_norm_forward(stream(), spec_of(1, channels), nullptr, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
    };
    wellspring::test::expect_parts(wellspring::test::message_of(ErrorKind::config, run),
                                   {std::to_string(channels) + " channels", "1 to 4096"});
  }
}

WS_ON_EVERY_BACKEND(LayerNormTest);

template <class T>
void expect_equal_bits(int rows, int channels) {
  SCOPED_TRACE(std::to_string(channels) + " channels");
  using wellspring::test::bytes_of;
  using wellspring::test::expect_equal_for_all_team_sizes;
  const auto n = static_cast<std::size_t>(rows * channels), c = static_cast<std::size_t>(channels);
  const auto x = random_values<T>(n, 1), dy = random_values<T>(n, 2);
  const auto gamma = random_values<float>(c, 3), beta = random_values<float>(c, 4);
  const int each = (rows + 1) / 2;
  const NormShape shape{rows, each, (rows + each - 1) / each, channels, 1};
  std::vector<T> y(n), dx(n);
  std::vector<float> mean(static_cast<std::size_t>(rows)), rstd(mean.size()), one(2 * c),
      two(2 * c);
  const auto shape_of = [=](int sums) {
    return TeamShape{row_team(channels), row_scratch(channels, sums)};
  };
  expect_equal_for_all_team_sizes(LayerNormForward<T>{x.data(), gamma.data(), beta.data(), y.data(),
                                                      mean.data(), rstd.data(), channels, 1e-6f},
                                  rows, shape_of(1), {bytes_of(y), bytes_of(mean), bytes_of(rstd)});
  expect_equal_for_all_team_sizes(
      LayerNormBackward<T>{x.data(), dy.data(), gamma.data(), mean.data(), rstd.data(), dx.data(),
                           channels},
      rows, shape_of(2), {bytes_of(dx)});
  expect_equal_for_all_team_sizes(
      LayerNormGradientSums<T>{x.data(), dy.data(), mean.data(), rstd.data(), one.data(),
                               two.data(), shape},
      shape.chunks, {kChunkTeam, norm_scratch(each, channels, 2, 0) * sizeof(float)},
      {bytes_of(one), bytes_of(two)});
}

TEST(LayerNormTeams, GiveEqualBitsForAnySize) {
  for (const int channels : {1, 3, 7, 8, 65, 768}) expect_equal_bits<float>(3, channels);
  for (const int channels : {7, 768, 2100, kMaxLayerNormChannels})
    expect_equal_bits<bf16>(2, channels);
}

}  // namespace
}  // namespace wellspring::ops::test
