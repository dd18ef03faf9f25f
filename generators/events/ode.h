// Generator `ode`: trajectories of small systems of ordinary differential equations, sampled at
// equal intervals; what a network is asked is the parameters, or where a trajectory began.
// Integrated by the fourth-order method of Runge and Kutta, bodies under their gravity by leapfrog,
// with fixed steps. Made through the registry; host and device.
#pragma once

#include "core/params.h"
#include "generators/events/ode_systems.h"
#include "generators/sample_info.h"
#include "kernels/emission/events.h"
#include "kernels/math.h"
#include "kernels/philox.h"

#include <cstdint>
#include <memory>

namespace wellspring {

class Generator;

struct Ode {
  static constexpr int kLatents = 15;  ///< three bodies: masses, places, velocities
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
    double duration = 0;  ///< 0: the system's own
    double step = 0;      ///< 0: the system's own
    double spread = 1;
    double noise = 0;
    double softening = 0.1;
    int bodies = 8;
  };
  static const ParamTable<Params>& table();
  static SampleInfo describe(const Params& params);
  /// Errors (config): more than kMostSteps steps; a step that is too long for the system or for the
  /// softening of n_body, or a spread of n_body.
  explicit Ode(const Params& params);
  /// Where the system is n_body: the generator that has it (n_body.h), otherwise none.
  static std::unique_ptr<Generator> instead(const Params& params, SampleShape shape);
  SampleLayout layout() const;

  /// Longest trajectory, steps: a float's time would be off, and a sample take seconds.
  static constexpr int kMostSteps = 1 << 20;

  template <class Row>
  WS_HD void make(const SampleKey& key, Row& row, Truth<kLatents>& truth) const {
    switch (system_) {
      case System::lorenz: {
        uniform<6>(key.rng, truth);
        OdeState<float, 3> u{{truth.latents[3], truth.latents[4], truth.latents[5]}};
        follow(key.rng, row, u,
               Lorenz<float>{truth.latents[0], truth.latents[1], truth.latents[2]});
        break;
      }
      case System::double_pendulum: {
        uniform<6>(key.rng, truth);
        OdeState<float, 4> u{
            {truth.latents[2], truth.latents[3], truth.latents[4], truth.latents[5]}};
        follow(key.rng, row, u,
               DoublePendulum<float>{truth.latents[0], truth.latents[1], kGravity});
        break;
      }
      case System::lotka_volterra: {
        log_normal<4>(key.rng, truth);
        OdeState<float, 2> u{{30, 1}};
        follow(key.rng, row, u,
               LotkaVolterra<float>{truth.latents[0], truth.latents[1], truth.latents[2],
                                    truth.latents[3]});
        break;
      }
      case System::sir: {
        log_normal<2>(key.rng, truth);
        OdeState<float, 3> u{{1 - kFirstCase, kFirstCase, 0}};
        follow(key.rng, row, u,
               SusceptibleInfectedRemoved<float>{truth.latents[0], truth.latents[1]});
        break;
      }
      case System::three_bodies: {
        uniform<15>(key.rng, truth);
        const ThreeBodies<float> gravity{{truth.latents[0], truth.latents[1], truth.latents[2]},
                                         softening2_};
        OdeState<float, 6> q{}, v{};
        WS_UNROLL(6)
        for (int i = 0; i < 6; ++i) {
          q.v[i] = truth.latents[3 + i];
          v.v[i] = truth.latents[9 + i];
        }
        follow_bodies(key.rng, row, gravity, q, v);
        break;
      }
      case System::n_body:
        break;  // see instead()
    }
    truth.label = 0;
  }

  static constexpr float kGravity = 9.81f;    ///< g / l1 of the pendulum, 1/s^2
  static constexpr float kFirstCase = 1e-6f;  ///< infected at the beginning of sir

 protected:
  /// Normal errors of the features, in their order.
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

  /// Features of a point: the places, then the velocities.
  template <class Row, class State, class Gravity>
  WS_INLINE void follow_bodies(const SampleRng& rng, Row& row, const Gravity& gravity, State& q,
                               State& v) const {
    State a = gravity(q);
    Errors errors{rng, noise_};
    int feature = 0;
    for (int point = 0; point < points_; ++point) {
      for (int step = 0; step < steps_; ++step) leapfrog_step(gravity, step_, q, v, a);
      WS_UNROLL(6)
      for (int i = 0; i < q.used; ++i, ++feature) row.set(feature, q.v[i] + errors.next(feature));
      WS_UNROLL(6)
      for (int i = 0; i < v.used; ++i, ++feature) row.set(feature, v.v[i] + errors.next(feature));
    }
  }

  float softening2_;
  int bodies_;  ///< of n_body

 private:
  /// N latents uniform within half_width_ of centre_, from as many words.
  template <int N>
  WS_INLINE void uniform(const SampleRng& rng, Truth<kLatents>& truth) const {
    Philox4 words{};
    WS_UNROLL(15)
    for (int i = 0; i < N; ++i) {
      if (i % 4 == 0) words = rng.block(Purpose::scene, static_cast<std::uint32_t>(i / 4));
      const float u = 2 * unit_float(words.word[i % 4]) - 1;
      truth.latents[i] = math::fma(half_width_[i], u, centre_[i]);
    }
  }

  /// N latents whose logarithms are normal with mean centre_ and standard deviation half_width_.
  template <int N>
  WS_INLINE void log_normal(const SampleRng& rng, Truth<kLatents>& truth) const {
    const Philox4 words = rng.block(Purpose::scene, 0);
    WS_UNROLL(2)
    for (int i = 0; i < N; i += 2) {
      const math::NormalPair z = math::box_muller(words.word[i], words.word[i + 1]);
      truth.latents[i] = math::exp(math::fma(half_width_[i], z.first, centre_[i]));
      truth.latents[i + 1] = math::exp(math::fma(half_width_[i + 1], z.second, centre_[i + 1]));
    }
  }

  template <class Row, int N, class Rates>
  WS_INLINE void follow(const SampleRng& rng, Row& row, OdeState<float, N>& u,
                        const Rates& rates) const {
    Errors errors{rng, noise_};
    for (int point = 0; point < points_; ++point) {
      for (int step = 0; step < steps_; ++step) rk4_step(rates, step_, u);
      WS_UNROLL(4)
      for (int i = 0; i < N; ++i) {
        const int feature = N * point + i;
        row.set(feature, u.v[i] + errors.next(feature));
      }
    }
  }

  System system_;
  int points_, steps_;  ///< steps between two points
  float step_, noise_;
  float centre_[kLatents] = {}, half_width_[kLatents] = {};
};

}  // namespace wellspring
