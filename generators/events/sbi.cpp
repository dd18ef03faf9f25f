// Tasks of generator `sbi`: priors, best possible results and the benchmark's constants. Host only.
#include "generators/events/sbi.h"

#include "generators/numpy_random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

namespace wellspring {

namespace {

using Task = Sbi::Task;

// ---- best possible results ----------------------------------------------------------------------

double normal_density(double z) {
  return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
}
double normal_tail(double z) {  // P(Z > z)
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

/// Normal distribution with mean x and standard deviation sigma, truncated to (-bound, bound).
struct Truncated {
  double chance, mean, variance;

  static Truncated at(double x, double sigma, double bound) {
    const double a = (-bound - x) / sigma, b = (bound - x) / sigma;
    const double chance =
        a > 0 ? normal_tail(a) - normal_tail(b) : normal_tail(-b) - normal_tail(-a);
    if (chance < 1e-30) return {0, 0, 0};  // negligible weight
    const double at_a = normal_density(a), at_b = normal_density(b);
    const double shift = (at_a - at_b) / chance;
    return {chance, x + sigma * shift,
            sigma * sigma * (1 + (a * at_a - b * at_b) / chance - shift * shift)};
  }
};

/// Root of the mean posterior variance of theta given x ~ N(theta, 0.1), for theta
/// uniform in (-1, 1). Uses the trapezoidal rule with steps of sigma / 16; its error
/// falls as exp(-2 pi^2 sigma^2 / step^2).
double uniform_rmse() {
  const double sigma = std::sqrt(0.1), step = sigma / 16;
  double sum = 0;
  for (double x = -1 - 9 * sigma; x < 1 + 9 * sigma; x += step) {
    const Truncated posterior = Truncated::at(x, sigma, 1);
    sum += step * posterior.chance / 2 * posterior.variance;  // p(x) = chance / (2 bound)
  }
  return std::sqrt(sum);
}

/// Root of the mean posterior variance for gaussian_mixture. Except near the border, a single x
/// does not reveal which width applies, so the posterior is a truncated mixture of both normals.
double mixture_rmse() {
  constexpr double kBound = 10, kStep = 0.04, kFar = kBound + 7;  // step = sigma / 2.5: error 1e-53
  std::vector<std::array<Truncated, 2>> along;
  for (double x = kStep / 2; x < kFar; x += kStep)  // the other half is its mirror image
    along.push_back({Truncated::at(x, 1, kBound), Truncated::at(x, 0.1, kBound)});
  double sum = 0;
  for (const auto& first : along)
    for (const auto& second : along) {
      const double wide = first[0].chance * second[0].chance;
      const double narrow = first[1].chance * second[1].chance;
      const double whole = wide + narrow;
      if (whole == 0) continue;
      const double apart = first[0].mean - first[1].mean;
      sum += wide * first[0].variance + narrow * first[1].variance +
             wide * narrow / whole * apart * apart;
    }
  // Four quadrants; p(x) = (wide + narrow) / 2 / (2 bound)^2.
  return std::sqrt(4 * kStep * kStep * sum / 2 / (4 * kBound * kBound));
}

std::vector<BestResult> best_results(Task task) {
  std::vector<BestResult> best;
  const auto all = [&](int count, const char* metric, double value) {
    for (int i = 0; i < count; ++i)
      best.push_back({std::string(metric) + " of theta" + std::to_string(i), value});
  };
  if (task == Task::gaussian_linear) {
    const double variance = posterior_variances<1>(0, std::sqrt(0.1), std::sqrt(0.1))[0];
    all(sbi::kGaussian, "rmse", std::sqrt(variance));
    all(sbi::kGaussian, "mae", std::sqrt(2 * variance / std::numbers::pi));
  } else if (task == Task::gaussian_linear_uniform) {
    all(sbi::kGaussian, "rmse", uniform_rmse());
  } else if (task == Task::gaussian_mixture) {
    all(2, "rmse", mixture_rmse());
  } else if (task == Task::two_moons) {
    all(2, "rmse", Sbi::kTwoMoonsRmse);
  }
  return best;
}

// ---- tasks --------------------------------------------------------------------------------------

struct TaskFacts {
  const char* name;
  const char* help;
  int parameters, features;
  double low, high;  ///< bounds of x
  int draws;         ///< number of random blocks
};

/// In the order of Task. Ranges follow from the ranges of theta and of normal deviates, with two
/// exceptions. slcp_distractors has no finite variance; its generous bounds follow from the largest
/// of 2^23 draws and its constants. The bounds of bernoulli_glm follow from the stimulus, whose
/// absolute values add up to 75.
const TaskFacts& facts(Task task) {
  constexpr double kGaussianReach = 0.3163 * math::kNormalReach;
  static const std::array<TaskFacts, 10> all = {{
      {"gaussian_linear", "theta ~ N(0, 0.1 I), x ~ N(theta, 0.1 I)", 10, 10, -2 * kGaussianReach,
       2 * kGaussianReach, 6},
      {"gaussian_linear_uniform", "theta uniform in (-1, 1), x ~ N(theta, 0.1 I)", 10, 10,
       -1 - kGaussianReach, 1 + kGaussianReach, 6},
      {"gaussian_mixture",
       "theta uniform in (-10, 10), x ~ N(theta, sigma^2 I) with sigma 1 or 0.1", 2, 2,
       -10 - math::kNormalReach, 10 + math::kNormalReach, 2},
      {"two_moons", "theta uniform in (-1, 1), x on a half circle", 2, 2, -1.5, 1.6, 2},
      {"slcp",
       "mean, widths and correlation of a normal distribution in the plane, from four points", 5, 8,
       -3 - 9.01 * math::kNormalReach, 3 + 9.01 * math::kNormalReach, 4},
      {"slcp_distractors", "slcp, hidden among 92 distractors", 5, 100, -1e9, 1e9, 28},
      {"bernoulli_glm", "filter of a neuron; x: spike count and spike-weighted stimulus", 10, 10,
       -100, 100, 28},
      {"bernoulli_glm_raw", "filter of a neuron; x: spikes in 100 time bins", 10, 100, 0, 1, 28},
      {"sir", "rates of an epidemic; x: positives in 1000 tests, every 17 days", 2, 10, 0, 1000, 6},
      {"lotka_volterra", "rates of predators and prey; x: both populations, every 2.1 days", 4, 20,
       0, 1e4 * 1.79, 6},
  }};
  return all[static_cast<std::size_t>(task)];
}

std::vector<LatentInfo> parameters_of(Task task) {
  std::vector<LatentInfo> latents;
  const auto add = [&](const std::string& help, double low, double high, const char* unit = "") {
    latents.push_back({"theta" + std::to_string(latents.size()), help, unit,
                       static_cast<float>(low), static_cast<float>(high)});
  };
  const auto add_tailed = [&](const std::string& help, double low, double high,
                              const char* unit = "") {
    add(help, low, high, unit);
    latents.back().ends = LatentEnds::rare;
  };
  const auto log_normal = [&](const char* help, double median, double sigma, const char* unit) {
    add_tailed(help, median * std::exp(-math::kNormalReach * sigma),
               median * std::exp(math::kNormalReach * sigma), unit);
  };
  switch (task) {
    case Task::gaussian_linear:
      for (int i = 0; i < sbi::kGaussian; ++i)
        add_tailed("normal, variance 0.1", -0.3163 * math::kNormalReach,
                   0.3163 * math::kNormalReach);
      break;
    case Task::gaussian_linear_uniform:
      for (int i = 0; i < sbi::kGaussian; ++i) add("uniform; mean of x", -1, 1);
      break;
    case Task::gaussian_mixture:
      for (int i = 0; i < 2; ++i) add("uniform; mean of x", -10, 10);
      break;
    case Task::two_moons:
      for (int i = 0; i < 2; ++i) add("uniform", -1, 1);
      break;
    case Task::slcp:
    case Task::slcp_distractors:
      add("uniform; mean of the first coordinate", -3, 3);
      add("uniform; mean of the second coordinate", -3, 3);
      add("uniform; its square is the first standard deviation", -3, 3);
      add("uniform; its square is the second standard deviation", -3, 3);
      add("uniform; its hyperbolic tangent is the correlation", -3, 3);
      break;
    case Task::bernoulli_glm:
    case Task::bernoulli_glm_raw: {
      add_tailed("normal, variance 2; bias of the neuron", -1.4143 * math::kNormalReach,
                 1.4143 * math::kNormalReach);
      // F f = z, so the largest absolute value of a filter element follows from the absolute row
      // sum of F^-1.
      std::array<std::array<double, sbi::kFilter>, sbi::kFilter> inverse{};
      for (std::size_t i = 0; i < sbi::kFilter; ++i) {
        double reach = 0;
        for (std::size_t k = 0; k <= i; ++k) {
          const double before = i > 0 ? inverse[i - 1][k] : 0,
                       earlier = i > 1 ? inverse[i - 2][k] : 0;
          inverse[i][k] = ((i == k ? 1 : 0) + 2 * before - earlier) /
                          (1 + std::sqrt(static_cast<double>(i) / sbi::kFilter));
          reach += std::abs(inverse[i][k]);
        }
        add_tailed("smooth prior; weight of the stimulus " + std::to_string(i) + " bins earlier",
                   -reach * math::kNormalReach, reach * math::kNormalReach);
      }
      break;
    }
    case Task::sir:
      log_normal("infection rate, log-normal: median 0.4, sigma 0.5", 0.4, 0.5, "1/day");
      log_normal("recovery rate, log-normal: median 0.125, sigma 0.2", 0.125, 0.2, "1/day");
      break;
    case Task::lotka_volterra:
      log_normal("birth rate of prey, log-normal: median exp(-0.125), sigma 0.5", std::exp(-0.125),
                 0.5, "1/day");
      log_normal("death rate of prey per predator, log-normal: median exp(-3), sigma 0.5",
                 std::exp(-3), 0.5, "1/day");
      log_normal("death rate of predators, log-normal: median exp(-0.125), sigma 0.5",
                 std::exp(-0.125), 0.5, "1/day");
      log_normal("birth rate of predators per prey, log-normal: median exp(-3), sigma 0.5",
                 std::exp(-3), 0.5, "1/day");
      break;
  }
  return latents;
}

// ---- constants of the benchmark -----------------------------------------------------------------

constexpr std::uint32_t kSeed = 42;

std::vector<float> stimulus() {
  NumpyRandom numpy(kSeed);
  std::vector<float> values;
  for (int i = 0; i < sbi::kBins; ++i) values.push_back(static_cast<float>(numpy.normal()));
  return values;
}

/// Centres are 15 z; factors are 3 (lower triangle of z + diagonal of exp(z)). A permutation of x
/// follows.
std::pair<std::vector<float>, std::vector<std::int32_t>> distractor_laws() {
  constexpr auto n = static_cast<std::size_t>(sbi::kDistractors);
  NumpyRandom numpy(kSeed);
  std::vector<float> values;
  for (std::size_t i = 0; i < sbi::kComponents * n; ++i)
    values.push_back(static_cast<float>(15 * numpy.normal()));
  for (int component = 0; component < sbi::kComponents; ++component) {
    std::vector<double> matrix(n * n);
    for (double& element : matrix) element = numpy.normal();
    for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] += std::exp(numpy.normal());
    for (std::size_t column = 0; column < n; ++column)
      for (std::size_t row = column; row < n; ++row)
        values.push_back(static_cast<float>(3 * matrix[row * n + column]));
  }
  // x[i] is number from[i] of the sequence of data and distractors.
  std::vector<std::int32_t> from(sbi::kDistracted), place(sbi::kDistracted);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::int32_t>(i);
  for (std::size_t i = from.size() - 1; i > 0; --i)
    std::swap(from[i], from[static_cast<std::size_t>(numpy.randint(0, static_cast<int>(i) + 1))]);
  for (std::size_t i = 0; i < from.size(); ++i)
    place[static_cast<std::size_t>(from[i])] = static_cast<std::int32_t>(i);
  return {values, place};
}

}  // namespace

// ---- generator ----------------------------------------------------------------------------------

const ParamTable<Sbi::Params>& Sbi::table() {
  static const auto rows = [] {
    std::vector<std::pair<std::string, Task>> tasks;
    for (int i = 0; i <= static_cast<int>(Task::lotka_volterra); ++i)
      tasks.emplace_back(facts(static_cast<Task>(i)).name, static_cast<Task>(i));
    return ParamTable<Params>("sbi").choice("task", &Params::task, tasks, "simulator and prior",
                                            "Lueckmann et al., AISTATS 2021, T.1 to T.10");
  }();
  return rows;
}

SampleLayout Sbi::layout() const {
  return SampleLayout::event(facts(task_).features);
}

SampleInfo Sbi::describe(const Params& params) {
  const TaskFacts& task = facts(params.task);
  SampleInfo info;
  info.name = "sbi";
  info.summary = "Tasks of the simulation-based inference benchmark; latents: theta";
  info.reference = "J.-M. Lueckmann et al., Benchmarking simulation-based inference, AISTATS 2021";
  info.classes = {"any"};
  info.latents = parameters_of(params.task);
  info.settable_latents = static_cast<int>(info.latents.size());
  for (int i = 0; i < task.features; ++i) info.features.push_back({"x" + std::to_string(i), ""});
  info.low = static_cast<float>(task.low);
  info.high = static_cast<float>(task.high);
  info.draws = {.scene = task.draws};
  info.best = best_results(params.task);
  return info;
}

std::vector<std::string> Sbi::Tables::prepare(TableCache&) {
  if (task_ == Task::bernoulli_glm || task_ == Task::bernoulli_glm_raw) {
    values_ = stimulus();
  } else if (task_ == Task::slcp_distractors) {
    std::tie(values_, places_) = distractor_laws();
  }
  return {};
}

void Sbi::Tables::plan(MemoryPlan& memory) {
  if (!values_.empty()) value_ = memory.reserve<float>("sbi", "constants", values_.size());
  if (!places_.empty()) place_ = memory.reserve<std::int32_t>("sbi", "places", places_.size());
}

void Sbi::Tables::load(Stream& stream) {
  if (value_) {
    stream.copy(value_.data(), values_.data(), value_.bytes(), CopyDirection::host_to_device,
                "constants");
  }
  if (place_) {
    stream.copy(place_.data(), places_.data(), place_.bytes(), CopyDirection::host_to_device,
                "places");
  }
  stream.synchronize();
}

void Sbi::Tables::bind(Sbi& functor) const {
  if (place_) {
    functor.constants_.centre = value_.data();
    functor.constants_.factor = value_.data() + sbi::kComponents * sbi::kDistractors;
    functor.constants_.place = place_.data();
  } else {
    functor.constants_.stimulus = value_.data();
  }
}

}  // namespace wellspring
