// Systems of generator `ode`: priors, units, defaults and bounds. Host only.
#include "generators/events/ode.h"

#include "core/error.h"
#include "core/text/text.h"
#include "generators/events/plummer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace wellspring {

namespace {

using System = Ode::System;

/// For gravity: minimum number of steps per radian of oscillation when all bodies are within one
/// softening length. The frequency error of leapfrog is then 1 / (24 kStepsOfSwing^2), about a
/// hundredth.
constexpr double kStepsOfSwing = 2;
/// Largest sum of the masses of three_bodies; for n_body the sum is 1.
constexpr double kThreeMasses = 3.6;

/// Prior of a latent: uniform within half_width of the centre, or log-normal, where centre and
/// half_width are the mean and standard deviation of the logarithm.
struct Prior {
  const char* name;
  const char* help;
  const char* unit;
  double centre, half_width;
};

struct SystemFacts {
  double duration, step;  ///< used if the parameters are 0
  const char* time_unit;
  bool log_normal;
  std::vector<Prior> priors;
  std::vector<ValueInfo> state;
  /// Bound on the absolute value of the features at time t. Lorenz's system never leaves the sphere
  /// x^2 + y^2 + (z - sigma - rho)^2 <= R^2 after entering it, where R^2 is the larger of the
  /// initial value and beta^2 (sigma + rho)^2 / (4 (beta - 1)). This gives at most 47 + 58. The
  /// bounds of the other systems are generous.
  double reach, reach_per_time;
};

/// The figure-eight orbit of three equal masses: A. Chenciner, R. Montgomery, Ann. Math. 152 (2000)
/// 881, with C. Simo's initial values. Its period is 6.32591398.
constexpr double kEightX = 0.97000436, kEightY = -0.24308753;
constexpr double kEightVx = -0.93240737, kEightVy = -0.86473146;

const SystemFacts& facts(System system) {
  static const std::array<SystemFacts, 6> all = {{
      {2,
       0.005,
       "",
       false,
       {{"sigma", "Prandtl number", "", 10, 2},
        {"rho", "Rayleigh number, relative to the onset of convection", "", 28, 7},
        {"beta", "geometric factor of the convection cells", "", 8.0 / 3, 0.5},
        {"x_start", "x at time 0", "", 1, 10},
        {"y_start", "y at time 0", "", 1, 10},
        {"z_start", "z at time 0", "", 1, 10}},
       {{"x", ""}, {"y", ""}, {"z", ""}},
       110,
       0},
      {5,
       0.005,
       "s",
       false,
       {{"mass", "second mass over the first", "", 1, 0.5},
        {"length", "length of the second rod over the first", "", 1, 0.5},
        {"theta1_start", "angle of the first rod to the vertical at time 0", "rad", 0, 2.5},
        {"theta2_start", "angle of the second rod to the vertical at time 0", "rad", 0, 2.5},
        {"omega1_start", "angular velocity of the first rod at time 0", "rad/s", 0, 1},
        {"omega2_start", "angular velocity of the second rod at time 0", "rad/s", 0, 1}},
       {{"theta1", "rad"}, {"theta2", "rad"}, {"omega1", "rad/s"}, {"omega2", "rad/s"}},
       60,
       60},
      {20,
       0.01,
       "day",
       true,
       {{"alpha", "birth rate of prey, log-normal", "1/day", -0.125, 0.5},
        {"beta", "death rate of prey per predator, log-normal", "1/day", -3, 0.5},
        {"gamma", "death rate of predators, log-normal", "1/day", -0.125, 0.5},
        {"delta", "birth rate of predators per prey, log-normal", "1/day", -3, 0.5}},
       {{"prey", ""}, {"predators", ""}},
       1e6,
       0},
      {160,
       0.1,
       "day",
       true,
       {{"beta", "infection rate, log-normal", "1/day", std::log(0.4), 0.5},
        {"gamma", "recovery rate, log-normal", "1/day", std::log(0.125), 0.2}},
       {{"susceptible", "share"}, {"infected", "share"}, {"removed", "share"}},
       1.001,
       0},
      {6.32591398,
       0.002,
       "",
       false,
       {{"mass1", "mass of the first body", "", 1, 0.2},
        {"mass2", "mass of the second body", "", 1, 0.2},
        {"mass3", "mass of the third body", "", 1, 0.2},
        {"x1_start", "x of the first body at time 0", "", kEightX, 0.1},
        {"y1_start", "y of the first body at time 0", "", kEightY, 0.1},
        {"x2_start", "x of the second body at time 0", "", -kEightX, 0.1},
        {"y2_start", "y of the second body at time 0", "", -kEightY, 0.1},
        {"x3_start", "x of the third body at time 0", "", 0, 0.1},
        {"y3_start", "y of the third body at time 0", "", 0, 0.1},
        {"vx1_start", "x velocity of the first body at time 0", "", -kEightVx / 2, 0.1},
        {"vy1_start", "y velocity of the first body at time 0", "", -kEightVy / 2, 0.1},
        {"vx2_start", "x velocity of the second body at time 0", "", -kEightVx / 2, 0.1},
        {"vy2_start", "y velocity of the second body at time 0", "", -kEightVy / 2, 0.1},
        {"vx3_start", "x velocity of the third body at time 0", "", kEightVx, 0.1},
        {"vy3_start", "y velocity of the third body at time 0", "", kEightVy, 0.1}},
       {{"x1", ""},
        {"y1", ""},
        {"x2", ""},
        {"y2", ""},
        {"x3", ""},
        {"y3", ""},
        {"vx1", ""},
        {"vy1", ""},
        {"vx2", ""},
        {"vy2", ""},
        {"vx3", ""},
        {"vy3", ""}},
       20,
       20},
      // The duration is one crossing time as defined by D. Heggie and R. Mathieu. State and reach
      // depend on `bodies`.
      {2.8284271247461903, 0.002, "", false, {}, {}, 0, 0},
  }};
  return all[static_cast<std::size_t>(system)];
}

/// State variables of a system with the given number of bodies.
std::vector<ValueInfo> state_of(System system, int bodies) {
  if (system != System::n_body) return facts(system).state;
  std::vector<ValueInfo> state;
  for (const char* of : {"", "v"})
    for (int body = 1; body <= bodies; ++body)
      for (const char* axis : {"x", "y", "z"})
        state.push_back({of + std::string(axis) + std::to_string(body), ""});
  return state;
}

/// Bounds for the stars of a Plummer sphere before their mean is moved to the origin. The move at
/// most doubles positions and velocities, and it lowers sums of squares.
struct ClusterBounds {
  double kinetic, shallowest, deepest, spin, speed;

  ClusterBounds(int bodies, double softening) {
    const double fastest = PlummerStar::kFastest, reach = PlummerStar::kReach;
    const double pairs = 0.5 * (bodies - 1) / bodies;  // number of pairs times a product of masses
    kinetic = fastest * fastest / 2;
    shallowest = pairs / std::hypot(2 * reach, softening);
    deepest = pairs / softening;
    spin = reach * fastest;
    speed = std::sqrt(2 * bodies * (kinetic + deepest));  // one body has all the available energy
  }
};

/// Latent: change in energy from the start to the end of a trajectory.
LatentInfo energy_error_latent(double most) {
  const auto high = static_cast<float>(1.001 * most);
  return rarely_reached({"energy_error",
                         "(final energy - initial energy) / (kinetic - potential energy at time 0)",
                         "", -high, high});
}

std::vector<LatentInfo> cluster_latents(const Ode::Params& params) {
  const ClusterBounds most(params.bodies, params.softening);
  const auto latent = [](const char* name, const char* help, double low, double high) {
    return rarely_reached(
        {name, help, "", static_cast<float>(1.001 * low), static_cast<float>(1.001 * high)});
  };
  return {latent("energy", "total energy at time 0", -most.deepest, most.kinetic),
          latent("virial_ratio", "kinetic energy over minus potential energy, at time 0", 0,
                 most.kinetic / most.shallowest),
          latent("spin_x", "angular momentum about the centre at time 0, x", -most.spin, most.spin),
          latent("spin_y", "angular momentum about the centre at time 0, y", -most.spin, most.spin),
          latent("spin_z", "angular momentum about the centre at time 0, z", -most.spin, most.spin),
          energy_error_latent(2 * most.deepest / most.shallowest)};
}

/// Bounds for three bodies. With spread = 0 they stay on the figure-eight orbit, far apart.
struct TripleBounds {
  double speed, error;

  explicit TripleBounds(const Ode::Params& params) {
    constexpr double kHeaviest = 1.2, kLightest = 0.8, kFarthest = 2.5, kKinetic = 2;
    const double closest = params.spread == 0 ? std::max(0.1, params.softening) : params.softening;
    const double deepest = 3 * kHeaviest * kHeaviest / closest;
    speed = std::sqrt(2 * (kKinetic + deepest) / kLightest);  // bound: one body has all the energy
    error = 2 * deepest / (3 * kLightest * kLightest / kFarthest);
  }
};

double duration_of(const Ode::Params& params) {
  return params.duration > 0 ? params.duration : facts(params.system).duration;
}
double longest_step(const Ode::Params& params) {
  return params.step > 0 ? params.step : facts(params.system).step;
}

/// Throws a config error if the step is too long for bodies that approach each other.
void check_gravity(const Ode::Params& params) {
  const double step = longest_step(params), softening = params.softening;
  const double mass = params.system == System::n_body ? 1 : kThreeMasses;
  const double longest = std::pow(softening, 1.5) / (kStepsOfSwing * std::sqrt(mass));
  if (step > longest * (1 + 1e-9)) {
    const std::string shorter = softening > 0 ? "step <= " + shortest(longest) + " or " : "";
    const double least =
        std::ceil(1e4 * std::cbrt(mass * kStepsOfSwing * step * kStepsOfSwing * step)) / 1e4;
    fail(
        ErrorKind::config,
        {"ode: step = " + shortest(step) + " is too long for softening = " + shortest(softening),
         "close bodies oscillate at the rate sqrt(" + shortest(mass) +
             " / softening^3); step times this rate must be at most " + shortest(1 / kStepsOfSwing),
         "set " + shorter + "softening >= " + shortest(least)});
  }
}

}  // namespace

const ParamTable<Ode::Params>& Ode::table() {
  constexpr auto kDrawn = [](const Params& p) { return p.system != System::n_body; };
  constexpr auto kBodies = [](const Params& p) {
    return p.system == System::three_bodies || p.system == System::n_body;
  };
  static const auto rows =
      ParamTable<Params>("ode")
          .choice("system", &Params::system,
                  {{"lorenz", System::lorenz},
                   {"double_pendulum", System::double_pendulum},
                   {"lotka_volterra", System::lotka_volterra},
                   {"sir", System::sir},
                   {"three_bodies", System::three_bodies},
                   {"n_body", System::n_body}},
                  "system of equations, with priors for its constants and initial values")
          .integer("points", &Params::points, {1, 1024}, "",
                   "number of points of the trajectory, at equal intervals up to its end")
          .real("duration", &Params::duration, {0, 1e4}, "",
                "duration, in the system's unit of time; 0: the system's default")
          .real("step", &Params::step, {0, 1}, "",
                "longest integration step; intervals are divided into equal steps. 0: the system's "
                "default")
          .real("spread", &Params::spread, {0, 1}, "",
                "width of all priors relative to the defaults; 0: the centres only")
          .only_where(kDrawn, "any system but n_body")
          .real("noise", &Params::noise, {0, 1000}, "",
                "standard deviation of the Gaussian error of each feature")
          .real("softening", &Params::softening, {0, 1}, "",
                "softening length, the distance below which gravity no longer grows; must be large "
                "enough for the step, except for three_bodies with spread: 0")
          .only_where(kBodies, "system: three_bodies or n_body")
          .integer("bodies", &Params::bodies, {2, EqualBodies<float>::kMost}, "",
                   "number of bodies, with equal masses that sum to 1")
          .only_where([](const Params& p) { return p.system == System::n_body; }, "system: n_body")
          .preset("figure_eight", {{"system", "three_bodies"}, {"spread", "0"}, {"softening", "0"}},
                  "three equal masses on one figure-eight orbit (Chenciner and Montgomery, Ann. "
                  "Math. 152 (2000))");
  return rows;
}

SampleLayout Ode::layout() const {
  return SampleLayout::event(points_ * static_cast<int>(state_of(system_, bodies_).size()));
}

SampleInfo Ode::describe(const Params& params) {
  const SystemFacts& system = facts(params.system);
  SampleInfo info;
  info.name = "ode";
  info.version = 2;
  info.summary = "Trajectories of Lorenz, double pendulum, predator-prey, SIR and N-body systems";
  info.reference = "Hairer, Norsett, Wanner 1993, II.1; Hairer, Lubich, Wanner 2006, I.1.4";
  info.classes = {"any"};
  for (const Prior& prior : system.priors) {
    const double reach = params.spread * prior.half_width;
    double low = prior.centre - reach, high = prior.centre + reach;
    if (system.log_normal) {
      low = std::exp(prior.centre - math::kNormalReach * reach) * (1 - 1e-6);
      high = std::exp(prior.centre + math::kNormalReach * reach) * (1 + 1e-6);
    }
    LatentInfo latent = {prior.name, prior.help, prior.unit, static_cast<float>(low),
                         static_cast<float>(high)};
    if (low < high) {
      latent.low = std::nextafter(latent.low, -1e9f);
      latent.high = std::nextafter(latent.high, 1e9f);
    }
    info.latents.push_back(std::move(latent));
    if (system.log_normal) info.latents.back().ends = LatentEnds::rare;
  }
  info.settable_latents = static_cast<int>(info.latents.size());  // 0 for n_body
  double first = system.reach, per_time = system.reach_per_time;
  std::size_t words = system.priors.size();
  if (params.system == System::three_bodies) {
    const TripleBounds most(params);
    info.latents.push_back(energy_error_latent(most.error));
    per_time = std::max(per_time, most.speed);
  }
  if (params.system == System::n_body) {
    info.latents = cluster_latents(params);
    per_time = ClusterBounds(params.bodies, params.softening).speed;
    first = 2 * PlummerStar::kReach + per_time;
    words = static_cast<std::size_t>(4 * PlummerStar::kBlocks * params.bodies);
  }
  const double duration = duration_of(params);
  double digits = 1e4;  // times are rounded to 1 / digits, more finely if points are closer
  while (digits * duration / params.points < 1) digits *= 10;
  const std::vector<ValueInfo> state = state_of(params.system, params.bodies);
  for (int point = 1; point <= params.points; ++point)
    for (const ValueInfo& value : state) {
      const double time = std::round(digits * duration * point / params.points) / digits;
      info.features.push_back({value.name + " at " + shortest(time), value.unit});
    }
  const double reach = first + per_time * duration + math::kNormalReach * params.noise;
  info.high = static_cast<float>(reach);
  info.low = params.system == System::lotka_volterra && params.noise == 0 ? 0 : -info.high;
  const auto blocks = [](std::size_t count) { return static_cast<std::int64_t>((count + 3) / 4); };
  info.draws = {.scene = blocks(words) + (params.noise > 0 ? blocks(info.features.size()) : 0)};
  return info;
}

Ode::Ode(const Params& params)
    : softening2_(static_cast<float>(params.softening * params.softening)),
      bodies_(params.bodies),
      system_(params.system),
      points_(params.points),
      noise_(static_cast<float>(params.noise)) {
  // Explicit methods become unstable with long steps; ten times a system's default is still safe.
  constexpr double kLongest = 10;
  const double own = facts(params.system).step;
  if (params.step > kLongest * own) {
    fail(ErrorKind::config,
         {"ode: step = " + shortest(params.step) + " is too long for this system",
          "its default is " + shortest(own) + "; beyond ten times the default trajectories diverge",
          "set step <= " + shortest(kLongest * own)});
  }
  // With spread = 0, three bodies stay on the figure-eight orbit, far apart.
  const bool three_meet = params.system == System::three_bodies && params.spread > 0;
  if (params.system == System::n_body || three_meet) check_gravity(params);
  const double interval = duration_of(params) / params.points;
  const double steps = std::max(1.0, std::ceil(interval / longest_step(params) * (1 - 1e-9)));
  if (steps * params.points > kMostSteps) {
    fail(ErrorKind::config,
         {"ode: a trajectory of " + shortest(duration_of(params)) + " takes " +
              shortest(steps * params.points) + " steps of " + shortest(longest_step(params)),
          "the maximum is " + std::to_string(kMostSteps),
          "set step >= " + shortest(duration_of(params) / (kMostSteps / 2)) +
              " or a shorter duration"});
  }
  steps_ = static_cast<int>(steps);
  step_ = static_cast<float>(interval / steps);
  const std::vector<Prior>& priors = facts(system_).priors;
  for (std::size_t i = 0; i < priors.size(); ++i) {
    centre_[i] = static_cast<float>(priors[i].centre);
    half_width_[i] = static_cast<float>(params.spread * priors[i].half_width);
  }
}

}  // namespace wellspring
