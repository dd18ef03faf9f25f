#include "generators/images/pde.h"

#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace wellspring {
namespace {

using Settings = std::vector<ParamSetting>;

/// A field on n x n cells, taken from one channel of a picture.
struct Field {
  int n;
  std::vector<double> u;

  Field(const test::Samples& samples, std::size_t row, int n_, int channel)
      : n(n_), u(static_cast<std::size_t>(n * n)) {
    for (std::size_t i = 0; i < u.size(); ++i)
      u[i] = 2 * double{samples.image(row)[3 * i + static_cast<std::size_t>(channel)]} - 1;
  }
  double rms() const {
    double sum = 0;
    for (const double value : u) sum += value * value;
    return std::sqrt(sum / static_cast<double>(u.size()));
  }
};

// Sixteen waves in only eight directions, so most of them share a direction, with equal or opposite
// sign.
TEST(Pde, MeasuresTheContrastOfCorrelatedWaves) {
  for (const std::string equation : {"heat", "wave"}) {
    const auto generator = make_generator(
        "pde", 12, {{"equation", equation, {}}, {"waves", "16", {}}, {"highest", "1", {}}});
    const auto samples = test::collect(*generator, {5, 0, 50});
    for (std::size_t row = 0; row < samples.count(); ++row) {
      const Field before(samples, row, 12, 0), after(samples, row, 12, 1);
      EXPECT_NEAR(double{samples.latent(row, 5)}, after.rms() / before.rms(), 1e-5 / before.rms());
    }
  }
}

// The image shows a part of the square, or repeats the square.
TEST(Pde, RepeatsTheSquare) {
  const Settings settings = {{"cells", "19", {}}};
  const auto large = test::collect(*make_generator("pde", 41, settings), {6, 0, 6});
  const auto small = test::collect(*make_generator("pde", 11, settings), {6, 0, 6});
  for (std::size_t row = 0; row < large.count(); ++row) {
    const float* const picture = large.image(row);
    for (std::size_t y = 0; y < 41; ++y) {
      for (std::size_t x = 0; x < 41; ++x) {
        const std::size_t from = 3 * (y % 19 * 41 + x % 19);
        for (std::size_t c = 0; c < 3; ++c) {
          const float here = picture[3 * (y * 41 + x) + c];
          ASSERT_NEAR(here, picture[from + c], 1e-5) << x << ", " << y;
          if (x < 11 && y < 11) {
            ASSERT_EQ(here, small.image(row)[3 * (y * 11 + x) + c]);
          }
        }
      }
    }
  }
}

TEST(Pde, RefusesImpossibleParameters) {
  const auto refused = [](const Settings& settings) {
    return test::message_of(ErrorKind::config, [&] { make_generator("pde", 64, settings); });
  };
  test::expect_parts(refused({{"time_low", "2", {}}}), {"time_low = 2", "time_high = 1"});
  test::expect_parts(refused({{"diffusivity_low", "1", {}}}),
                     {"diffusivity_low", "diffusivity_high: 1 or more"});
  test::expect_parts(refused({{"cells", "8", {}}}), {"cells = 8", "4 periods", "cells: 9"});
}

}  // namespace
}  // namespace wellspring
