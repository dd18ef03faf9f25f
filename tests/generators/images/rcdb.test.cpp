#include "generators/images/rcdb.h"

#include "core/error.h"
#include "generators/generator.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace wellspring {
namespace {

TEST(Rcdb, ClassesFollowThePublishedLaws) {
  const Rcdb functor({});
  constexpr std::uint32_t kClasses = 40000;
  std::vector<double> vertices(198), expected(198), orbits(200), noise, width;
  double segments = 0, mean = 0, square = 0;
  for (std::uint32_t k = 0; k < kClasses; ++k) {
    const auto c = functor.class_of(k);
    vertices.at(static_cast<std::size_t>(c.vertices - 3)) += 1;
    orbits.at(static_cast<std::size_t>(c.orbits - 1)) += 1;
    noise.push_back(c.noise / 4);
    width.push_back(c.line_width / 0.1);
    segments += static_cast<double>(c.vertices) * c.orbits / kClasses;
  }
  // Exponential numbers with mean 100, rounded down; values outside 3..200 are drawn again.
  const auto above = [](double n) { return std::exp(-n / 100); };
  for (int n = 3; n <= 200; ++n) {
    const double share = (above(n) - above(n + 1)) / (above(3) - above(201));
    expected[static_cast<std::size_t>(n - 3)] = kClasses * share;
    mean += n * share;
    square += n * n * share;
  }
  EXPECT_NEAR(mean, 70.78, 0.01);
  EXPECT_GT(test::chi_square_p(vertices, expected), test::kGate);
  EXPECT_GT(test::uniform_chi_square_p(orbits), test::kGate);
  for (const auto* values : {&noise, &width}) {
    EXPECT_GT(test::kolmogorov_p(*values, [](double u) { return std::clamp(u, 0.0, 1.0); }),
              test::kGate);
  }
  const double both = mean * 100.5;  // 7114 segments
  const double second = square * (199.0 * 201 / 12 + 100.5 * 100.5);
  EXPECT_GT(test::normal_p((segments - both) / std::sqrt((second - both * both) / kClasses)),
            test::kGate)
      << segments;
}

TEST(Rcdb, RefusesRangesBeyondItsPrecision) {
  EXPECT_NO_THROW(make_generator(
      "rcdb", 32, {{"vertices_mean", "10"}, {"vertices_low", "800"}, {"vertices_high", "2000"}}));
  const std::string message = test::message_of(ErrorKind::config, [] {
    make_generator("rcdb", 32,
                   {{"vertices_mean", "10"}, {"vertices_low", "801"}, {"vertices_high", "2000"}});
  });
  test::expect_parts(message, {"vertices_low of at most 800"});
}

}  // namespace
}  // namespace wellspring
