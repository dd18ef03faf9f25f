// Generator `ode`: trajectories of small systems of ordinary differential equations, sampled at
// equal intervals; the latents are constants and initial values. Integration uses fixed steps:
// fourth-order Runge-Kutta, or leapfrog for bodies under gravity. Created through the registry;
// host and device.
#pragma once

#include "core/config/params.h"
#include "generators/events/ode_systems.h"
#include "generators/sample_info.h"
#include "kernels/emission/events.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/simd.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace wellspring {

class Generator;
struct GeneratorEntry;
using Generators = std::vector<GeneratorEntry>;

struct Ode {
  static constexpr int kLatents = 16;  ///< three bodies: masses, state at time 0, energy error
  static constexpr forms::Events kForm = {};
  static constexpr GeneratorHooks kHooks = {.instead = true};
  enum class System : std::uint8_t {
    lorenz,
    double_pendulum,
    lotka_volterra,
    sir,
    three_bodies,
    n_body
  };

  struct Params {
    System system = System::lorenz;
    int points = 32;
    double duration = 0;  ///< 0: the system's default
    double step = 0;      ///< 0: the system's default
    double spread = 1;
    double noise = 0;
    double softening = 0.1;
    int bodies = 8;
  };
  static const ParamTable<Params>& table();
  static SampleInfo describe(const Params& params);
  /// Throws config errors for more than kMostSteps steps, a step that is too long for the system or
  /// the gravity softening, and n_body with a spread.
  explicit Ode(const Params& params);
  /// The generator of n_body (n_body.h) if `params` select that system, otherwise null.
  static std::unique_ptr<Generator> instead(const Params& params, SampleShape shape,
                                            const Generators& others);
  SampleLayout layout() const;

  /// Maximum number of steps of a trajectory. With more, float times would be inexact and a sample
  /// would take seconds.
  static constexpr int kMostSteps = 1 << 20;

  template <class Run>
  WS_HD void make(Run& run) const {
    constexpr int N = Run::kEvents;
    switch (system_) {
      case System::lorenz: {
        uniform<6>(run);
        follow(run, latents<0, 3>(run), latents<3, 3>(run), [](const OdeState<float, 3>& c) {
          return Lorenz<float>{c.v[0], c.v[1], c.v[2]};
        });
        break;
      }
      case System::double_pendulum: {
        uniform<6>(run);
        follow(run, latents<0, 2>(run), latents<2, 4>(run), [](const OdeState<float, 2>& c) {
          return DoublePendulum<float>{c.v[0], c.v[1], kGravity};
        });
        break;
      }
      case System::lotka_volterra: {
        log_normal<4>(run);
        LaneStates<2, N> u;
        for (int i = 0; i < N; ++i) u.put(i, {{30, 1}});
        follow(run, latents<0, 4>(run), u, [](const OdeState<float, 4>& c) {
          return LotkaVolterra<float>{c.v[0], c.v[1], c.v[2], c.v[3]};
        });
        break;
      }
      case System::sir: {
        log_normal<2>(run);
        LaneStates<3, N> u;
        for (int i = 0; i < N; ++i) u.put(i, {{1 - kFirstCase, kFirstCase, 0}});
        follow(run, latents<0, 2>(run), u, [](const OdeState<float, 2>& c) {
          return SusceptibleInfectedRemoved<float>{c.v[0], c.v[1]};
        });
        break;
      }
      case System::three_bodies: {
        uniform<15>(run);
        follow_bodies(run, latents<0, 3>(run), latents<3, 6>(run), latents<9, 6>(run));
        break;
      }
      case System::n_body:
        break;  // see instead()
    }
  }

  static constexpr float kGravity = 9.81f;    ///< g / l1 of the pendulum, 1/s^2
  static constexpr float kFirstCase = 1e-6f;  ///< infected fraction at time 0 of sir

 protected:
  /// Gaussian errors of the features, in feature order.
  struct Errors {
    SampleRng rng;
    float sigma;
    Philox4 words = {};
    math::NormalPair pair = {};

    WS_INLINE float next(int feature) {
      if (sigma == 0) return 0;
      if (feature % 4 == 0) {
        words = rng.block(Purpose::noise, static_cast<std::uint32_t>(feature / 4));
        pair = math::box_muller(words.word[0], words.word[1]);
      } else if (feature % 4 == 2) {
        pair = math::box_muller(words.word[2], words.word[3]);
      }
      return sigma * (feature % 2 == 0 ? pair.first : pair.second);
    }
  };

  /// Integrates the trajectories of a run and writes the features of every point: the numbers in
  /// `states`, in order, with their errors. advance() takes one step of all trajectories.
  template <class Run, class Advance, class... States>
  WS_INLINE void record(Run& run, const Advance& advance, const States&... states) const {
    constexpr int N = Run::kEvents;
    Errors errors[N];
    for (int i = 0; i < N; ++i) errors[i] = {run.rng(i), noise_};
    int before = 0;  // number of features already written
    const auto write = [&](const auto& state) {
      for (int i = 0; i < N; ++i) {
        WS_UNROLL(6)
        for (int k = 0; k < state.used; ++k)
          run.row(i).set(before + k, state.v[k][i] + errors[i].next(before + k));
      }
      before += state.used;
    };
    for (int point = 0; point < points_; ++point) {
      for (int step = 0; step < steps_; ++step) advance();
      (write(states), ...);
    }
  }

  float step_, softening2_;
  int bodies_;  ///< n_body only

 private:
  /// Latents First to First + Count - 1 of each event.
  template <int First, int Count, class Run>
  WS_INLINE static LaneStates<Count, Run::kEvents> latents(Run& run) {
    LaneStates<Count, Run::kEvents> values;
    for (int i = 0; i < Run::kEvents; ++i) {
      WS_UNROLL(6)
      for (int k = 0; k < Count; ++k) values.v[k][i] = run.truth(i).latents[First + k];
    }
    return values;
  }

  /// Draws Count latents uniformly within half_width_ of centre_, one word each.
  template <int Count, class Run>
  WS_INLINE void uniform(Run& run) const {
    in_lanes<Run::kEvents>([&](int lane) WS_INLINED {
      const SampleRng rng = run.rng(lane);
      auto truth = run.truth(lane);
      Philox4 words{};
      WS_UNROLL(15)
      for (int i = 0; i < Count; ++i) {
        if (i % 4 == 0) words = rng.block(Purpose::scene, static_cast<std::uint32_t>(i / 4));
        const float u = 2 * unit_float(words.word[i % 4]) - 1;
        truth.latents.draw(i, math::fma(half_width_[i], u, centre_[i]));
      }
    });
  }

  /// Draws Count log-normal latents: their logarithm has mean centre_ and deviation half_width_.
  template <int Count, class Run>
  WS_INLINE void log_normal(Run& run) const {
    in_lanes<Run::kEvents>([&](int lane) WS_INLINED {
      const Philox4 words = run.rng(lane).block(Purpose::scene, 0);
      auto truth = run.truth(lane);
      WS_UNROLL(2)
      for (int i = 0; i < Count; i += 2) {
        const math::NormalPair z = math::box_muller(words.word[i], words.word[i + 1]);
        truth.latents.draw(i, math::exp(math::fma(half_width_[i], z.first, centre_[i])));
        truth.latents.draw(i + 1,
                           math::exp(math::fma(half_width_[i + 1], z.second, centre_[i + 1])));
      }
    });
  }

  /// `rates(c)`: right-hand side of the system for the constants c.
  template <class Run, class Rates, int P, int D>
  WS_INLINE void follow(Run& run, const LaneStates<P, Run::kEvents>& constants,
                        const LaneStates<D, Run::kEvents>& start, const Rates& rates) const {
    LaneStates<D, Run::kEvents> u = start;
    const auto advance = [&] {
      in_lanes<Run::kEvents>([&](int i) WS_INLINED {
        OdeState<float, D> state = u.of(i);
        rk4_step(rates(constants.of(i)), step_, state);
        u.put(i, state);
      });
    };
    record(run, advance, u);
  }

  /// Positions and velocities of three bodies, and the latent `energy_error`.
  template <class Run>
  WS_INLINE void follow_bodies(Run& run, const LaneStates<3, Run::kEvents>& masses,
                               const LaneStates<6, Run::kEvents>& places,
                               const LaneStates<6, Run::kEvents>& velocities) const {
    LaneStates<6, Run::kEvents> q = places, v = velocities;
    const auto gravity = [&](int i) {
      return ThreeBodies<float>{{masses.v[0][i], masses.v[1][i], masses.v[2][i]}, softening2_};
    };
    LaneStates<6, Run::kEvents> a;
    in_lanes<Run::kEvents>([&](int i) WS_INLINED { a.put(i, gravity(i)(q.of(i))); });
    const auto advance = [&] {
      in_lanes<Run::kEvents>([&](int i) WS_INLINED {
        OdeState<float, 6> place = q.of(i), velocity = v.of(i), force = a.of(i);
        leapfrog_step(gravity(i), step_, place, velocity, force);
        q.put(i, place);
        v.put(i, velocity);
        a.put(i, force);
      });
    };
    record(run, advance, q, v);
    for (int i = 0; i < Run::kEvents; ++i) {
      run.truth(i).latents[15] = energy_error(gravity(i).motion(places.of(i), velocities.of(i)),
                                              gravity(i).motion(q.of(i), v.of(i)));
    }
  }

  System system_;
  int points_, steps_;  ///< steps per interval
  float noise_;
  float centre_[kLatents] = {}, half_width_[kLatents] = {};
};

}  // namespace wellspring
