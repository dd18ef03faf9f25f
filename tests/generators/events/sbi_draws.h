// Samples of an `sbi` task, and a test of their mean at five standard errors (fails by chance once
// in 1.7 million). Host only.
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

/// Tests the mean of `values`; the standard error is estimated from their scatter.
inline void expect_mean(const std::vector<double>& values, double expected, const char* what) {
  const Moments m = moments(values);
  EXPECT_NEAR(m.mean, expected, 5 * std::sqrt(m.variance / static_cast<double>(m.count))) << what;
}

}  // namespace wellspring::test
