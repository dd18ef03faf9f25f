#include "kernels/runtime/reduce.h"

#include "kernels/random/philox.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace wellspring {
namespace {

std::vector<float> random_values(std::size_t n) {
  RngStream random({42, n}, Purpose::texture);
  std::vector<float> values(n);
  for (float& value : values) value = random.uniform(-1.0f, 1.0f);
  return values;
}

/// Computes the sum, then the largest value, in the same scratch.
struct Reducer {
  const float* values;
  std::int64_t n;
  float* out;  ///< [leagues, 2]

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t i) const {
    float* lanes = team.template scratch<float>(kReduceLanes);
    const float* const x = values;
    const float sum = team_sum(team, lanes, n, [x](std::int64_t k) { return x[k]; });
    const float largest = team_max(team, lanes, n, -2.0f, [x](std::int64_t k) { return x[k]; });
    if (team.rank() == 0) {
      out[2 * i] = sum;
      out[2 * i + 1] = largest;
    }
  }
};

TEST(Reduce, GivesEqualBitsForEveryTeamSize) {
  for (const std::size_t n : {0, 1, 3, 10, 129, 255, 256, 257, 5000}) {
    SCOPED_TRACE(n);
    const std::vector<float> values = random_values(n);
    std::vector<float> out(2);
    const Reducer functor{values.data(), static_cast<std::int64_t>(n), out.data()};
    test::expect_equal_for_all_team_sizes(functor, 1, {256, kReduceLanes * sizeof(float)},
                                          {test::bytes_of(out)});
    double sum = 0, magnitude = 0;
    float largest = -2;
    for (const float value : values) {
      sum += value;
      magnitude += std::abs(value);
      largest = std::max(largest, value);
    }
    // Each term passes through at most n / 256 + 1 + 8 additions, each with a relative error of
    // half an epsilon: Higham, Accuracy and Stability of Numerical Algorithms, eq. 4.4.
    const double roundings = static_cast<double>(n) / 256 + 9;
    EXPECT_NEAR(out[0], sum, roundings * 0x1p-24 * magnitude * 1.01 + 1e-30);
    EXPECT_EQ(out[1], largest);
  }
}

TEST(Reduce, SumsIntegersExactly) {
  SoloTeam team({});
  std::int64_t* const none = nullptr;  // a team of one needs no scratch
  EXPECT_EQ(team_sum(team, none, 100'000, [](std::int64_t i) { return i; }),
            std::int64_t{100'000} * 99'999 / 2);
}

// Lanes without elements combine only the identity, so a reduction may use any power of two of at
// least n lanes. Adding 0 changes only the number -0, which a lane never holds.
TEST(Reduce, SkipsEmptyLanesWithoutChangingBits) {
  SoloTeam team({});
  float* const none = nullptr;
  for (const std::size_t n : {1, 2, 9, 100, 255}) {
    std::vector<float> values = random_values(n), padded = values;
    padded.resize(kReduceLanes, 0.0f);
    const auto sum = [&](const std::vector<float>& x) {
      return team_sum(team, none, static_cast<std::int64_t>(x.size()),
                      [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; });
    };
    EXPECT_EQ(sum(values), sum(padded)) << n;
  }
  const float zero = team_sum(team, none, 3, [](std::int64_t) { return -0.0f; });
  EXPECT_FALSE(std::signbit(zero));
}

}  // namespace
}  // namespace wellspring
