// Distributions of the random choices for a pair. Seeds are fixed; new seeds would give one false
// alarm in a million (test::kGate).
#include "sources/mixing/mixup_cutmix.h"

#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace wellspring {
namespace {

constexpr std::uint64_t kSeed = 11;

constexpr std::uint64_t kCount = 40000;

std::vector<PairMix> draw(const MixLaw& law, SampleShape shape, std::uint64_t count = kCount) {
  std::vector<PairMix> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(draw_mix(law, kSeed, i, shape));
  return all;
}

TEST(DrawMix, MixesWithTheProbabilityAndBothMethodsEqually) {
  const auto count = static_cast<double>(kCount);
  for (const float probability : {0.f, 0.25f, 1.f}) {
    double mixed = 0, cut = 0;
    for (const PairMix& mix : draw({1, 1, probability}, {64, 64, 3})) {
      mixed += mix.mixes();
      cut += mix.cuts();
    }
    // A box may be empty if the share is above 1 - 1 / 64^2: about once in 4000 draws.
    const double empty = probability * count / 2000;
    if (probability == 0 || probability == 1) {
      EXPECT_NEAR(mixed, probability * count, empty);
    } else {
      const double deviation = std::sqrt(count * probability * (1 - probability));
      EXPECT_GT(
          test::normal_p(std::max(0., std::abs(mixed - probability * count) - empty) / deviation),
          test::kGate);
    }
    if (probability == 0) continue;
    EXPECT_GT(
        test::normal_p(std::max(0., std::abs(cut - mixed / 2) - empty) / std::sqrt(mixed / 4)),
        test::kGate);
  }
}

std::vector<double> shares(float alpha) {
  std::vector<double> all;
  for (const PairMix& mix : draw({alpha, 0, 1}, {8, 8, 3})) all.push_back(mix.own);
  return all;
}

TEST(DrawMix, DrawsSharesFromBeta) {
  const double pi = 3.14159265358979323846;
  EXPECT_GT(test::kolmogorov_p(shares(1), [](double x) { return x; }), test::kGate);
  EXPECT_GT(test::kolmogorov_p(shares(2), [](double x) { return x * x * (3 - 2 * x); }),
            test::kGate);
  EXPECT_GT(
      test::kolmogorov_p(shares(0.5f), [&](double x) { return 2 / pi * std::asin(std::sqrt(x)); }),
      test::kGate);
  // Beta(a, a) has mean 1/2, variance 1 / (4 (2 a + 1)), E[x (1 - x)] = a / (2 (2 a + 1)).
  for (const float a : {0.05f, 0.2f, 0.8f, 10.f}) {
    std::vector<double> spread;
    const std::vector<double> all = shares(a);
    for (const double x : all) {
      ASSERT_TRUE(x >= 0 && x <= 1);
      spread.push_back(x * (1 - x));
    }
    const test::Moments m = test::moments(all), s = test::moments(spread);
    const double n = static_cast<double>(kCount);
    EXPECT_GT(test::normal_p((m.mean - 0.5) * std::sqrt(4 * (2 * a + 1) * n)), test::kGate) << a;
    EXPECT_GT(test::normal_p((s.mean - a / (2 * (2 * a + 1))) / std::sqrt(s.variance / n)),
              test::kGate)
        << a;
  }
}

// With sigma = sqrt(1 - share), a side is sigma times the image's side before clipping, and on
// average sigma - sigma^2 / 4 after clipping; the two sides are clipped independently. Rounding to
// one of 4096 pixels changes a side by at most 1 / 8192, and by 0 on average.
TEST(DrawMix, DrawsBoxesOfTheExpectedArea) {
  const SampleShape shape = {4096, 4096, 1};
  const auto expect_mean = [](const std::vector<double>& areas, double expected) {
    const test::Moments m = test::moments(areas);
    const double error = std::sqrt(m.variance / static_cast<double>(m.count));
    EXPECT_GT(test::normal_p((m.mean - expected) / error), test::kGate) << m.mean << expected;
  };
  for (const float share : {0.f, 0.1f, 0.5f, 0.75f, 0.99f}) {
    std::vector<double> areas;
    RngStream words({kSeed, 5}, Purpose::mix);
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const float x = words.uniform(), y = words.uniform();
      areas.push_back(double{cutmix_of(share, x, y, shape).other});
    }
    const double sigma = std::sqrt(1 - double{share}), side = sigma - sigma * sigma / 4;
    expect_mean(areas, side * side);
  }
  // With shares from Beta(1, 1), the mean is E[u - u^1.5 / 2 + u^2 / 16] for uniform u.
  std::vector<double> areas;
  for (const PairMix& mix : draw({0, 1, 1}, shape)) areas.push_back(double{mix.other});
  expect_mean(areas, 1. / 2 - 1. / 5 + 1. / 48);
}

TEST(DrawMix, KeepsBoxesInTheImageWithTheirAreaAsShare) {
  for (const SampleShape shape : {SampleShape{5, 7, 1}, {1, 9, 3}, {33, 16, 3}}) {
    for (const PairMix& mix : draw({0, 0.7f, 1}, shape, 3000)) {
      if (!mix.mixes()) {
        ASSERT_FALSE(mix.cuts());
        continue;
      }
      ASSERT_TRUE(mix.left >= 0 && mix.left < mix.right && mix.right <= shape.width);
      ASSERT_TRUE(mix.top >= 0 && mix.top < mix.bottom && mix.bottom <= shape.height);
      const int area = (mix.right - mix.left) * (mix.bottom - mix.top);
      ASSERT_EQ(mix.other,
                static_cast<float>(area) / static_cast<float>(shape.width * shape.height));
    }
  }
  const PairMix quarter = cutmix_of(0.75f, 0.5f, 0.5f, {8, 16, 3});
  EXPECT_EQ(quarter.left, 4);
  EXPECT_EQ(quarter.right, 12);
  EXPECT_EQ(quarter.top, 2);
  EXPECT_EQ(quarter.bottom, 6);
  EXPECT_EQ(quarter.own, 0.75f);
  const PairMix rounded = cutmix_of(0.75f, 0.5f, 0.5f, {5, 7, 3});  // 1.75 to 5.25, 1.25 to 3.75
  EXPECT_EQ(rounded.left, 2);
  EXPECT_EQ(rounded.right, 5);
  EXPECT_EQ(rounded.top, 1);
  EXPECT_EQ(rounded.bottom, 4);
  EXPECT_EQ(cutmix_of(0.75f, 0, 0, {8, 16, 3}).own,
            1 - 1.f / 16);  // the box is clipped to a quarter of its area
  EXPECT_EQ(cutmix_of(0, 0.5f, 0.5f, {8, 16, 3}).own, 0);
  EXPECT_FALSE(cutmix_of(1, 0.5f, 0.5f, {8, 16, 3}).mixes());
}

}  // namespace
}  // namespace wellspring
