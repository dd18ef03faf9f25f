#include "kernels/ops/pooling.h"

#include "kernels/ops/ops.h"
#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace wellspring::ops::test {
namespace {

std::size_t in_size(const PoolSpec& s) {
  return static_cast<std::size_t>(s.batch * s.height * s.width * s.channels);
}
std::size_t out_size(const PoolSpec& s) {
  return static_cast<std::size_t>(s.batch * (s.height / 2) * (s.width / 2) * s.channels);
}

/// Calls visit(output index, the four input indices) for every window.
template <class Visit>
void each_window(const PoolSpec& s, Visit visit) {
  std::size_t o = 0;
  for (int n = 0; n < s.batch; ++n)
    for (int p = 0; p < s.height / 2; ++p)
      for (int q = 0; q < s.width / 2; ++q)
        for (int c = 0; c < s.channels; ++c) {
          const auto at = [&](int h, int w) {
            return static_cast<std::size_t>(
                ((n * s.height + 2 * p + h) * s.width + 2 * q + w) * s.channels + c);
          };
          const std::size_t four[4] = {at(0, 0), at(0, 1), at(1, 0), at(1, 1)};
          visit(o++, four);
        }
}

const std::vector<PoolSpec>& pool_table() {
  static const std::vector<PoolSpec> specs = [] {
    std::vector<PoolSpec> all;
    for (const Activation activation : {Activation::none, Activation::relu}) {
      for (const auto& [n, h, w, c] :
           {std::tuple{2, 8, 8, 32}, std::tuple{3, 7, 5, 3}, std::tuple{1, 1, 1, 1},
            std::tuple{1, 2, 2, 1}, std::tuple{2, 3, 4, 17}}) {
        PoolSpec spec;
        spec.batch = n;
        spec.height = h;
        spec.width = w;
        spec.channels = c;
        spec.activation = activation;
        all.push_back(spec);
      }
    }
    return all;
  }();
  return specs;
}

class PoolingTest : public test::OperationTest {
 protected:
  template <class T>
  void check_max(PoolSpec s) {
    s.compute = DTypeOf<T>::value;
    SCOPED_TRACE(std::to_string(s.height) + "x" + std::to_string(s.width));
    // Few distinct values, so that windows contain equal ones.
    std::vector<T> x = random_values<T>(in_size(s), 1);
    for (T& value : x) value = T(std::round(static_cast<float>(value) * 4) / 4);
    const auto dy = random_values<T>(out_size(s), 2);
    const Buffer<T> device_x = buffer(x), device_dy = buffer(dy), y = buffer<T>(out_size(s)),
                    dx = buffer<T>(in_size(s));
    const Buffer<std::uint8_t> winner = buffer<std::uint8_t>(out_size(s));
    max_pool_forward(stream(), s, device_x, y, winner);
    max_pool_backward(stream(), s, device_dy, winner, dx);

    const Doubles xd = in_double(x), dyd = in_double(dy);
    Doubles expected_y(out_size(s)), expected_dx(in_size(s));
    std::vector<std::uint8_t> expected_winner(out_size(s));
    each_window(s, [&](std::size_t o, const std::size_t* four) {
      int best = 0;
      for (int i = 1; i < 4; ++i) {
        if (xd[four[i]] > xd[four[best]]) best = i;
      }
      const bool blocked = s.activation == Activation::relu && xd[four[best]] <= 0;
      expected_winner[o] = static_cast<std::uint8_t>(blocked ? kNoWinner : best);
      expected_y[o] = blocked ? 0 : xd[four[best]];
      if (!blocked) expected_dx[four[best]] = dyd[o];
    });
    // Values are copied, so they are exact.
    expect_within(y.values(), expected_y, 0, "y");
    EXPECT_EQ(winner.values(), expected_winner);
    expect_within(dx.values(), expected_dx, 0, "dx");
  }

  template <class T>
  void check_mean(PoolSpec s) {
    s.compute = DTypeOf<T>::value;
    const auto x = random_values<T>(in_size(s), 3);
    const auto channels = static_cast<std::size_t>(s.channels);
    const auto samples = static_cast<std::size_t>(s.batch);
    const auto dy = random_values<T>(samples * channels, 4);
    const Buffer<T> device_x = buffer(x), device_dy = buffer(dy), y = buffer<T>(samples * channels),
                    dx = buffer<T>(in_size(s));
    global_mean_forward(stream(), s, device_x, y);
    global_mean_backward(stream(), s, device_dy, dx);
    const std::size_t pixels = in_size(s) / (samples * channels);
    const Doubles xd = in_double(x), dyd = in_double(dy);
    Doubles mean(samples * channels), bound(samples * channels), expected_dx(in_size(s));
    for (std::size_t i = 0; i < in_size(s); ++i) {
      const std::size_t o = i / (pixels * channels) * channels + i % channels;
      mean[o] += xd[i] / static_cast<double>(pixels);
      expected_dx[i] = dyd[o] / static_cast<double>(pixels);
    }
    // Bounds the error of adding at most `pixels` terms of size 1, dividing, and rounding to T.
    for (std::size_t o = 0; o < bound.size(); ++o) {
      bound[o] = (static_cast<double>(pixels) + 1) * test::rounding(DType::f32) +
                 test::rounding(s.compute);
    }
    expect_within(y.values(), mean, bound, "mean");
    expect_within(dx.values(), expected_dx, 2 * test::rounding(s.compute), "dx");
  }
};

TEST_P(PoolingTest, TakesTheFirstOfEqualMaxima) {
  for (const PoolSpec& spec : pool_table()) {
    check_max<float>(spec);
    check_max<bf16>(spec);
  }
}

TEST_P(PoolingTest, MeanMatchesDoublePrecision) {
  for (const PoolSpec& spec : pool_table()) {
    check_mean<float>(spec);
    check_mean<bf16>(spec);
  }
}

// Finite differences of y in double precision. A step of 1e-5 changes no winner, because no two
// random values in a window are that close.
TEST_P(PoolingTest, MaximumGradientMatchesFiniteDifferences) {
  PoolSpec s = {.batch = 2, .height = 5, .width = 4, .channels = 3, .activation = Activation::relu};
  const auto x = random_values<float>(in_size(s), 5), dy = random_values<float>(out_size(s), 6);
  const Buffer<float> device_x = buffer(x), device_dy = buffer(dy), y = buffer<float>(out_size(s)),
                      dx = buffer<float>(in_size(s));
  const Buffer<std::uint8_t> winner = buffer<std::uint8_t>(out_size(s));
  max_pool_forward(stream(), s, device_x, y, winner);
  max_pool_backward(stream(), s, device_dy, winner, dx);
  const Doubles dyd = in_double(dy);
  const auto objective = [&](const Doubles& v) {
    double sum = 0;
    each_window(s, [&](std::size_t o, const std::size_t* four) {
      double best = 0;
      for (int i = 0; i < 4; ++i) best = std::max(best, v[four[i]]);
      sum += dyd[o] * best;
    });
    return sum;
  };
  expect_within(dx.values(), test::gradient(objective, in_double(x)), 1e-8, "dx");
}

TEST_P(PoolingTest, PassesNaNsThrough) {
  PoolSpec s;
  s.activation = Activation::relu;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int place = 0; place < 4; ++place) {
    std::vector<float> x = {1, -1, 2, 0};
    x[static_cast<std::size_t>(place)] = nan;
    const Buffer<float> device_x = buffer(x), y = buffer<float>(1);
    const Buffer<std::uint8_t> winner = buffer<std::uint8_t>(1);
    max_pool_forward(stream(), s, device_x, y, winner);
    EXPECT_TRUE(std::isnan(y.values()[0])) << "at position " << place;
  }
}

WS_ON_EVERY_BACKEND(PoolingTest);

TEST(PoolingTeams, GiveEqualBitsForAnySize) {
  using wellspring::test::bytes_of;
  using wellspring::test::expect_equal_for_all_team_sizes;
  for (const auto& [h, w, c] : {std::tuple{5, 7, 3}, std::tuple{7, 5, 8}, std::tuple{4, 6, 24},
                                std::tuple{3, 3, 64}, std::tuple{3, 5, 10}}) {
    SCOPED_TRACE(std::to_string(c) + " channels");
    PoolSpec s = {.batch = 2, .height = h, .width = w, .channels = c};
    const auto x = random_values<float>(in_size(s), 1), dy = random_values<float>(out_size(s), 2);
    std::vector<float> y(out_size(s)), dx(in_size(s)), mean(static_cast<std::size_t>(2 * c));
    std::vector<std::uint8_t> winner(out_size(s));
    const ImageRows out = ImageRows::of(2, h / 2, w / 2, c);
    expect_equal_for_all_team_sizes(
        MaxPoolForward<float>{x.data(), y.data(), winner.data(), out, h, w, Activation::relu},
        out.teams(), {kChunkTeam}, {bytes_of(y), bytes_of(winner)});
    expect_equal_for_all_team_sizes(
        MaxPoolBackward<float>{dy.data(), winner.data(), dx.data(), out, h, w}, out.teams(),
        {kChunkTeam}, {bytes_of(dx)});
    const TeamShape shape{kChunkTeam,
                          static_cast<std::size_t>(channel_slots(h * w, c)) * sizeof(float)};
    expect_equal_for_all_team_sizes(GlobalMeanForward<float>{x.data(), mean.data(), h * w, c}, 2,
                                    shape, {bytes_of(mean)});
    expect_equal_for_all_team_sizes(GlobalMeanBackward<float>{mean.data(), dx.data(), h * w, c}, 2,
                                    {kChunkTeam}, {bytes_of(dx)});
  }
}

}  // namespace
}  // namespace wellspring::ops::test
