// Normalisations fused with their neighbours (pooling before, a mean after, the sum of two output
// gradients) give the same bits as the separate operations.
#include "kernels/ops/batch_norm.h"
#include "kernels/ops/group_norm.h"
#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace wellspring::ops::test {
namespace {

using wellspring::test::bytes_of;
using wellspring::test::expect_equal_for_all_team_sizes;

class FusedNormTest : public test::OperationTest {
 protected:
  template <class T>
  static void expect_same(const Buffer<T>& fused, const Buffer<T>& apart, const char* what) {
    const auto a = fused.values(), b = apart.values();
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)), 0) << what;
  }
  static std::size_t elements(const GroupNormSpec& s) {
    return static_cast<std::size_t>(s.batch * s.height * s.width * s.channels);
  }

  /// Input and output of a normalisation, and its gradients.
  template <class T>
  struct Arrays {
    Arrays(FusedNormTest& of, const GroupNormSpec& s)
        : n(elements(s)),
          c(static_cast<std::size_t>(s.channels)),
          gamma(of.buffer(random_values<float>(c, 4, 0.5f, 1.5f))),
          beta(of.buffer(random_values<float>(c, 5))),
          residual(of.buffer(random_values<T>(n, 6))),
          x(of.buffer(random_values<T>(n, 1))),
          y(of.buffer<T>(n)),
          dx(of.buffer<T>(n)),
          dresidual(of.buffer<T>(n)),
          average(of.buffer(std::vector<T>(static_cast<std::size_t>(s.batch) * c))),
          mean(of.buffer<float>(static_cast<std::size_t>(s.batch * s.groups))),
          rstd(of.buffer<float>(static_cast<std::size_t>(s.batch * s.groups))),
          dgamma(of.buffer<float>(c)),
          dbeta(of.buffer<float>(c)),
          partials(of.buffer<float>(group_norm_partials(s))) {}

    void forward(Stream& stream, const GroupNormSpec& s, void* to = nullptr,
                 const PoolBeforeNorm* pool = nullptr) const {
      group_norm_forward(stream, s, x, gamma, beta, residual, y, mean, rstd, partials, to, pool);
    }
    void backward(Stream& stream, const GroupNormSpec& s, const OutputGradient& dy, void* to,
                  const PoolBeforeNorm* pool = nullptr) const {
      group_norm_backward(stream, s, x, y, dy, gamma, mean, rstd, to,
                          s.residual ? dresidual.data() : nullptr, dgamma, dbeta, partials, nullptr,
                          pool);
    }
    void expect_same_gradients(const Arrays& apart, const GroupNormSpec& s) const {
      FusedNormTest::expect_same(dx, apart.dx, "dx");
      FusedNormTest::expect_same(dgamma, apart.dgamma, "dgamma");
      FusedNormTest::expect_same(dbeta, apart.dbeta, "dbeta");
      if (s.residual) FusedNormTest::expect_same(dresidual, apart.dresidual, "dresidual");
    }

    std::size_t n, c;
    Buffer<float> gamma, beta;
    Buffer<T> residual, x, y, dx, dresidual, average;
    Buffer<float> mean, rstd, dgamma, dbeta, partials;
  };

  static PoolSpec pixels(const GroupNormSpec& s) {
    return {.batch = s.batch,
            .height = s.height,
            .width = s.width,
            .channels = s.channels,
            .compute = s.compute};
  }

  template <class T>
  void check_mean(GroupNormSpec s) {
    s.compute = DTypeOf<T>::value;
    const Arrays<T> fused(*this, s), apart(*this, s);
    fused.forward(stream(), s, fused.average);
    apart.forward(stream(), s);
    global_mean_forward(stream(), pixels(s), apart.y, apart.average);
    expect_same(fused.y, apart.y, "y");
    expect_same(fused.average, apart.average, "average");

    const Buffer<T> dy = buffer(random_values<T>(fused.average.size(), 7)),
                    spread = buffer<T>(fused.n);
    fused.backward(stream(), s, {dy, nullptr, true}, fused.dx);
    global_mean_backward(stream(), pixels(s), dy, spread);
    apart.backward(stream(), s, spread.data(), apart.dx);
    fused.expect_same_gradients(apart, s);
  }

  template <class T>
  void check_sum(GroupNormSpec s) {
    s.compute = DTypeOf<T>::value;
    const Arrays<T> fused(*this, s), apart(*this, s);
    fused.forward(stream(), s);
    apart.forward(stream(), s);
    const Buffer<T> dy = buffer(random_values<T>(fused.n, 7)),
                    again = buffer(random_values<T>(fused.n, 8)), sum = buffer<T>(fused.n);
    add(stream(), s.compute, static_cast<std::int64_t>(fused.n), dy, again, sum);
    fused.backward(stream(), s, {dy, again}, fused.dx);
    apart.backward(stream(), s, sum.data(), apart.dx);
    fused.expect_same_gradients(apart, s);
  }

  template <class T>
  void check_pool(GroupNormSpec s, Activation activation) {
    s.compute = DTypeOf<T>::value;
    const Arrays<T> fused(*this, s), apart(*this, s);
    PoolSpec wide = pixels(s);
    wide.height *= 2;
    wide.width *= 2;
    wide.activation = activation;
    const Buffer<T> image = buffer(random_values<T>(4 * fused.n, 9)),
                    fused_image = buffer<T>(4 * fused.n), apart_image = buffer<T>(4 * fused.n),
                    dy = buffer(random_values<T>(fused.n, 7));
    const Buffer<std::uint8_t> fused_winner = buffer<std::uint8_t>(fused.n),
                               apart_winner = buffer<std::uint8_t>(fused.n);
    const PoolBeforeNorm pool{activation, fused_winner, image, fused_image};
    fused.forward(stream(), s, nullptr, &pool);
    max_pool_forward(stream(), wide, image, apart.x, apart_winner);
    apart.forward(stream(), s);
    expect_same(fused.x, apart.x, "pooled values");
    expect_same(fused_winner, apart_winner, "winners");
    expect_same(fused.y, apart.y, "y");

    fused.backward(stream(), s, dy.data(), fused.x, &pool);  // replaces the pooled values
    apart.backward(stream(), s, dy.data(), apart.dx);
    max_pool_backward(stream(), wide, apart.dx, apart_winner, apart_image);
    expect_same(fused.x, apart.dx, "gradient of the pooled values");
    expect_same(fused_image, apart_image, "gradient of the image");
    expect_same(fused.dgamma, apart.dgamma, "dgamma");
    expect_same(fused.dbeta, apart.dbeta, "dbeta");
  }

  /// Samples with one team and with several chunks; packs of channels and single channels.
  template <class Check>
  static void for_shapes(Check check) {
    for (const Activation activation : {Activation::none, Activation::relu})
      for (const bool residual : {false, true})
        for (GroupNormSpec s : {GroupNormSpec{3, 4, 5, 16, 4}, GroupNormSpec{2, 3, 2, 6, 3},
                                GroupNormSpec{2, 1, 1, 8, 1}, GroupNormSpec{1, 91, 91, 8, 2}}) {
          if (s.height > 90 && residual != (activation == Activation::relu)) continue;
          s.residual = residual;
          s.activation = activation;
          SCOPED_TRACE(std::to_string(s.height) + " rows, " + std::to_string(s.channels) +
                       " channels" + (residual ? ", residual" : ""));
          check(s);
        }
  }
};

TEST_P(FusedNormTest, AveragesWithEqualBits) {
  for_shapes([&](const GroupNormSpec& s) {
    check_mean<float>(s);
    check_mean<bf16>(s);
  });
}

TEST_P(FusedNormTest, AddsGradientsWithEqualBits) {
  for_shapes([&](const GroupNormSpec& s) {
    check_sum<float>(s);
    check_sum<bf16>(s);
  });
}

TEST_P(FusedNormTest, PoolsWithEqualBits) {
  for_shapes([&](const GroupNormSpec& s) {
    for (const Activation activation : {Activation::none, Activation::relu}) {
      check_pool<float>(s, activation);
      check_pool<bf16>(s, activation);
    }
  });
}

// Frozen or not, with and without a residual and an input gradient.
TEST_P(FusedNormTest, AddsGradientsOfABatchNormWithEqualBits) {
  const BatchNormSpec s{
      .rows = 700, .channels = 24, .activation = Activation::relu, .compute = DType::bf16};
  const std::size_t n = 700 * 24, c = 24;
  const Buffer<bf16> x = buffer(random_values<bf16>(n, 1)), y = buffer(random_values<bf16>(n, 2)),
                     dy = buffer(random_values<bf16>(n, 3)), sum = buffer<bf16>(n);
  const Buffer<float> gamma = buffer(random_values<float>(c, 4)),
                      mean = buffer(random_values<float>(c, 5)),
                      rstd = buffer(random_values<float>(c, 6, 0.5f, 2)),
                      partials = buffer<float>(batch_norm_partials(s));
  for (const bool learns : {false, true})
    for (const bool residual : {false, true})
      for (const bool input : {false, true}) {
        const Buffer<bf16> again = buffer(random_values<bf16>(n, 7));
        add(stream(), s.compute, static_cast<std::int64_t>(n), dy, again, sum);
        const auto run = [&](const OutputGradient& gradient) {
          const Buffer<bf16> dx = buffer(std::vector<bf16>(n)),
                             dresidual = buffer(std::vector<bf16>(n));
          const Buffer<float> dgamma = buffer(std::vector<float>(c)),
                              dbeta = buffer(std::vector<float>(c));
          batch_norm_backward(stream(), s, x, y, gradient, gamma, mean, rstd,
                              input ? dx.data() : nullptr, residual ? dresidual.data() : nullptr,
                              learns ? dgamma.data() : nullptr, learns ? dbeta.data() : nullptr,
                              partials);
          Doubles all = in_double(dx.values());
          for (const Doubles& part : {in_double(dresidual.values()), in_double(dgamma.values()),
                                      in_double(dbeta.values())})
            all.insert(all.end(), part.begin(), part.end());
          return all;
        };
        EXPECT_EQ(run({dy, again}), run(sum.data())) << learns << residual << input;
      }
}

WS_ON_EVERY_BACKEND(FusedNormTest);

template <class T>
void expect_equal_pool_norms(int height, int width, int channels) {
  constexpr int kBatch = 2;
  const int rows = height * width;
  const auto n = static_cast<std::size_t>(kBatch * rows * channels);
  const auto c = static_cast<std::size_t>(channels);
  const NormShape shape{rows, rows, 1, channels, 2};
  const ImageRows samples{kBatch * height, height, width, channels, height};
  const auto image = random_values<T>(4 * n, 1), dy = random_values<T>(n, 2),
             again = random_values<T>(n, 3);
  const auto gamma = random_values<float>(c, 4), beta = random_values<float>(c, 5);
  std::vector<T> x(n), y(n), dx(n), passed(n), dimage(4 * n), average(kBatch * c);
  std::vector<std::uint8_t> winner(n);
  std::vector<float> mean(2 * kBatch), rstd(2 * kBatch), gammas(kBatch * c), betas(kBatch * c);
  const TeamShape team{kChunkTeam, norm_scratch(shape) * sizeof(float)};
  expect_equal_for_all_team_sizes(
      PoolNormForward<T>{
          {image.data(), x.data(), winner.data(), samples, 2 * height, 2 * width, Activation::relu},
          {x.data(), gamma.data(), beta.data(), nullptr, y.data(), mean.data(), rstd.data(), shape,
           1e-5f, Activation::relu, average.data()}},
      kBatch, team,
      {bytes_of(x), bytes_of(winner), bytes_of(y), bytes_of(mean), bytes_of(rstd),
       bytes_of(average)});
  NormGradient<T> in{x.data(), y.data(),         dy.data(),     mean.data(), rstd.data(),
                     shape,    Activation::relu, passed.data(), again.data()};
  const MaxPoolBackward<T> pool{dx.data(), winner.data(), dimage.data(),
                                samples,   2 * height,    2 * width};
  const auto check = [&] {
    expect_equal_for_all_team_sizes(
        PoolNormBackward<T>{{in, gamma.data(), dx.data(), gammas.data(), betas.data()}, pool},
        kBatch, team,
        {bytes_of(dx), bytes_of(dimage), bytes_of(gammas), bytes_of(betas), bytes_of(passed)});
  };
  check();
  in.again = nullptr;
  in.averaged = true;
  in.dy = average.data();
  check();
}

TEST(FusedNormTeams, GiveEqualBitsForAnySize) {
  expect_equal_pool_norms<float>(3, 4, 6);
  expect_equal_pool_norms<float>(5, 2, 16);
  expect_equal_pool_norms<bf16>(4, 4, 8);
}

}  // namespace
}  // namespace wellspring::ops::test
