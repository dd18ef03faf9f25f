// Integrators, right-hand sides and trajectories of `ode`, tested by convergence orders, conserved
// quantities, high-precision values and periods from the literature.
#include "generators/events/ode.h"

#include "tests/generators/events/trajectories.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

namespace wellspring::test {
namespace {

struct DoubleSinCos {
  double sine, cosine;
};
struct DoubleTrigonometry {
  DoubleSinCos operator()(double angle) const { return {std::sin(angle), std::cos(angle)}; }
};
using Pendulum = DoublePendulum<double, DoubleTrigonometry>;

template <int N, class Rates>
OdeState<double, N> after(const Rates& rates, OdeState<double, N> u, double time, int steps) {
  for (int i = 0; i < steps; ++i) rk4_step(rates, time / steps, u);
  return u;
}
template <int N>
double distance(const OdeState<double, N>& a, const OdeState<double, N>& b) {
  double square = 0;
  for (int i = 0; i < N; ++i) square += (a.v[i] - b.v[i]) * (a.v[i] - b.v[i]);
  return std::sqrt(square);
}

struct Bodies {
  OdeState<double, 6> q, v;
};
Bodies after(const ThreeBodies<double>& gravity, Bodies bodies, double time, int steps) {
  OdeState<double, 6> a = gravity(bodies.q);
  for (int i = 0; i < steps; ++i) leapfrog_step(gravity, time / steps, bodies.q, bodies.v, a);
  return bodies;
}
Bodies figure_eight() {
  const double x = 0.97000436, y = -0.24308753, vx = -0.93240737, vy = -0.86473146;
  return {{{x, y, -x, -y, 0, 0}}, {{-vx / 2, -vy / 2, -vx / 2, -vy / 2, vx, vy}}};
}

/// Halving the step must divide the error by 2^4; the next-order term changes the quotient
/// slightly.
template <int N, class Rates>
void expect_fourth_order(const Rates& rates, const OdeState<double, N>& from, double time,
                         int steps, const char* what) {
  const auto exact = after<N>(rates, from, time, 32 * steps);
  const double coarse = distance<N>(after<N>(rates, from, time, steps), exact);
  const double fine = distance<N>(after<N>(rates, from, time, 2 * steps), exact);
  EXPECT_NEAR(std::log2(coarse / fine), 4, 0.15) << what;
}

TEST(Integrators, ConvergeWithTheirOrders) {
  expect_fourth_order<3>(Lorenz<double>{10, 28, 8.0 / 3}, {{1, 1, 1}}, 0.5, 200, "Lorenz");
  expect_fourth_order<4>(Pendulum{0.7, 1.3, 9.81}, {{1, -0.5, 0.2, 0}}, 1, 500, "double pendulum");
  expect_fourth_order<2>(LotkaVolterra<double>{0.9, 0.05, 0.9, 0.05}, {{30, 1}}, 3, 150,
                         "Lotka-Volterra");
  expect_fourth_order<3>(SusceptibleInfectedRemoved<double>{0.4, 0.125}, {{0.99, 0.01, 0}}, 20, 80,
                         "SIR");
  const ThreeBodies<double> gravity{{1, 1, 1}, 0};
  const Bodies exact = after(gravity, figure_eight(), 1, 32000);
  const double coarse = distance<6>(after(gravity, figure_eight(), 1, 500).q, exact.q);
  const double fine = distance<6>(after(gravity, figure_eight(), 1, 1000).q, exact.q);
  EXPECT_NEAR(std::log2(coarse / fine), 2, 0.05) << "leapfrog";
}

TEST(Integrators, ReachTheKnownLorenzState) {
  const auto u = after<3>(Lorenz<double>{10, 28, 8.0 / 3}, {{1, 1, 1}}, 1, 1000);
  EXPECT_NEAR(u.v[0], -9.378570010925, 1e-8);
  EXPECT_NEAR(u.v[1], -8.357033788426, 1e-8);
  EXPECT_NEAR(u.v[2], 29.362325337364, 1e-8);
}

// Tests fixed points, the symmetry (x, y) -> (-x, -y), the z axis, and the contraction rate of volumes.
TEST(Systems, LorenzHasItsSymmetries) {
  const Lorenz<double> lorenz{10, 28, 8.0 / 3};
  const double c = std::sqrt(8.0 / 3 * 27);
  for (const double sign : {-1.0, 1.0})
    for (const double rate : lorenz({{sign * c, sign * c, 27}}).v) EXPECT_NEAR(rate, 0, 1e-13);
  const auto rate = lorenz({{2, -3, 5}}), mirrored = lorenz({{-2, 3, 5}});
  EXPECT_EQ(rate.v[0], -mirrored.v[0]);
  EXPECT_EQ(rate.v[1], -mirrored.v[1]);
  EXPECT_EQ(rate.v[2], mirrored.v[2]);
  EXPECT_EQ(lorenz({{0, 0, 5}}).v[0], 0);
  double divergence = 0;
  for (int i = 0; i < 3; ++i) {
    OdeState<double, 3> low{{2, -3, 5}}, high = low;
    low.v[i] -= 0.5;
    high.v[i] += 0.5;
    divergence += lorenz(high).v[i] - lorenz(low).v[i];
  }
  EXPECT_NEAR(divergence, -(10 + 1 + 8.0 / 3), 1e-12);
}

double energy(const Pendulum& p, double t1, double t2, double w1, double w2) {
  return (1 + p.mass) * w1 * w1 / 2 + p.mass * p.length * p.length * w2 * w2 / 2 +
         p.mass * p.length * w1 * w2 * std::cos(t1 - t2) -
         p.gravity * ((1 + p.mass) * std::cos(t1) + p.mass * p.length * std::cos(t2));
}

// Tests Lagrange's equations (not solved for the accelerations) at random states, and the normal
// modes of small oscillations, omega^2 = (2 -+ sqrt 2) g / l for equal masses and lengths.
TEST(Systems, DoublePendulumObeysLagrange) {
  std::mt19937 words(1);
  std::uniform_real_distribution<double> any(-3, 3), size(0.2, 2);
  for (int i = 0; i < 1000; ++i) {
    const Pendulum p{size(words), size(words), 9.81};
    const OdeState<double, 4> u{{any(words), any(words), any(words), any(words)}};
    const auto rate = p(u);
    const double d = u.v[0] - u.v[1], ml = p.mass * p.length;
    EXPECT_EQ(rate.v[0], u.v[2]);
    EXPECT_EQ(rate.v[1], u.v[3]);
    EXPECT_NEAR((1 + p.mass) * rate.v[2] + ml * std::cos(d) * rate.v[3] +
                    ml * u.v[3] * u.v[3] * std::sin(d) +
                    p.gravity * (1 + p.mass) * std::sin(u.v[0]),
                0, 1e-11);
    EXPECT_NEAR(ml * std::cos(d) * rate.v[2] + ml * p.length * rate.v[3] -
                    ml * u.v[2] * u.v[2] * std::sin(d) + p.gravity * ml * std::sin(u.v[1]),
                0, 1e-11);
  }
  for (const double sign : {-1.0, 1.0}) {
    const double omega = std::sqrt((2 + sign * std::numbers::sqrt2) * 9.81), a = 1e-4;
    const OdeState<double, 4> from{{a, -sign * std::numbers::sqrt2 * a, 0, 0}};
    const auto half = after<4>(Pendulum{1, 1, 9.81}, from, std::numbers::pi / omega, 1000);
    EXPECT_NEAR(half.v[0], -a, 1e-10);
    EXPECT_NEAR(half.v[1], -from.v[1], 1e-10);
  }
}

TEST(Systems, PopulationsAndEpidemicsConserveInvariants) {
  const LotkaVolterra<double> wild{std::exp(-0.125), std::exp(-3.0), std::exp(-0.125),
                                   std::exp(-3.0)};
  const auto invariant = [&](const OdeState<double, 2>& u) {
    return wild.delta * u.v[0] - wild.gamma * std::log(u.v[0]) + wild.beta * u.v[1] -
           wild.alpha * std::log(u.v[1]);
  };
  const OdeState<double, 2> start{{30, 1}};
  EXPECT_NEAR(invariant(after<2>(wild, start, 20, 20000)), invariant(start), 1e-11);

  const SusceptibleInfectedRemoved<double> flu{0.4, 0.125};
  const OdeState<double, 3> first{{1 - 1e-6, 1e-6, 0}};
  const auto last = after<3>(flu, first, 400, 20000);
  EXPECT_NEAR(last.v[0] + last.v[1] + last.v[2], 1, 1e-13);
  const auto kept = [&](const OdeState<double, 3>& u) {
    return u.v[0] + u.v[1] - flu.gamma / flu.beta * std::log(u.v[0]);
  };
  EXPECT_NEAR(kept(last), kept(first), 1e-11);
  EXPECT_NEAR(1 - last.v[0], 0.95255460, 1e-7) << "final size of the epidemic";
}

struct Kept {
  double energy = 0, scale = 0;  ///< kinetic energy plus or minus potential energy
  double momentum_x = 0, momentum_y = 0, spin = 0;
};
Kept kept_by(const std::array<double, 3>& m, double softening2, const double* q, const double* v) {
  Kept kept;
  for (std::size_t i = 0; i < 3; ++i) {
    const double kinetic = m[i] * (v[2 * i] * v[2 * i] + v[2 * i + 1] * v[2 * i + 1]) / 2;
    kept.energy += kinetic;
    kept.scale += kinetic;
    kept.momentum_x += m[i] * v[2 * i];
    kept.momentum_y += m[i] * v[2 * i + 1];
    kept.spin += m[i] * (q[2 * i] * v[2 * i + 1] - q[2 * i + 1] * v[2 * i]);
    for (std::size_t j = 0; j < i; ++j) {
      const double x = q[2 * i] - q[2 * j], y = q[2 * i + 1] - q[2 * j + 1];
      const double depth = m[i] * m[j] / std::sqrt(x * x + y * y + softening2);
      kept.energy -= depth;
      kept.scale += depth;
    }
  }
  return kept;
}

// The figure of eight returns after its known period. Two masses of 1 on a circle of diameter 1
// (the third mass is 0) return after Kepler's, omega^2 = 2. The integration is reversible.
TEST(Systems, BodiesReturnAfterTheirPeriod) {
  const ThreeBodies<double> equal{{1, 1, 1}, 0};
  const Bodies eight = figure_eight(), round = after(equal, eight, 6.32591398, 20000);
  EXPECT_LT(distance<6>(round.q, eight.q), 1e-5);
  EXPECT_LT(distance<6>(round.v, eight.v), 1e-5);

  const ThreeBodies<double> pair{{1, 1, 0}, 0};
  const double speed = std::sqrt(0.5);
  const Bodies circle{{{0.5, 0, -0.5, 0, 9, 9}}, {{0, speed, 0, -speed, 0, 0}}};
  const Bodies back = after(pair, circle, 2 * std::numbers::pi / std::numbers::sqrt2, 20000);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(back.q.v[i], circle.q.v[i], 1e-6);

  Bodies there = after(equal, eight, 3, 3000);
  for (double& v : there.v.v) v = -v;
  EXPECT_LT(distance<6>(after(equal, there, 3, 3000).q, eight.q), 1e-11);
}

// ---- trajectories -------------------------------------------------------------------------------

/// Largest error among the features at point `point` of sample i; `exact` is the exact state.
template <int N>
double error_at(const Trajectories& all, std::size_t i, std::size_t point,
                const OdeState<double, N>& exact) {
  double worst = 0;
  for (std::size_t k = 0; k < N; ++k)
    worst = std::max(worst, std::abs(all.x(i, point * N + k) - exact.v[k]));
  return worst;
}

/// Integrates sample i in double precision with `steps` steps per point; returns the largest error
/// at any point.
template <int N, class Rates>
double worst_error(const Trajectories& all, std::size_t i, const Rates& rates,
                   OdeState<double, N> u, double duration, int steps) {
  const std::size_t points = all.samples.elements / N;
  double worst = 0;
  for (std::size_t point = 0; point < points; ++point) {
    u = after<N>(rates, u, duration / static_cast<double>(points), steps);
    worst = std::max(worst, error_at<N>(all, i, point, u));
  }
  return worst;
}

// Compares with an integration in double precision with at most a fifth of the step. In the Lorenz
// system and in a pendulum that turns over, neighbouring trajectories diverge exponentially, so a
// few trajectories are far worse than the median. The bounds are about four times the errors of
// these hundred trajectories, stated in docs/generators/algorithms/ode.md.
TEST(Ode, TrajectoriesMatchDoublePrecision) {
  constexpr std::size_t kCount = 100;
  std::vector<double> lorenz, pendulum, epidemic;
  const Trajectories weather({}, kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto l = [&](std::size_t k) { return weather.latent(i, k); };
    lorenz.push_back(
        worst_error<3>(weather, i, Lorenz<double>{l(0), l(1), l(2)}, {{l(3), l(4), l(5)}}, 2, 65));
  }
  const Trajectories rods({{"system", "double_pendulum", {}}}, kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto l = [&](std::size_t k) { return rods.latent(i, k); };
    pendulum.push_back(worst_error<4>(rods, i, Pendulum{l(0), l(1), Ode::kGravity},
                                      {{l(2), l(3), l(4), l(5)}}, 5, 160));
  }
  const Trajectories flu({{"system", "sir", {}}, {"points", "10", {}}}, kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    epidemic.push_back(worst_error<3>(
        flu, i, SusceptibleInfectedRemoved<double>{flu.latent(i, 0), flu.latent(i, 1)},
        {{1 - 1e-6, 1e-6, 0}}, 160, 800));
  for (auto* errors : {&lorenz, &pendulum, &epidemic}) std::sort(errors->begin(), errors->end());
  EXPECT_LT(lorenz[50], 2e-4);
  EXPECT_LT(lorenz.back(), 2e-2);
  EXPECT_LT(pendulum[50], 1e-4);
  EXPECT_LT(pendulum[90], 1e-2);
  EXPECT_LT(epidemic.back(), 2e-5);
}

TEST(Ode, TrajectoriesConserveInvariants) {
  constexpr std::size_t kCount = 60;
  const Trajectories rods({{"system", "double_pendulum", {}}}, kCount);
  double worst_rods = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto l = [&](std::size_t k) { return rods.latent(i, k); };
    const Pendulum p{l(0), l(1), Ode::kGravity};
    const double first = energy(p, l(2), l(3), l(4), l(5)), scale = 9.81 * (1 + 2 * l(0) * l(1));
    for (std::size_t k = 0; k < rods.samples.elements; k += 4)
      worst_rods = std::max(worst_rods, std::abs(energy(p, rods.x(i, k), rods.x(i, k + 1),
                                                        rods.x(i, k + 2), rods.x(i, k + 3)) -
                                                 first) /
                                            scale);
  }
  const Trajectories stars({{"system", "three_bodies", {}}}, kCount);
  double worst_energy = 0, worst_momentum = 0, worst_spin = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    std::array<double, 12> state{};
    for (std::size_t k = 0; k < 12; ++k) state[k] = stars.latent(i, 3 + k);
    const std::array<double, 3> mass = {stars.latent(i, 0), stars.latent(i, 1), stars.latent(i, 2)};
    const Kept first = kept_by(mass, 0.01, state.data(), state.data() + 6);
    for (std::size_t point = 0; point < 32; ++point) {
      for (std::size_t k = 0; k < 12; ++k) state[k] = stars.x(i, 12 * point + k);
      const Kept kept = kept_by(mass, 0.01, state.data(), state.data() + 6);
      worst_energy = std::max(worst_energy, std::abs(kept.energy - first.energy));
      worst_momentum = std::max({worst_momentum, std::abs(kept.momentum_x - first.momentum_x),
                                 std::abs(kept.momentum_y - first.momentum_y)});
      worst_spin = std::max(worst_spin, std::abs(kept.spin - first.spin));
    }
  }
  const Trajectories flu({{"system", "sir", {}}, {"points", "16", {}}}, kCount);
  double worst_sum = 0;
  for (std::size_t i = 0; i < kCount; ++i)
    for (std::size_t k = 0; k < flu.samples.elements; k += 3)
      worst_sum =
          std::max(worst_sum, std::abs(flu.x(i, k) + flu.x(i, k + 1) + flu.x(i, k + 2) - 1));
  const Trajectories wild({{"system", "lotka_volterra", {}}}, kCount);
  double worst_wild = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto l = [&](std::size_t k) { return wild.latent(i, k); };
    const auto invariant = [&](double x, double y) {
      return l(3) * x - l(2) * std::log(x) + l(1) * y - l(0) * std::log(y);
    };
    for (std::size_t k = 0; k < wild.samples.elements; k += 2)
      worst_wild = std::max(worst_wild,
                            std::abs(invariant(wild.x(i, k), wild.x(i, k + 1)) - invariant(30, 1)));
  }
  EXPECT_LT(worst_rods, 1e-4);
  EXPECT_LT(worst_energy, 1e-2);
  EXPECT_LT(worst_momentum, 1e-4);
  EXPECT_LT(worst_spin, 1e-4);
  EXPECT_LT(worst_sum, 1e-5);
  EXPECT_LT(worst_wild, 1e-2);
}

// Tests 2000 trajectories with the smallest softening allowed for the default step. Bounds are
// about four times the errors in docs/generators/algorithms/ode.md. The latent is computed in f32
// from the numbers of the row, with about sixteen roundings of numbers up to the final scale.
TEST(Ode, ThreeBodiesReportTheirEnergyError) {
  for (const bool eight : {false, true}) {
    const double softening = eight ? 0 : 0.0387;
    const std::vector<ParamSetting> meeting = {{"system", "three_bodies", {}},
                                               {"softening", "0.0387", {}}};
    const std::vector<ParamSetting> preset = {{"preset", "figure_eight", {}}};
    const Trajectories stars(eight ? preset : meeting, eight ? 1 : 2000);
    std::vector<double> errors;
    for (std::size_t i = 0; i < stars.count(); ++i) {
      std::array<double, 12> first{}, last{};
      for (std::size_t k = 0; k < 12; ++k) {
        first[k] = stars.latent(i, 3 + k);
        last[k] = stars.x(i, 12 * 31 + k);
        EXPECT_LT(std::abs(last[k]), 20);
      }
      const std::array<double, 3> mass = {stars.latent(i, 0), stars.latent(i, 1),
                                          stars.latent(i, 2)};
      const Kept before = kept_by(mass, softening * softening, first.data(), first.data() + 6);
      const Kept after = kept_by(mass, softening * softening, last.data(), last.data() + 6);
      EXPECT_NEAR(stars.latent(i, 15), (after.energy - before.energy) / before.scale,
                  16 * 0x1p-24 * (1 + after.scale / before.scale));
      errors.push_back(std::abs(stars.latent(i, 15)));
    }
    std::sort(errors.begin(), errors.end());
    EXPECT_LT(errors[errors.size() * 9 / 10], eight ? 1e-5 : 4e-3);
    EXPECT_LT(errors.back(), eight ? 1e-5 : 0.5);
  }
}

TEST(Ode, RefusesUnresolvableEncounters) {
  const auto refusal = [](std::vector<ParamSetting> settings) {
    settings.push_back({"system", "three_bodies", {}});
    return test::message_of(ErrorKind::config, [&] { make_generator("ode", 1, settings); });
  };
  test::expect_parts(refusal({{"softening", "0", {}}}),
                     {"step = 0.002 is too long for softening = 0", "sqrt(3.6 / softening^3)",
                      "set softening >= 0.0387"});
  test::expect_parts(refusal({{"softening", "0.0386", {}}}), {"step <= 0.0019", "or softening"});
  test::expect_parts(refusal({{"step", "0.01", {}}}), {"step = 0.01", "softening >= 0.113"});
}

TEST(Ode, RefusesUnsuitableSteps) {
  test::expect_parts(
      test::message_of(
          ErrorKind::config,
          [] {
            make_generator("ode", 1, {{"duration", "10000", {}}, {"step", "0.001", {}}});
          }),
      {"10000000 steps", "set step >= "});
  test::expect_parts(test::message_of(ErrorKind::config,
                                      [] {
                                        make_generator("ode", 1, {{"step", "0.06", {}}});
                                      }),
                     {"step = 0.06 is too long", "set step <= 0.05"});
}

}  // namespace
}  // namespace wellspring::test
