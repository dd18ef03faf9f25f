// Integrators and right-hand sides of `ode`, tested by convergence orders, high-precision values and
// periods from the literature; tests/truth rebuilds the trajectories.
#include "generators/events/ode.h"

#include "generators/generator.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <set>
#include <string>
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

// The figure of eight returns after its known period. Two masses of 1 on a circle of diameter 1
// (the third mass is 0) return after Kepler's period, omega^2 = 2. The integration is reversible.
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

TEST(Ode, NamesEveryPointDifferently) {
  const auto names = [](int points, double duration) {
    Ode::Params params;
    params.points = points;
    params.duration = duration;
    std::vector<std::string> all;
    for (const ValueInfo& feature : Ode::describe(params).features) all.push_back(feature.name);
    return all;
  };
  for (const double duration : {0.05, 0.1024, 1e-9, 2.0}) {
    const std::vector<std::string> all = names(1024, duration);
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), 3 * 1024u) << duration;
  }
  EXPECT_EQ(names(1024, 0.05)[0], "x at 5e-05");
  EXPECT_EQ(names(3, 2),
            (std::vector<std::string>{"x at 0.6667", "y at 0.6667", "z at 0.6667", "x at 1.3333",
                                      "y at 1.3333", "z at 1.3333", "x at 2", "y at 2", "z at 2"}));
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
