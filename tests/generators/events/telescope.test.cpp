// Compares the geometry of Cherenkov light, the delays and the expected photons in telescope.h with
// direct sums.
#include "generators/events/telescope.h"

#include "generators/events/nu_telescope.h"
#include "kernels/random/philox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace wellspring::telescope {
namespace {

constexpr double kC = 0.299792458;  // m / ns

/// A sequence of uniform numbers in [0, 1).
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : stream_({seed, 0}, Purpose::scene) {}
  double next() { return double{stream_.uniform()}; }
  double between(double low, double high) { return low + (high - low) * next(); }

 private:
  RngStream stream_;
};

Event random_event(Draws& draws, const Optics& optics) {
  Event event{};
  event.hypothesis = draws.next() < 0.5 ? Hypothesis::track : Hypothesis::cascade;
  const double z = draws.between(-1, 1), phi = draws.between(0, 6.28);
  const double s = std::sqrt(1 - z * z);
  event.direction = {static_cast<float>(s * std::cos(phi)), static_cast<float>(s * std::sin(phi)),
                     static_cast<float>(z)};
  const auto place = [&] { return static_cast<float>(draws.between(-500, 500)); };
  event.vertex = {place(), place(), place()};
  light_up(optics, static_cast<float>(std::exp(draws.between(0, 16))), event);
  return event;
}

Vector random_place(Draws& draws) {
  const auto place = [&] { return static_cast<float>(draws.between(-600, 600)); };
  return {place(), place(), place()};
}

TEST(Telescope, HasStringsOnACentredTriangularLattice) {
  const Array array = triangular_array(78, 60, 125, 17);
  double x = 0, y = 0, far = 0;
  int sixes = 0;
  for (int i = 0; i < 78; ++i) {
    x += double{array.x[i]};
    y += double{array.y[i]};
    far = std::max(far, std::hypot(double{array.x[i]}, double{array.y[i]}));
    int near = 0;
    for (int j = 0; j < 78; ++j) {
      const double d = std::hypot(double{array.x[i] - array.x[j]}, double{array.y[i] - array.y[j]});
      if (i == j) continue;
      ASSERT_GT(d, 125 - 1e-3);
      near += d < 125 + 1e-3 ? 1 : 0;
    }
    sixes += near == 6 ? 1 : 0;
  }
  EXPECT_NEAR(x, 0, 1e-2);
  EXPECT_NEAR(y, 0, 1e-2);
  // A circle with the area of 78 cells, each of 125^2 sqrt(3) / 2 m^2, has a radius of 580 m.
  EXPECT_NEAR(far, 580, 30);
  EXPECT_GT(sixes, 45);
  EXPECT_EQ(array.place(3, 0).z, 501.5f) << "the first module must be the highest";
  EXPECT_EQ(array.place(3, 59).z, -501.5f);
}

TEST(Telescope, HasThePublishedConstants) {
  const Optics optics = NuTelescope::optics_of({});
  EXPECT_NEAR(std::acos(double{optics.cosine}) * 180 / std::numbers::pi, 40.72, 0.005);
  EXPECT_NEAR(optics.track_slope, 3.0599, 5e-5);
  EXPECT_NEAR(optics.rho, 0.0040517, 5e-8);
  // Independently computed means and standard deviations of the delay at right angles.
  for (const auto& [d, mean, sd] : {std::tuple(10.0f, 85.2, 145.0), {50.0f, 334.1, 287.0}}) {
    const double shape = double{delay_shape(optics, {d, 0, 0, 0})};
    EXPECT_NEAR(shape / double{optics.rho}, mean, 0.05);
    EXPECT_NEAR(std::sqrt(shape) / double{optics.rho}, sd, 0.5);
  }
  // Light from below hits the photocathode of a module that faces down.
  EXPECT_LT(delay_shape(optics, {10, 0, 1, 0}), delay_shape(optics, {10, 0, -1, 0}));
}

TEST(Telescope, HandlesModulesOnTheTrack) {
  const Optics optics = NuTelescope::optics_of({});
  Event event{};
  event.hypothesis = Hypothesis::track;
  event.direction = {0, 0.6f, 0.8f};
  light_up(optics, 100, event);
  const Ray on = ray(optics, event, {0, 60, 80});
  EXPECT_NEAR(on.distance, 0, 1e-4);
  EXPECT_NEAR(geometric_time(optics, event, on), 100 / kC, 1e-3);
  EXPECT_TRUE(std::isfinite(expected_photons(optics, event, on)));
  EXPECT_GE(on.up, -1);
  const Ray origin = ray(optics, event, {0, 0, 0});
  EXPECT_EQ(origin.distance, 0);
  EXPECT_TRUE(std::isfinite(delay_shape(optics, origin)));
}

TEST(Telescope, SkipsOnlyModulesWithTooFewExpectedPhotons) {
  const Optics optics = NuTelescope::optics_of({});
  Draws draws(5);
  int passed = 0, near = 0;
  for (int i = 0; i < 400000; ++i) {
    const Event event = random_event(draws, optics);
    const Vector place = random_place(draws);
    const float expected = expected_photons(optics, event, ray(optics, event, place));
    const float least = static_cast<float>(std::exp(draws.between(-17, 0)));
    if (may_expect(optics, event, distance_squared(event, place), least)) {
      near += expected < std::max(least, kFewest) ? 1 : 0;
    } else {
      ++passed;
      ASSERT_LT(expected, std::max(least, kFewest));
    }
    // The bound must hold even for the tightest threshold.
    ASSERT_TRUE(expected < kFewest ||
                may_expect(optics, event, distance_squared(event, place), expected));
  }
  EXPECT_GT(passed, 10 * near) << "the bound must skip most modules";
}

}  // namespace
}  // namespace wellspring::telescope
