// The N-body system of `ode`: Kepler orbits, order and invariants of the integration, the Plummer
// distribution of initial states, and the latents of samples.
#include "generators/events/ode.h"
#include "generators/events/plummer.h"
#include "tests/generators/events/trajectories.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

using Gravity = EqualBodies<double>;
using State = Gravity::State;

struct Cluster {
  State q, v;
};

Cluster after(const Gravity& gravity, Cluster u, double time, int steps) {
  State a = gravity(u.q);
  for (int i = 0; i < steps; ++i) leapfrog_step(gravity, time / steps, u.q, u.v, a);
  return u;
}
Cluster turned_back(Cluster u) {
  for (auto& v : u.v.v) v[0] = -v[0];
  return u;
}
double distance(const State& a, const State& b) {
  double square = 0;
  for (int i = 0; i < a.used; ++i) square += (a.v[i][0] - b.v[i][0]) * (a.v[i][0] - b.v[i][0]);
  return std::sqrt(square);
}
double energy(const Gravity& gravity, const Cluster& u) {
  const Motion<double> motion = gravity.motion(u.q, u.v);
  return motion.kinetic + motion.potential;
}
Gravity of_bodies(int bodies, double softening) {
  return {bodies, 1.0 / bodies, softening * softening};
}
Cluster resting(int bodies) {
  return {{{}, 3 * bodies}, {{}, 3 * bodies}};
}
Cluster drawn(int bodies, std::uint64_t sample) {
  Cluster u = resting(bodies);
  for (int i = 0; i < bodies; ++i) {
    const PlummerStar star = plummer_star({11, sample}, i);
    for (int axis = 0; axis < 3; ++axis) {
      u.q.v[3 * i + axis][0] = star.place[axis];
      u.v.v[3 * i + axis][0] = star.velocity[axis];
    }
  }
  centre(u.q);
  centre(u.v);
  return u;
}

// Two bodies of mass 1/2 at separation d, d'' = -d / |d|^3, follow an ellipse of semi-major axis 1
// and period 2 pi: d = (cos E - e) A + sqrt(1 - e^2) sin E B with Kepler's equation t = E - e sin
// E.
struct Ellipse {
  static constexpr double kEccentricity = 0.5;
  static constexpr std::array<double, 3> kA = {2.0 / 3, 1.0 / 3, 2.0 / 3};
  static constexpr std::array<double, 3> kB = {-1.0 / 3, -2.0 / 3, 2.0 / 3};

  static Cluster at(double time) {
    const double e = kEccentricity, minor = std::sqrt(1 - e * e);
    double anomaly = time;
    for (int i = 0; i < 50; ++i)
      anomaly -= (anomaly - e * std::sin(anomaly) - time) / (1 - e * std::cos(anomaly));
    const double c = std::cos(anomaly), s = std::sin(anomaly), rate = 1 / (1 - e * c);
    Cluster u = resting(2);
    for (std::size_t k = 0; k < 3; ++k) {
      u.q.v[k][0] = 0.5 * ((c - e) * kA[k] + minor * s * kB[k]);
      u.v.v[k][0] = 0.5 * rate * (-s * kA[k] + minor * c * kB[k]);
      u.q.v[3 + k][0] = -u.q.v[k][0];
      u.v.v[3 + k][0] = -u.v.v[k][0];
    }
    return u;
  }
};

// A symmetric method has errors in h^2, h^4, ... The combination (4 fine - coarse) / 3 cancels the
// first term; the rest is about (h omega)^2 times that term, with omega = r^(-3/2) at the closest
// approach r = 1 - e. The tolerance is ten times this, plus the rounding errors of all steps.
TEST(Bodies, FollowKeplerEllipses) {
  const Gravity gravity = of_bodies(2, 0);
  const double closest = 1 - Ellipse::kEccentricity;
  // Energy is -m m' / 2; angular momentum is sqrt(1 - e^2) / 4, along the cross product of A and B.
  const Motion<double> motion = gravity.motion(Ellipse::at(1).q, Ellipse::at(1).v);
  EXPECT_NEAR(motion.kinetic + motion.potential, -1.0 / 8, 1e-14);
  EXPECT_NEAR(motion.spin[0], std::sqrt(0.75) / 4 * 2 / 3, 1e-14);
  EXPECT_NEAR(motion.spin[1], std::sqrt(0.75) / 4 * -2 / 3, 1e-14);
  EXPECT_NEAR(motion.spin[2], std::sqrt(0.75) / 4 * -1 / 3, 1e-14);
  for (const double time : {0.5, 2.0, 4.5, 2 * std::numbers::pi}) {
    constexpr int kSteps = 1000;
    const Cluster exact = Ellipse::at(time);
    const Cluster coarse = after(gravity, Ellipse::at(0), time, kSteps);
    const Cluster fine = after(gravity, Ellipse::at(0), time, 2 * kSteps);
    Cluster better = resting(2);
    for (int i = 0; i < 6; ++i) better.q.v[i][0] = (4 * fine.q.v[i][0] - coarse.q.v[i][0]) / 3;
    const double error = distance(coarse.q, exact.q), h = time / kSteps;
    EXPECT_NEAR(std::log2(error / distance(fine.q, exact.q)), 2, 0.02) << time;
    EXPECT_LT(distance(better.q, exact.q),
              10 * error * h * h / (closest * closest * closest) + kSteps * 0x1p-52)
        << time;
  }
}

// Accelerations are minus the gradient of the potential energy, divided by the mass. Central
// differences are off by 1e-8 / 6 times a third derivative below 60 / softening^4, which is less
// than 6e-5.
TEST(Bodies, AccelerateDownThePotentialGradient) {
  for (const int bodies : {2, 5, 16}) {
    const Gravity gravity = of_bodies(bodies, 0.2);
    const Cluster u = drawn(bodies, 3);
    const State a = gravity(u.q);
    for (int i = 0; i < a.used; ++i) {
      Cluster low = u, high = u;
      low.q.v[i][0] -= 1e-4;
      high.q.v[i][0] += 1e-4;
      const double rise =
          (gravity.motion(high.q, u.v).potential - gravity.motion(low.q, u.v).potential) / 2e-4;
      EXPECT_NEAR(a.v[i][0], -rise * bodies, 2e-4) << bodies << ' ' << i;
    }
  }
}

// Errors of positions and energy fall as h^2; momentum and angular momentum are conserved up to the
// rounding of numbers below 4 in 2000 steps; and the integration is reversible.
TEST(Bodies, IntegrateSymplectically) {
  const Gravity gravity = of_bodies(8, 0.1);
  for (const std::uint64_t sample : {0, 1, 2}) {
    const Cluster start = drawn(8, sample), exact = after(gravity, start, 1, 32000);
    const Cluster coarse = after(gravity, start, 1, 1000), fine = after(gravity, start, 1, 2000);
    EXPECT_NEAR(std::log2(distance(coarse.q, exact.q) / distance(fine.q, exact.q)), 2, 0.02);
    const double first = energy(gravity, start);
    EXPECT_NEAR(std::log2((energy(gravity, coarse) - first) / (energy(gravity, fine) - first)), 2,
                0.02);
    const Motion<double> from = gravity.motion(start.q, start.v),
                         to = gravity.motion(fine.q, fine.v);
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(to.spin[axis], from.spin[axis], 2000 * 8 * 0x1p-52);
      double momentum = 0, middle = 0;
      for (int i = 0; i < 8; ++i) {
        momentum += gravity.mass * fine.v.v[3 * i + axis][0];
        middle += gravity.mass * fine.q.v[3 * i + axis][0];
      }
      EXPECT_NEAR(momentum, 0, 2000 * 8 * 0x1p-52);
      EXPECT_NEAR(middle, 0, 2000 * 8 * 0x1p-52);
    }
    const Cluster back = after(gravity, turned_back(fine), 1, 2000);
    EXPECT_LT(distance(back.q, start.q), 1e-10);
    EXPECT_LT(distance(turned_back(back).v, start.v), 1e-10);
  }
}

/// Normalised integral of q^2 (1 - q^2)^(7/2); with q = sin x, the integrand is sin^2 x cos^8 x.
double slower_than(double q) {
  constexpr int kSteps = 200;
  const double h = std::asin(q) / kSteps;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double x = h * (i + 0.5), s = std::sin(x), c2 = 1 - s * s;
    sum += h * s * s * c2 * c2 * c2 * c2;
  }
  return sum * 512 / (7 * std::numbers::pi);
}

TEST(Bodies, StartAsAPlummerSphere) {
  constexpr int kStars = 30000;
  const double a = 3 * std::numbers::pi / 16;
  std::array<std::vector<double>, 6> laws;
  std::vector<double> along;
  for (int i = 0; i < kStars; ++i) {
    const PlummerStar star = plummer_star({7, static_cast<std::uint64_t>(i / 16)}, i % 16);
    const auto& [x, v] = star;
    const double r = std::hypot(x[0], x[1], x[2]), speed = std::hypot(v[0], v[1], v[2]);
    laws[0].push_back(std::pow(r / std::hypot(r, a), 3) / 0.999);
    laws[1].push_back(slower_than(speed / std::sqrt(2 / std::hypot(r, a))));
    laws[2].push_back((x[2] / r + 1) / 2);
    laws[3].push_back(std::atan2(x[1], x[0]) / (2 * std::numbers::pi) + 0.5);
    laws[4].push_back((v[2] / speed + 1) / 2);
    laws[5].push_back(std::atan2(v[1], v[0]) / (2 * std::numbers::pi) + 0.5);
    along.push_back((x[0] * v[0] + x[1] * v[1] + x[2] * v[2]) / (r * speed));
    EXPECT_LE(r, PlummerStar::kReach * 1.001f);
  }
  for (std::size_t law = 0; law < laws.size(); ++law)
    EXPECT_GT(test::kolmogorov_p(laws[law], [](double u) { return u; }), test::kGate) << law;
  // Five standard errors: 1 in 1.7 million. A cosine has variance 1/3, its square 4/45.
  const test::Moments m = test::moments(along);
  EXPECT_LT(std::abs(m.mean), 5 * std::sqrt(1.0 / 3 / kStars));
  EXPECT_LT(std::abs(m.variance - 1.0 / 3), 5 * std::sqrt(4.0 / 45 / kStars));
}

// Initial means must agree within five standard errors. For the whole sphere, the kinetic energy is
// (1 - 1/N) / 4 and the potential energy -(1 - 1/N) / 2; the sphere here is truncated. The mean
// inverse distance of two bodies is the mean of 1 / the larger radius.
TEST(Bodies, StartInVirialEquilibrium) {
  constexpr int kSamples = 4000, kBodies = 8, kParts = 100000;
  const double a = 3 * std::numbers::pi / 16;
  double speed2 = 0, inverse = 0;  // means over the enclosed mass fraction, uniform up to 0.999
  for (int i = 0; i < kParts; ++i) {
    const double u = (i + 0.5) / kParts, t = std::cbrt(0.999 * u), depth = std::sqrt(1 - t * t);
    speed2 += 2 / a * depth / 4 / kParts;
    inverse += 2 * u * depth / (a * t) / kParts;
  }
  const double share = 1 - 1.0 / kBodies;
  EXPECT_NEAR(speed2 / 2, 0.25, 1e-3) << "must be close to the whole sphere's";
  EXPECT_NEAR(inverse / 2, 0.5, 1e-3);
  std::vector<double> kinetic, potential;
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
    const Cluster u = drawn(kBodies, sample);
    const Motion<double> motion = of_bodies(kBodies, 0).motion(u.q, u.v);
    kinetic.push_back(motion.kinetic);
    potential.push_back(motion.potential);
  }
  const test::Moments t = test::moments(kinetic), w = test::moments(potential);
  EXPECT_LT(std::abs(t.mean - share * speed2 / 2), 5 * std::sqrt(t.variance / kSamples));
  EXPECT_LT(std::abs(w.mean + share * inverse / 2), 5 * std::sqrt(w.variance / kSamples));
}

// ---- samples ------------------------------------------------------------------------------------

Cluster state_at(const Trajectories& all, std::size_t i, std::size_t point, int bodies) {
  Cluster u = resting(bodies);
  const auto used = 3 * static_cast<std::size_t>(bodies);
  for (std::size_t k = 0; k < used; ++k) {
    u.q.v[k][0] = all.x(i, 2 * used * point + k);
    u.v.v[k][0] = all.x(i, 2 * used * point + used + k);
  }
  return u;
}

// Integrates ten steps back from the end of a short trajectory to find the initial state. An
// integration from there, in double precision with a fifth of the step, must follow the long
// trajectory. Positions up to 20 and velocities up to 2 are rounded to 6e-8 of their values. Close
// encounters amplify this, so a few trajectories are far worse than the median; bounds are about
// four times the errors in docs/generators/algorithms/ode.md.
TEST(Ode, BodiesMatchTheirLatents) {
  constexpr std::size_t kCount = 30;
  for (const int bodies : {2, 8, 16}) {
    const std::vector<ParamSetting> own = {{"system", "n_body", {}},
                                           {"bodies", std::to_string(bodies), {}}};
    auto brief = own;
    brief.insert(brief.end(), {{"points", "1", {}}, {"duration", "0.02", {}}});
    const Trajectories all(own, kCount), begun(brief, kCount);
    ASSERT_EQ(all.samples.elements, 32u * 6u * static_cast<unsigned>(bodies));
    const Gravity gravity = of_bodies(bodies, 0.1);
    std::vector<double> off;
    for (std::size_t i = 0; i < kCount; ++i) {
      const Cluster start =
          turned_back(after(gravity, turned_back(state_at(begun, i, 0, bodies)), 0.02, 10));
      const Motion<double> first = gravity.motion(start.q, start.v);
      const double scale = first.kinetic - first.potential;
      EXPECT_NEAR(all.latent(i, 0), first.kinetic + first.potential, 1e-5 * scale);
      EXPECT_NEAR(all.latent(i, 1), -first.kinetic / first.potential, 1e-5 * all.latent(i, 1));
      const Cluster end = state_at(all, i, 31, bodies);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        EXPECT_NEAR(all.latent(i, 2 + axis), first.spin[axis], 1e-5);
        EXPECT_NEAR(gravity.motion(end.q, end.v).spin[axis], first.spin[axis], 5e-4);
        double momentum = 0, middle = 0;
        for (std::size_t k = axis; k < 3 * static_cast<std::size_t>(bodies); k += 3) {
          momentum += end.v.v[k][0] / bodies;
          middle += end.q.v[k][0] / bodies;
        }
        EXPECT_NEAR(momentum, 0, 1e-5);
        EXPECT_NEAR(middle, 0, 2e-5);
      }
      const double change = energy(gravity, end) - energy(gravity, start);
      EXPECT_NEAR(all.latent(i, 5), change / scale, 3e-6);
      Cluster exact = start;
      double worst = 0;
      for (std::size_t point = 0; point < 32; ++point) {
        exact = after(gravity, exact, 2 * std::numbers::sqrt2 / 32, 225);
        const Cluster shown = state_at(all, i, point, bodies);
        for (std::size_t k = 0; k < 48; ++k)
          worst = std::max({worst, std::abs(shown.q.v[k][0] - exact.q.v[k][0]),
                            std::abs(shown.v.v[k][0] - exact.v.v[k][0])});
      }
      off.push_back(worst);
    }
    std::sort(off.begin(), off.end());
    EXPECT_LT(off[15], 3e-4) << bodies;
    EXPECT_LT(off.back(), 1.5e-2) << bodies;
  }
}

TEST(Ode, RefusesUnresolvableBodies) {
  const auto refusal = [](std::vector<ParamSetting> settings) {
    settings.push_back({"system", "n_body", {}});
    return test::message_of(ErrorKind::config, [&] { make_generator("ode", 1, settings); });
  };
  test::expect_parts(refusal({{"bodies", "1", {}}}), {"bodies", "2"});
  test::expect_parts(refusal({{"bodies", "17", {}}}), {"bodies", "16"});
  test::expect_parts(
      refusal({{"softening", "0.01", {}}}),
      {"step = 0.002 is too long for softening = 0.01", "step <= 0.0005", "softening >= 0.0252"});
  test::expect_parts(refusal({{"softening", "0", {}}}), {"set softening >= 0.0252"});
  test::expect_parts(refusal({{"step", "0.03", {}}, {"softening", "1", {}}}), {"set step <= 0.02"});
  test::expect_parts(refusal({{"spread", "0.5", {}}}), {"spread = 0.5", "any system but n_body"});
}

}  // namespace
}  // namespace wellspring::test
