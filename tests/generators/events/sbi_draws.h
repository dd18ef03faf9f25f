// Samples of a task of `sbi` and tests of their moments. For the tests of the tasks. Host only.
//
// A test of moments compares a mean with its expected value at five standard errors (one false
// alarm in 1.7 million). A test of a whole distribution uses test::kGate. There are about 60 tests,
// so with new seeds one run in 20,000 fails by chance. Most tests detect an error of 3 % in a
// standard deviation.
#pragma once

#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace wellspring::test {

/// Samples of a task, including theta.
struct SbiDraws {
  Samples samples;
  SampleInfo info;

  SbiDraws(const std::string& task, std::int64_t count, std::uint64_t first = 0) {
    const auto generator = make_generator("sbi", 1, {{"task", task, {}}});
    // One thread, because a second one would only wait while the cores are busy.
    samples = collect(*generator, {3, first, static_cast<std::uint64_t>(count)},
                      {Device::cpu(), 1024, 1});
    info = generator->info();
  }
  std::size_t count() const { return samples.count(); }
  double x(std::size_t i, std::size_t k) const { return samples.image(i)[k]; }
  double theta(std::size_t i, std::size_t k) const { return samples.latent(i, k); }
};

inline double normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

/// Tests for mean 0, variance 1 and kurtosis 3, the moments of the standard normal distribution.
inline void expect_standard_normal(const std::vector<double>& z, const char* what) {
  const auto n = static_cast<double>(z.size());
  double first = 0, second = 0, fourth = 0;
  for (const double v : z) {
    first += v / n;
    second += v * v / n;
    fourth += v * v * v * v / n;
  }
  EXPECT_LT(std::abs(first), 5 / std::sqrt(n)) << what;
  EXPECT_LT(std::abs(second - 1), 5 * std::sqrt(2 / n)) << what;
  EXPECT_LT(std::abs(fourth - 3), 5 * std::sqrt(96 / n)) << what;
}
inline void expect_uniform(const std::vector<double>& u, const char* what) {
  EXPECT_GT(kolmogorov_p(u, [](double v) { return v; }), kGate) << what;
}
/// Tests the mean of `values`; the standard error is estimated from their scatter.
inline void expect_mean(const std::vector<double>& values, double expected, const char* what) {
  const Moments m = moments(values);
  EXPECT_NEAR(m.mean, expected, 5 * std::sqrt(m.variance / static_cast<double>(m.count))) << what;
}

}  // namespace wellspring::test
