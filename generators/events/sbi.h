// Generator `sbi`: tasks of the simulation-based inference benchmark. Parameters theta (the
// latents) come from a task's prior, x from its simulator. One functor contains all tasks and
// `task` selects one, so device code compiles once. Created through the registry; host and device.
//
// Priors, simulators and constants: J.-M. Lueckmann, J. Boelts, D. Greenberg, P. Goncalves, J.
// Macke, "Benchmarking simulation-based inference", AISTATS 2021, appendix T, and sbibm.
#pragma once

#include "core/config/params.h"
#include "generators/events/gaussian_map.h"
#include "generators/events/ode_systems.h"
#include "generators/sample_info.h"
#include "generators/table_cache.h"
#include "kernels/emission/events.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/stream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

namespace sbi {

/// Number of parameters of gaussian_linear and gaussian_linear_uniform.
inline constexpr int kGaussian = 10;

/// slcp: number of observations (two numbers each). 20 distractor laws fill x to 100 numbers.
inline constexpr int kSlcpPoints = 4, kDistracted = 100;
inline constexpr int kDistractors = kDistracted - 2 * kSlcpPoints, kComponents = 20;
inline constexpr int kTriangle = kDistractors * (kDistractors + 1) / 2;

/// bernoulli_glm: number of time bins, and length of the filter.
inline constexpr int kBins = 100, kFilter = 9;

/// sir: 17 days between counts; lotka_volterra: 2.1 days between counts.
inline constexpr int kCounts = 10, kTests = 1000;
inline constexpr double kPopulation = 1e6;
inline constexpr int kSirSteps = 170, kPreySteps = 210;     ///< integration steps between counts
inline constexpr float kSirStep = 0.1f, kPreyStep = 0.01f;  ///< days

/// sbibm clamps the populations of lotka_volterra to these limits.
inline constexpr float kFewest = 1e-10f, kMost = 1e4f;

/// The benchmark's random constants, the same in every sample; in order of use. See Tables.
struct Constants {
  const float* stimulus = nullptr;      ///< [kBins]
  const float* centre = nullptr;        ///< [kComponents][kDistractors]
  const float* factor = nullptr;        ///< [kComponents][kTriangle] columns of lower triangles
  const std::int32_t* place = nullptr;  ///< [kDistracted]: position in x of each number
};

/// Draws from the binomial distribution of `n` trials by inversion, counting the less likely
/// outcome. The law is exact up to the 2^-53 steps of `u` in [0, 1) and rounding below 1e-12.
/// Requires n <= 1000: otherwise the first term may underflow.
WS_INLINE int binomial(int n, double p, double u) {
  const bool mirrored = p > 0.5;
  const double q = mirrored ? 1 - p : p, rest = 1 - q;
  double term = 1, power = rest;  // rest^n by repeated squaring
  for (int bits = n; bits > 0; bits >>= 1) {
    if ((bits & 1) != 0) term *= power;
    power *= power;
  }
  const double odds = q / rest;
  double sum = term;
  int k = 0;
  while (u >= sum && k < n) {
    term *= odds * (static_cast<double>(n - k) / static_cast<double>(k + 1));
    ++k;
    sum += term;
  }
  return mirrored ? n - k : k;
}

/// Uniform in [0, 1), a multiple of 2^-53.
WS_INLINE double unit_double(std::uint32_t high, std::uint32_t low) {
  return (static_cast<double>(high >> 5) * 0x1p+26 + static_cast<double>(low >> 6)) * 0x1p-53;
}

}  // namespace sbi

struct Sbi {
  static constexpr int kLatents = 10;    ///< maximum over the tasks
  static constexpr int kFeatures = 100;  ///< maximum over the tasks
  static constexpr forms::Events kForm = {};
  static constexpr GeneratorHooks kHooks = {.tables = true};
  /// RMSE of each parameter of two_moons (docs/generators/algorithms/sbi.md); a test recomputes it.
  static constexpr double kTwoMoonsRmse = 0.41102;
  enum class Task : std::uint8_t {
    gaussian_linear,
    gaussian_linear_uniform,
    gaussian_mixture,
    two_moons,
    slcp,
    slcp_distractors,
    bernoulli_glm,
    bernoulli_glm_raw,
    sir,
    lotka_volterra,
  };

  struct Params {
    Task task = Task::two_moons;
  };
  static const ParamTable<Params>& table();
  static SampleInfo describe(const Params& params);
  explicit Sbi(const Params& params) : task_(params.task) {}
  SampleLayout layout() const;

  /// sbi::Constants, drawn as in sbibm: NumPy's legacy generator with seed 42.
  class Tables {
   public:
    explicit Tables(const Params& params) : task_(params.task) {}
    std::vector<std::string> prepare(TableCache& cache);
    void plan(MemoryPlan& memory);
    void load(Stream& stream);
    void bind(Sbi& functor) const;

   private:
    Task task_;
    std::vector<float> values_;
    std::vector<std::int32_t> places_;
    Planned<float> value_;
    Planned<std::int32_t> place_;
  };

  template <class Run>
  WS_HD void make(Run& run) const {
    switch (task_) {
      case Task::gaussian_linear:
        run.straight([&](int i, auto& row, auto& truth) WS_INLINED {
          const SampleRng rng = run.rng(i);
          GaussianMap{0, kTenthRoot, kTenthRoot}.draw<sbi::kGaussian>(
              [&](unsigned block) { return rng.block(Purpose::scene, block); },
              [&](int k, float drawn) { return truth.latents.draw(k, drawn); },
              [&](int k, const float(&x)[2]) { row.set_features(k, x); });
        });
        break;
      case Task::gaussian_linear_uniform:
        run.straight([&](int i, auto& row, auto& truth)
                         WS_INLINED { gaussian_linear_uniform(run.rng(i), row, truth); });
        break;
      case Task::gaussian_mixture:
        run.straight([&](int i, auto& row, auto& truth)
                         WS_INLINED { gaussian_mixture(run.rng(i), row, truth); });
        break;
      case Task::two_moons: {
        const auto scene = run.blocks(Purpose::scene, 0), noise = run.blocks(Purpose::noise, 0);
        run.straight([&](int i, auto& row, auto& truth)
                         WS_INLINED { two_moons(scene.of(i), noise.of(i), row, truth); });
        break;
      }
      case Task::slcp:
        run.straight([&](int i, auto& row, auto& truth)
                         WS_INLINED { slcp(run.rng(i), row, truth, [](int k) { return k; }); });
        break;
      case Task::slcp_distractors:
        run.each([&](int lane, auto& row, auto& truth) {
          const SampleRng rng = run.rng(lane);
          slcp(rng, row, truth, [this](int i) { return constants_.place[i]; });
          distractors(rng, row);
        });
        break;
      case Task::bernoulli_glm:
      case Task::bernoulli_glm_raw:
        bernoulli_glm(run);
        break;
      case Task::sir:
        sir(run);
        break;
      case Task::lotka_volterra:
        lotka_volterra(run);
        break;
    }
  }

 private:
  static constexpr float kTenthRoot = 0x1.43d136p-2f;  ///< sqrt(0.1): the variance is 0.1

  /// The first or second pair of normal deviates of a block.
  static WS_INLINE math::NormalPair pair_of(const Philox4& block, int which) {
    return which == 0 ? math::box_muller(block.word[0], block.word[1])
                      : math::box_muller(block.word[2], block.word[3]);
  }

  /// theta uniform in (-1, 1), x ~ N(theta, 0.1 I).
  template <class Row, class Truth>
  static WS_INLINE void gaussian_linear_uniform(const SampleRng& rng, Row& row, Truth& truth) {
    Philox4 uniform{}, noise{};
    WS_UNROLL(10)
    for (int i = 0; i < sbi::kGaussian; i += 2) {
      const int word = i % 4;
      if (word == 0) {
        uniform = rng.block(Purpose::scene, static_cast<std::uint32_t>(i / 4));
        noise = rng.block(Purpose::noise, static_cast<std::uint32_t>(i / 4));
      }
      const math::NormalPair error = math::box_muller(noise.word[word], noise.word[word + 1]);
      const float first = truth.latents.draw(i, 2 * unit_float(uniform.word[word]) - 1);
      const float second = truth.latents.draw(i + 1, 2 * unit_float(uniform.word[word + 1]) - 1);
      row.set_features(i, {math::fma(kTenthRoot, error.first, first),
                           math::fma(kTenthRoot, error.second, second)});
    }
  }

  /// theta uniform in (-10, 10), x ~ N(theta, sigma^2 I), where sigma is 1 or 0.1 with equal
  /// probability. Both numbers of a sample share sigma; it is drawn per sample (sbibm before 1.1.0:
  /// per batch).
  template <class Row, class Truth>
  static WS_INLINE void gaussian_mixture(const SampleRng& rng, Row& row, Truth& truth) {
    const Philox4 scene = rng.block(Purpose::scene, 0);
    const math::NormalPair error = pair_of(rng.block(Purpose::noise, 0), 0);
    const float sigma = below(scene.word[2], 2) == 0 ? 1.0f : 0.1f;
    truth.latents.draw(0, math::fma(20, unit_float(scene.word[0]), -10));
    truth.latents.draw(1, math::fma(20, unit_float(scene.word[1]), -10));
    row.set_features(0, {math::fma(sigma, error.first, truth.latents[0]),
                         math::fma(sigma, error.second, truth.latents[1])});
  }

  /// theta uniform in (-1, 1); x is a point on a half circle of radius N(0.1, 0.01^2) about (0.25,
  /// 0), shifted by (-|t1 + t2|, t2 - t1) / sqrt 2.
  template <class Row, class Truth>
  static WS_INLINE void two_moons(const Philox4& scene, const Philox4& noise, Row& row,
                                  Truth& truth) {
    constexpr float kHalfRoot = 0x1.6a09e6p-1f;  // 1 / sqrt 2
    const float t1 = truth.latents.draw(0, 2 * unit_float(scene.word[0]) - 1);
    const float t2 = truth.latents.draw(1, 2 * unit_float(scene.word[1]) - 1);
    const float radius =
        math::fma(0.01f, math::box_muller(noise.word[0], noise.word[1]).first, 0.1f);
    const math::SinCos angle =
        math::sincos_turns(math::fma(0.5f, unit_float(noise.word[2]), -0.25f));
    row.set_features(
        0, {math::fma(-kHalfRoot, math::abs(t1 + t2), math::fma(radius, angle.cosine, 0.25f)),
            math::fma(kHalfRoot, t2 - t1, radius * angle.sine)});
  }

  /// theta uniform in (-3, 3); x consists of four points from N((t1, t2), S) with standard
  /// deviations t3^2 and t4^2 and correlation tanh t5; 1e-6 is added to both variances.
  template <class Row, class Truth, class Place>
  static WS_INLINE void slcp(const SampleRng& rng, Row& row, Truth& truth, const Place& place) {
    constexpr float kAdded = 1e-6f;
    const Philox4 scene = rng.block(Purpose::scene, 0), last = rng.block(Purpose::scene, 1);
    WS_UNROLL(4)
    for (int i = 0; i < 4; ++i) truth.latents.draw(i, math::fma(6, unit_float(scene.word[i]), -3));
    truth.latents.draw(4, math::fma(6, unit_float(last.word[0]), -3));
    const float s1 = truth.latents[2] * truth.latents[2], s2 = truth.latents[3] * truth.latents[3];
    // Computes r = tanh t and 1 - r^2 without cancellation near |r| = 1, from e = exp(-2 |t|).
    const float e = math::exp(-2 * math::abs(truth.latents[4])), sum = 1 + e;
    const float magnitude = (1 - e) / sum;
    const float r = truth.latents[4] < 0 ? -magnitude : magnitude;
    const float uncorrelated = 4 * e / (sum * sum);
    // Cholesky factor of S; l22^2 is the part of s2^2 not explained by the first coordinate.
    const float variance = math::fma(s1, s1, kAdded);
    const float l11 = math::sqrt(variance), l21 = r * s1 * s2 / l11;
    const float share = math::fma(s1 * s1, uncorrelated, kAdded) / variance;
    const float l22 = math::sqrt(math::fma(s2 * s2, share, kAdded));
    Philox4 noise{};
    WS_UNROLL(4)
    for (int i = 0; i < sbi::kSlcpPoints; ++i) {
      if (i % 2 == 0) noise = rng.block(Purpose::noise, static_cast<std::uint32_t>(i / 2));
      const math::NormalPair z = math::box_muller(noise.word[i % 2 * 2], noise.word[i % 2 * 2 + 1]);
      row.set(place(2 * i), math::fma(l11, z.first, truth.latents[0]));
      row.set(place(2 * i + 1),
              math::fma(l22, z.second, math::fma(l21, z.first, truth.latents[1])));
    }
  }

  /// Draws from one of 20 Student t distributions with two degrees of freedom in 92
  /// dimensions: N(0, I) times the component's factor, divided by the root of chi^2_2 / 2 (an
  /// exponential deviate), plus its centre.
  template <class Row>
  WS_INLINE void distractors(const SampleRng& rng, Row& row) const {
    const Philox4 first = rng.block(Purpose::texture, 0);
    const auto component = static_cast<int>(below(first.word[0], sbi::kComponents));
    // In the open interval (0, 1): 2^23 values, each represented exactly.
    const float u =
        (static_cast<float>(static_cast<std::int32_t>(first.word[1] >> 9)) + 0.5f) * 0x1p-23f;
    const float spread = 1 / math::sqrt(-math::log(u));
    float sum[sbi::kDistractors] = {};
    const float* column = constants_.factor + component * sbi::kTriangle;
    Philox4 words{};
    math::NormalPair z{};
    for (int k = 0; k < sbi::kDistractors; ++k) {
      if (k % 4 == 0) {
        words = rng.block(Purpose::texture, static_cast<std::uint32_t>(1 + k / 4));
        z = pair_of(words, 0);
      } else if (k % 4 == 2) {
        z = pair_of(words, 1);
      }
      const float value = k % 2 == 0 ? z.first : z.second;
      const int length = sbi::kDistractors - k;
      float* const to = sum + k;
      WS_LANES
      for (int j = 0; j < length; ++j) to[j] = math::fma(column[j], value, to[j]);
      column += length;
    }
    const float* const centre = constants_.centre + component * sbi::kDistractors;
    for (int j = 0; j < sbi::kDistractors; ++j)
      row.set(constants_.place[2 * sbi::kSlcpPoints + j], math::fma(spread, sum[j], centre[j]));
  }

  /// A neuron that fires in each of 100 time bins with probability sigmoid(b + f . stimulus of this
  /// and the eight previous bins). b ~ N(0, 2); the second differences of f are normal.
  template <class Run>
  WS_INLINE void bernoulli_glm(Run& run) const {
    constexpr int N = Run::kEvents, kThetas = 1 + sbi::kFilter;
    const bool raw = task_ == Task::bernoulli_glm_raw;
    in_lanes<N>([&](int i) WS_INLINED {
      auto truth = run.truth(i);
      glm_parameters(run.rng(i), truth);
    });
    float theta[kThetas][N], statistic[kThetas][N] = {}, fired[4][N];
    for (int k = 0; k < kThetas; ++k) {
      for (int i = 0; i < N; ++i) theta[k][i] = run.truth(i).latents[k];
    }
    float seen[sbi::kFilter] = {};
    for (int block = 0; block < sbi::kBins / 4; ++block) {
      const auto noise = run.blocks(Purpose::noise, static_cast<std::uint32_t>(block));
      in_lanes<N>([&](int i) WS_INLINED {
        WS_UNROLL(4)
        for (int word = 0; word < 4; ++word) fired[word][i] = unit_float(noise.word[word][i]);
      });
      WS_UNROLL(4)
      for (int word = 0; word < 4; ++word) {
        const int bin = 4 * block + word;
        WS_UNROLL(8)
        for (int j = sbi::kFilter - 1; j > 0; --j) seen[j] = seen[j - 1];
        seen[0] = constants_.stimulus[bin];
        in_lanes<N>([&](int i) WS_INLINED {
          float psi = theta[0][i];
          WS_UNROLL(9)
          for (int j = 0; j < sbi::kFilter; ++j) psi = math::fma(theta[1 + j][i], seen[j], psi);
          const float fires = fired[word][i] < 1 / (1 + math::exp(-psi)) ? 1.0f : 0.0f;
          fired[word][i] = fires;
          statistic[0][i] += fires;
          WS_UNROLL(9)
          for (int j = 0; j < sbi::kFilter; ++j) statistic[1 + j][i] += fires * seen[j];
        });
      }
      for (int i = 0; raw && i < N; ++i) {
        run.row(i).set_features(4 * block, {fired[0][i], fired[1][i], fired[2][i], fired[3][i]});
      }
    }
    for (int i = 0; !raw && i < N; ++i) {
      float x[kThetas];
      WS_UNROLL(10)
      for (int k = 0; k < kThetas; ++k) x[k] = statistic[k][i];
      run.row(i).set_features(0, x);
    }
  }

  /// Draws the parameters of bernoulli_glm.
  template <class Truth>
  static WS_INLINE void glm_parameters(const SampleRng& rng, Truth& truth) {
    constexpr float kRootTwo = 0x1.6a09e6p+0f;
    // Solves F f = z, where F has 1 + sqrt(i / 9) on the diagonal and -2 and 1 below it, so
    // the precision matrix of f is F^T F.
    constexpr float kPivot[sbi::kFilter] = {1.0f,           0x1.555556p+0f, 0x1.78adf8p+0f,
                                            0x1.93cd3ap+0f, 0x1.aaaaaap+0f, 0x1.becfa6p+0f,
                                            0x1.d105ecp+0f, 0x1.e1c552p+0f, 0x1.f15beep+0f};
    float theta[1 + sbi::kFilter] = {};
    Philox4 scene{};
    WS_UNROLL(5)
    for (int i = 0; i < 1 + sbi::kFilter; i += 2) {
      if (i % 4 == 0) scene = rng.block(Purpose::scene, static_cast<std::uint32_t>(i / 4));
      const math::NormalPair z = math::box_muller(scene.word[i % 4], scene.word[i % 4 + 1]);
      theta[i] = z.first;
      theta[i + 1] = z.second;
    }
    theta[0] *= kRootTwo;
    WS_UNROLL(9)
    for (int i = 0; i < sbi::kFilter; ++i) {
      float value = theta[1 + i];
      if (i > 0) value = math::fma(2, theta[i], value);
      if (i > 1) value -= theta[i - 1];
      theta[1 + i] = value / kPivot[i];
    }
    WS_UNROLL(10)
    for (int i = 0; i < 1 + sbi::kFilter; ++i) truth.latents.draw(i, theta[i]);
  }

  /// An epidemic that starts with one infected person per million. Every 17 days, 1000 people are
  /// tested; the number of positives is binomial with the infected fraction.
  template <class Run>
  static WS_INLINE void sir(Run& run) {
    constexpr int N = Run::kEvents;
    constexpr float kFirst = static_cast<float>(1 / sbi::kPopulation);
    LaneStates<2, N> rates;
    LaneStates<3, N> u;
    in_lanes<N>([&](int i) WS_INLINED {
      const math::NormalPair z = pair_of(run.rng(i).block(Purpose::scene, 0), 0);
      const auto latents = run.truth(i).latents;
      rates.put(i, {{latents.draw(0, 0.4f * math::exp(0.5f * z.first)),
                     latents.draw(1, 0.125f * math::exp(0.2f * z.second))}});
      u.put(i, {{1 - kFirst, kFirst, 0}});
    });
    Philox4 noise[N] = {};
    for (int k = 0; k < sbi::kCounts; ++k) {
      for (int step = 0; k > 0 && step < sbi::kSirSteps; ++step) {
        in_lanes<N>([&](int i) WS_INLINED {
          OdeState<float, 3> state = u.of(i);
          rk4_step(SusceptibleInfectedRemoved<float>{rates.v[0][i], rates.v[1][i]}, sbi::kSirStep,
                   state);
          u.put(i, state);
        });
      }
      for (int i = 0; i < N; ++i) {
        if (k % 2 == 0)
          noise[i] = run.rng(i).block(Purpose::noise, static_cast<std::uint32_t>(k / 2));
        const double uniform = k % 2 == 0 ? sbi::unit_double(noise[i].word[0], noise[i].word[1])
                                          : sbi::unit_double(noise[i].word[2], noise[i].word[3]);
        const float share = math::clamp(u.v[1][i], 0, 1);
        run.row(i).set(k, static_cast<float>(sbi::binomial(sbi::kTests, share, uniform)));
      }
    }
  }

  /// Starts with 30 prey and one predator. Both are counted every 2.1 days
  /// with log-normal errors of width 0.1.
  template <class Run>
  static WS_INLINE void lotka_volterra(Run& run) {
    constexpr int N = Run::kEvents;
    LaneStates<4, N> rates;
    LaneStates<2, N> u;
    in_lanes<N>([&](int i) WS_INLINED {
      const Philox4 scene = run.rng(i).block(Purpose::scene, 0);
      const math::NormalPair first = math::box_muller(scene.word[0], scene.word[1]);
      const math::NormalPair second = math::box_muller(scene.word[2], scene.word[3]);
      const auto latents = run.truth(i).latents;
      rates.put(i, {{latents.draw(0, math::exp(math::fma(0.5f, first.first, -0.125f))),
                     latents.draw(1, math::exp(math::fma(0.5f, first.second, -3))),
                     latents.draw(2, math::exp(math::fma(0.5f, second.first, -0.125f))),
                     latents.draw(3, math::exp(math::fma(0.5f, second.second, -3)))}});
      u.put(i, {{30, 1}});
    });
    float prey[N], predators[N];
    LaneStates<4, N> errors;  // normal deviates for two counts of both populations
    for (int k = 0; k < sbi::kCounts; ++k) {
      for (int step = 0; k > 0 && step < sbi::kPreySteps; ++step) {
        in_lanes<N>([&](int i) WS_INLINED {
          OdeState<float, 2> state = u.of(i);
          rk4_step(LotkaVolterra<float>{rates.v[0][i], rates.v[1][i], rates.v[2][i], rates.v[3][i]},
                   sbi::kPreyStep, state);
          u.put(i, state);
        });
      }
      if (k % 2 == 0) {
        in_lanes<N>([&](int i) WS_INLINED {
          const Philox4 noise = run.rng(i).block(Purpose::noise, static_cast<std::uint32_t>(k / 2));
          const math::NormalPair first = pair_of(noise, 0), second = pair_of(noise, 1);
          errors.put(i, {{first.first, first.second, second.first, second.second}});
        });
      }
      in_lanes<N>([&](int i) WS_INLINED {
        const OdeState<float, 4> error = errors.of(i);
        const float of_prey = k % 2 == 0 ? error.v[0] : error.v[2];
        const float of_predators = k % 2 == 0 ? error.v[1] : error.v[3];
        prey[i] = math::clamp(u.v[0][i], sbi::kFewest, sbi::kMost) * math::exp(0.1f * of_prey);
        predators[i] =
            math::clamp(u.v[1][i], sbi::kFewest, sbi::kMost) * math::exp(0.1f * of_predators);
      });
      for (int i = 0; i < N; ++i) {
        run.row(i).set(k, prey[i]);
        run.row(i).set(sbi::kCounts + k, predators[i]);
      }
    }
  }

  Task task_;
  sbi::Constants constants_;
};

}  // namespace wellspring
