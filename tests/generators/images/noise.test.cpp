#include "generators/images/noise.h"

#include "tests/generators/collect.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace wellspring {
namespace {

/// All values of one channel in `count` samples.
std::vector<double> values(const std::vector<ParamSetting>& settings, int channel, int count) {
  const auto generator = make_generator("noise", 64, settings);
  const auto samples = test::collect(*generator, {2, 0, static_cast<std::uint64_t>(count)});
  std::vector<double> all;
  for (std::size_t i = 0; i < samples.x.size(); ++i) {
    if (static_cast<int>(i % 3) == channel) all.push_back(samples.x[i]);
  }
  return all;
}

double normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

// Uses 409,600 values per channel. An error of 1 % in sigma is 9 standard errors of the variance.
// The Kolmogorov test detects a distance of 0.0042; an error of 1 % in the mean moves both
// distributions by more.
TEST(Noise, BothLawsHaveTheExpectedMomentsAndDistribution) {
  for (const std::string law : {"uniform", "gaussian"}) {
    const double half = 0.2 * std::sqrt(3.0);
    const auto cdf = [&](double x) {
      return law == "uniform" ? std::clamp((x - 0.4 + half) / (2 * half), 0.0, 1.0)
                              : normal_cdf((x - 0.4) / 0.2);
    };
    for (int channel = 0; channel < 3; ++channel) {
      const auto v =
          values({{"law", law, {}}, {"mean", "0.4", {}}, {"sigma", "0.2", {}}}, channel, 100);
      EXPECT_GT(test::kolmogorov_p(v, cdf), test::kGate) << law << ", channel " << channel;
      const auto m = test::moments(v);
      const auto n = static_cast<double>(m.count);
      // The variance of the sample variance is sigma^4 (kurtosis - 1) / n; the kurtosis is 1.8 for
      // uniform and 3 for normal numbers.
      const double spread = law == "uniform" ? 0.8 : 2.0;
      EXPECT_GT(test::normal_p((m.mean - 0.4) / (0.2 / std::sqrt(n))), test::kGate) << law;
      EXPECT_GT(test::normal_p((m.variance - 0.04) / (0.04 * std::sqrt(spread / n))), test::kGate)
          << law << ", channel " << channel;
    }
  }
}

TEST(Noise, ChannelsPixelsAndSamplesAreUncorrelated) {
  const auto generator = make_generator("noise", 64, {{"law", "gaussian", {}}});
  const auto samples = test::collect(*generator, {2, 0, 50});
  // Offsets within x to the next channel, the next pixel, the next row and the next sample.
  for (const std::size_t lag : {1, 3, 64 * 3, 64 * 64 * 3}) {
    double sum = 0;
    std::size_t n = 0;
    for (std::size_t i = 0; i + lag < samples.x.size(); ++i, ++n) {
      sum += (samples.x[i] - 0.5) * (samples.x[i + lag] - 0.5) / 0.0625;
    }
    EXPECT_GT(test::normal_p(sum / std::sqrt(static_cast<double>(n))), test::kGate) << lag;
  }
}

TEST(Noise, GreyRepeatsOneValue) {
  const auto samples =
      test::collect(*make_generator("noise", 16, {{"palette", "grey", {}}}), {2, 0, 4});
  for (std::size_t i = 0; i < samples.x.size(); i += 3) {
    ASSERT_EQ(samples.x[i], samples.x[i + 1]);
    ASSERT_EQ(samples.x[i], samples.x[i + 2]);
  }
}

TEST(Noise, FlipsAndShiftsPermuteTheLattice) {
  const auto generator = make_generator("noise", 24);
  const auto plain = test::collect(*generator, {3, 5, 1});
  const std::string yaml = "augment: [flip_x: 1, shift: 0.3]";
  const auto shown = test::emit_augmented<float>(*generator, yaml, 3, 5, 1);
  const SampleShape shape = generator->layout().shape();
  const Augmentation v = draw_augmentation(test::plan_of(yaml, shape), {named_key(3, "noise"), 5});
  int compared = 0;
  for (int row = 0; row < 24; ++row) {
    for (int column = 0; column < 24; ++column) {
      const int sx = static_cast<int>(std::floor(v.source_x(column + 0.5f, row + 0.5f)));
      const int sy = static_cast<int>(std::floor(v.source_y(column + 0.5f, row + 0.5f)));
      if (sx < 0 || sy < 0 || sx >= 24 || sy >= 24) continue;
      ++compared;
      ASSERT_EQ(shown[static_cast<std::size_t>(row * 24 + column) * 3],
                plain.x[static_cast<std::size_t>(sy * 24 + sx) * 3]);
    }
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace wellspring
