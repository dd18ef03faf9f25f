// The fit of a circle to the hits of `tracks`, and the error that its formula promises.
#include "generators/events/tracks.h"
#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace wellspring {
namespace {

// Gluckstern's formula for ten layers and a known vertex, docs/generators/algorithms/tracks.md. One
// linear step of least squares from the truth has exactly that error; the next order is 0.5 mm / 32
// mm, squared and divided by three, of it. 6000 pulls see a width that is off by 5 %.
TEST(TracksFit, HasTheErrorOfGlucksternsFormula) {
  constexpr double kSigma = 0.5, kTurn = 0.299792458e-3 * 2;
  const double radii[] = {32, 72, 116, 172, 260, 360, 500, 660, 820, 1020};
  const auto generator = make_generator("tracks", 1,
                                        {{"preset", "coarse", {}},
                                         {"unit", "1", {}},
                                         {"pixel_along", "0.5", {}},
                                         {"short_along", "0.5", {}},
                                         {"long_along", "0.5", {}}});
  const auto samples = test::collect(*generator, {17, 0, 6000});
  std::vector<double> pulls;
  double squares = 0;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    ASSERT_EQ(samples.latent(i, Tracks::kHits), 10);
    const double w = double{samples.latent(i, Tracks::kChargeOverPt)};
    const double phi =
        std::atan2(samples.latent(i, Tracks::kSinPhi), samples.latent(i, Tracks::kCosPhi));
    double aa = 0, ar = 0, rr = 0, ay = 0, ry = 0;
    for (std::size_t k = 0; k < 10; ++k) {
      const double r = radii[k], sine = 0.5 * w * kTurn * r;
      const double a = 0.5 * kTurn * r * r / std::sqrt(1 - sine * sine);
      const float* const hit = samples.image(i) + 3 * k;
      const double y = r * (std::atan2(double{hit[1]}, double{hit[0]}) - phi + std::asin(sine));
      aa += a * a;
      ar += a * r;
      rr += r * r;
      ay += a * y;
      ry += r * y;
    }
    const double information = aa - ar * ar / rr;
    pulls.push_back((ar * ry / rr - ay) / std::sqrt(information) / kSigma);
    squares += pulls.back() * pulls.back();
  }
  const auto n = static_cast<double>(pulls.size());
  EXPECT_GT(test::normal_p((squares / n - 1) * std::sqrt(n / 2)), test::kGate)
      << std::sqrt(squares / n);
  const auto normal = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
  EXPECT_GT(test::kolmogorov_p(pulls, normal), test::kGate);
}

}  // namespace
}  // namespace wellspring
