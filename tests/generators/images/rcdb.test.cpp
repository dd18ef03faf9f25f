#include "generators/images/rcdb.h"

#include "core/error.h"
#include "generators/generator.h"
#include "tests/generators/images/contour_reference.h"
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
  // Whole parts of exponential numbers of mean 100, those outside of 3..200 drawn again.
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

// As for visual_atom; the noise counts twice and there are no waves.
TEST(Rcdb, ContoursGrowByTheirLaw) {
  Rcdb::Params params;
  params.classes = 1;
  params.vertices_low = params.vertices_high = 100;
  params.orbits_low = params.orbits_high = 10;
  params.noise_low = params.noise_high = 3;
  const Rcdb functor(params);
  std::vector<double> means, squares;
  for (std::uint64_t i = 0; i < 100; ++i) {
    Truth<Rcdb::kLatents> truth;
    const test::Growth growth(functor.draw({{5, i}, {}, {512, 512, 3}}, truth));
    means.push_back(growth.mean);
    squares.push_back(growth.square);
  }
  const auto expect_mean = [&](const std::vector<double>& values, double expected) {
    const auto seen = test::moments(values);
    EXPECT_GT(test::normal_p((seen.mean - expected) / std::sqrt(seen.variance / 100)), test::kGate)
        << seen.mean << " against " << expected;
  };
  expect_mean(means, 3 + functor.class_of(0).line_width);
  expect_mean(squares, 36 * 0.32903 * 0.32903);
}

TEST(Rcdb, RangesWhereItsLawHasNoDigitsAreRefused) {
  EXPECT_NO_THROW(make_generator(
      "rcdb", 32, {{"vertices_mean", "10"}, {"vertices_low", "800"}, {"vertices_high", "2000"}}));
  try {
    make_generator("rcdb", 32,
                   {{"vertices_mean", "10"}, {"vertices_low", "801"}, {"vertices_high", "2000"}});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_NE(std::string(error.what()).find("vertices_low of at most 800"), std::string::npos)
        << error.what();
  }
}

TEST(Rcdb, InstancesFollowThePublishedLaws) {
  const Rcdb functor({});
  std::vector<double> radius(101), x, y, oval_x, oval_y;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    Truth<Rcdb::kLatents> truth;
    const auto scene = functor.draw({{6, i}, {}, {512, 512, 3}}, truth);
    radius.at(static_cast<std::size_t>(std::lround(512 * truth.latents[2]))) += 1;
    x.push_back((scene.centre_x - 56) / 400);
    y.push_back((scene.centre_y - 56) / 400);
    oval_x.push_back(truth.latents[3] - 1);
    oval_y.push_back(truth.latents[4] - 1);
    EXPECT_FLOAT_EQ(scene.radius_x, 512 * truth.latents[2] * truth.latents[3]);
    EXPECT_FLOAT_EQ(scene.centre_y, 512 * truth.latents[1]);
  }
  EXPECT_GT(test::uniform_chi_square_p(radius), test::kGate);
  for (const auto* values : {&x, &y, &oval_x, &oval_y}) {
    EXPECT_GT(test::kolmogorov_p(*values, [](double u) { return std::clamp(u, 0.0, 1.0); }),
              test::kGate);
  }
}

}  // namespace
}  // namespace wellspring
