#include "kernels/random/gamma.h"

#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace wellspring {
namespace {

// The reference is accurate to 1e-13. Half of the arguments are near the centre of the
// distribution, where the function is steepest and where the series and the continued fraction
// meet.
TEST(LowerGamma, StaysWithinItsStatedBound) {
  const struct {
    float low, high;
    double bound;
  } ranges[] = {
      {math::kLeastGammaShape, 1, 1.3e-6}, {1, 100, 6e-7}, {100, math::kMostGammaShape, 1.3e-6}};
  RngStream random({1, 1}, Purpose::texture);
  for (const auto& range : ranges) {
    double worst = 0, at_a = 0, at_x = 0;
    for (int i = 0; i < 20000; ++i) {
      const float a = range.low * std::pow(range.high / range.low, random.uniform());
      const float spread = 1 / std::sqrt(std::max(a, 1.0f));
      const float x =
          i % 2 == 0 ? a * std::exp(random.uniform(-4, 3) * spread) : a * random.uniform(0, 4);
      const double error = std::abs(math::lower_gamma(a, x) - (1 - test::upper_gamma(a, x)));
      if (error <= worst) continue;
      worst = error;
      at_a = a;
      at_x = x;
    }
    EXPECT_LE(worst, range.bound) << "at " << at_a << ", " << at_x;
  }
}

TEST(LowerGamma, HasTheRightLimits) {
  for (const float a : {0.01f, 0.5f, 1.0f, 3.0f, 40.0f, 500.0f}) {
    EXPECT_EQ(math::lower_gamma(a, 0), 0);
    EXPECT_EQ(math::lower_gamma(a, -1), 0);
    EXPECT_EQ(math::lower_gamma(a, 1e6f), 1);
    EXPECT_LE(math::lower_gamma(a, 2 * a + 40), 1);
    EXPECT_GE(math::lower_gamma(a, 2 * a + 40), 1 - 1e-6f);
  }
  // P(1, x) = 1 - e^-x.
  for (const float x : {1e-6f, 0.01f, 0.5f, 1.99f, 2.01f, 9.0f}) {
    EXPECT_NEAR(math::lower_gamma(1, x), -std::expm1(-double{x}), 4e-7);
  }
}

TEST(Gamma, HasPinnedBits) {
  // FNV-1a of the bits, which are the same for every compiler, optimisation level and machine.
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](float v) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(v)) * 0x100000001b3u;
  };
  RngStream random({2, 1}, Purpose::texture);
  for (std::uint32_t i = 0; i < 2000; ++i) {
    const float a = 0.05f + 40 * random.uniform(), x = 80 * random.uniform();
    add(math::lower_gamma(a, x));
    add(draw_gamma({5, 3}, Purpose::texture, i, 2000, a));
  }
  EXPECT_EQ(hash, 0x427b442584e16111u) << std::hex << hash;
}

// With 20,000 numbers the test detects a distance of 0.02 between cumulative distributions.
TEST(DrawGamma, FollowsTheDistribution) {
  constexpr std::uint32_t kCount = 20000;
  for (const float shape : {0.05f, 0.7f, 1.0f, 2.5f, 300.0f}) {
    std::vector<double> values;
    for (std::uint32_t i = 0; i < kCount; ++i) {
      values.push_back(draw_gamma({7, 1}, Purpose::texture, 100 + i, kCount, shape));
    }
    const test::Moments m = test::moments(values);
    EXPECT_GT(test::normal_p((m.mean - shape) / std::sqrt(shape / kCount)), test::kGate);
    // The variance of a sample variance is (mu4 - mu2^2) / n, with mu4 = 3 a^2 + 6 a.
    EXPECT_GT(
        test::normal_p((m.variance - shape) / std::sqrt((2 * shape * shape + 6 * shape) / kCount)),
        test::kGate)
        << shape;
    EXPECT_GT(test::kolmogorov_p(values, [&](double x) { return 1 - test::upper_gamma(shape, x); }),
              test::kGate)
        << shape;
  }
}

template <int N>
void expect_equal_to_single_draws() {
  const SampleRng rng{11, 2};
  for (std::uint32_t run = 0; run < 500; ++run) {  // about 4 % of the first tries fail
    std::uint32_t first[N];
    float shape[N], number[N];
    for (int i = 0; i < N; ++i) {
      first[i] = 37 * run + static_cast<std::uint32_t>(3 * i);
      shape[i] = 0.05f * static_cast<float>(static_cast<int>(run) % 40 + i + 1);
    }
    draw_gammas<N>(rng, Purpose::texture, first, 1u << 20, shape, number);
    for (int i = 0; i < N; ++i)
      ASSERT_EQ(number[i], draw_gamma(rng, Purpose::texture, first[i], 1u << 20, shape[i]));
  }
}

TEST(DrawGammas, EqualsDrawGammaPerElement) {
  expect_equal_to_single_draws<1>();
  expect_equal_to_single_draws<8>();
  expect_equal_to_single_draws<16>();
}

TEST(DrawGamma, ReadsOnlyTheBlocksOfItsElement) {
  const SampleRng rng{9, 4};
  // The first try of element 3 of 10 reads block 53 and the second reads block 63; element 4 reads
  // different blocks.
  const float alone = draw_gamma(rng, Purpose::texture, 53, 10, 0.4f);
  for (std::uint32_t i = 50; i < 60; ++i) {
    const float again = draw_gamma(rng, Purpose::texture, i, 10, 0.4f);
    EXPECT_EQ(again == alone, i == 53);
  }
  EXPECT_GE(draw_gamma(rng, Purpose::texture, 0, 1, 1e-9f), 0);
  EXPECT_LT(draw_gamma(rng, Purpose::texture, 0, 1, 1e-9f), 1e-3f);
}

}  // namespace
}  // namespace wellspring
