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

// Times up to 5000 ns are computed in f32 from positions up to 1000 m; 4 roundings of each give
// 1e-3 ns.
constexpr double kTimeSlack = 2e-3;

/// Arrival time of light that leaves the track at distance `s` from the vertex and travels straight
/// to `place`.
double time_by_way_of(double s, const Event& event, const Vector& place, double group_index) {
  const double x = double{place.x} - double{event.vertex.x} - s * double{event.direction.x};
  const double y = double{place.y} - double{event.vertex.y} - s * double{event.direction.y};
  const double z = double{place.z} - double{event.vertex.z} - s * double{event.direction.z};
  return s / kC + std::sqrt(x * x + y * y + z * z) * group_index / kC;
}

// If phase and group index are equal, Cherenkov light takes the fastest path (Fermat's principle).
TEST(Telescope, LightTakesTheFastestPathForEqualIndices) {
  NuTelescope::Params params;
  params.group_index = params.phase_index;
  const Optics optics = NuTelescope::optics_of(params);
  Draws draws(1);
  for (int i = 0; i < 500; ++i) {
    Event event = random_event(draws, optics);
    event.hypothesis = Hypothesis::track;
    const Vector place = random_place(draws);
    double low = -4000, high = 4000;  // golden section: the time is convex in s
    constexpr double kSection = 0.618033988749895;
    while (high - low > 1e-6) {
      const double a = high - kSection * (high - low), b = low + kSection * (high - low);
      const bool left = time_by_way_of(a, event, place, params.group_index) <
                        time_by_way_of(b, event, place, params.group_index);
      (left ? high : low) = left ? b : a;
    }
    ASSERT_NEAR(geometric_time(optics, event, ray(optics, event, place)),
                time_by_way_of(low, event, place, params.group_index), kTimeSlack);
  }
}

// With two indices, light leaves at the angle given by the phase index and travels at the group
// velocity. The formula with d tan(theta_c) would be too early by 0.188 ns per metre.
TEST(Telescope, LightLeavesAtTheCherenkovAngleForTwoIndices) {
  const NuTelescope::Params params;
  const Optics optics = NuTelescope::optics_of(params);
  const double theta = std::acos(1 / params.phase_index);
  Draws draws(2);
  for (int i = 0; i < 500; ++i) {
    Event event = random_event(draws, optics);
    event.hypothesis = Hypothesis::track;
    const Vector place = random_place(draws);
    const double r[3] = {double{place.x} - double{event.vertex.x},
                         double{place.y} - double{event.vertex.y},
                         double{place.z} - double{event.vertex.z}};
    const double p[3] = {double{event.direction.x}, double{event.direction.y},
                         double{event.direction.z}};
    const auto cosine = [&](double s) {  // cosine of the emission angle of light that leaves at s
      double along = 0, square = 0;
      for (int k = 0; k < 3; ++k) {
        along += (r[k] - s * p[k]) * p[k];
        square += (r[k] - s * p[k]) * (r[k] - s * p[k]);
      }
      return along / std::sqrt(square);
    };
    double low = -20000, high = 20000;  // the cosine decreases with s
    while (high - low > 1e-7) {
      const double middle = 0.5 * (low + high);
      (cosine(middle) > 1 / params.phase_index ? low : high) = middle;
    }
    const double time = double{geometric_time(optics, event, ray(optics, event, place))};
    ASSERT_NEAR(time, time_by_way_of(low, event, place, params.group_index), kTimeSlack);
    const Ray geometry = ray(optics, event, place);
    const double published =
        (double{geometry.along} + double{geometry.distance} * std::tan(theta)) / kC;
    ASSERT_NEAR((time - published) / double{geometry.distance}, 3.0599 - 2.8715, 1e-3);
  }
}

TEST(Telescope, CascadeLightTravelsStraight) {
  const NuTelescope::Params params;
  const Optics optics = NuTelescope::optics_of(params);
  Draws draws(3);
  for (int i = 0; i < 500; ++i) {
    Event event = random_event(draws, optics);
    event.hypothesis = Hypothesis::cascade;
    event.start = static_cast<float>(draws.between(-500, 500));
    const Vector place = random_place(draws);
    ASSERT_NEAR(geometric_time(optics, event, ray(optics, event, place)),
                double{event.start} + time_by_way_of(0, event, place, params.group_index),
                kTimeSlack);
  }
}

// Rotations about the track change time and distance only by rounding; rotations about the
// vertical, which is the axis of the modules, change the other results, too, only by rounding.
TEST(Telescope, IsInvariantUnderRotations) {
  const Optics optics = NuTelescope::optics_of({});
  Draws draws(4);
  for (int i = 0; i < 500; ++i) {
    Event event = random_event(draws, optics);
    const Vector place = random_place(draws);
    const double angle = draws.between(0, 6.28), c = std::cos(angle), s = std::sin(angle);
    const auto turned = [&](const Vector& v) {
      return Vector{static_cast<float>(c * double{v.x} - s * double{v.y}),
                    static_cast<float>(s * double{v.x} + c * double{v.y}), v.z};
    };
    Event other = event;
    other.direction = turned(event.direction);
    other.vertex = turned(event.vertex);
    const Ray a = ray(optics, event, place), b = ray(optics, other, turned(place));
    ASSERT_NEAR(a.distance, b.distance, 1e-3);
    ASSERT_NEAR(geometric_time(optics, event, a), geometric_time(optics, other, b), 5e-3);
    const double near = 1 + 1 / std::max(1.0, double{a.distance});
    ASSERT_NEAR(a.up, b.up, 1e-3 * near);
    ASSERT_NEAR(expected_photons(optics, event, a) / expected_photons(optics, other, b), 1,
                2e-3 * near);
    // Rotates about the track by Rodrigues' formula.
    const Vector r = {place.x - event.vertex.x, place.y - event.vertex.y, place.z - event.vertex.z};
    const Vector& p = event.direction;
    const double along = double{dot(r, p)} * (1 - c);
    const Vector around = {static_cast<float>(c * double{r.x} + s * double{p.y * r.z - p.z * r.y} +
                                              along * double{p.x}) +
                               event.vertex.x,
                           static_cast<float>(c * double{r.y} + s * double{p.z * r.x - p.x * r.z} +
                                              along * double{p.y}) +
                               event.vertex.y,
                           static_cast<float>(c * double{r.z} + s * double{p.x * r.y - p.y * r.x} +
                                              along * double{p.z}) +
                               event.vertex.z};
    ASSERT_NEAR(geometric_time(optics, event, ray(optics, event, around)),
                geometric_time(optics, event, a), 5e-3);
  }
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
