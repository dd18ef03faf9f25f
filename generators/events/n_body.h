// The system n_body of generator `ode`: a Plummer sphere of stars under their own gravity. It is a
// separate functor, because it needs more registers than all other systems and must not slow down
// their kernel. Created by Ode::instead(); host and device.
#pragma once

#include "generators/events/ode.h"
#include "generators/events/ode_systems.h"
#include "generators/events/plummer.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

namespace wellspring {

struct NBody : Ode {
  static constexpr forms::Events kForm = {.bound = {128, 4}};

  explicit NBody(const Params& params) : Ode(params) {}

  /// Equal masses that add up to 1; Ode::describe() names the latents.
  template <class Run>
  WS_HD void make(Run& run) const {
    constexpr int N = Run::kEvents;
    const EqualBodies<float, N> gravity{bodies_, 1 / static_cast<float>(bodies_), softening2_};
    typename EqualBodies<float, N>::State q, v;
    q.used = v.used = 3 * bodies_;
    for (int i = 0; i < bodies_; ++i) {
      in_lanes<N>([&](int lane) WS_INLINED {
        const PlummerStar star = plummer_star(run.rng(lane), i);
        WS_UNROLL(3)
        for (int axis = 0; axis < 3; ++axis) {
          q.v[3 * i + axis][lane] = star.place[axis];
          v.v[3 * i + axis][lane] = star.velocity[axis];
        }
      });
    }
    centre(q);
    centre(v);
    Motion<float> start[N];
    for (int lane = 0; lane < N; ++lane) start[lane] = gravity.motion(q, v, lane);
    auto a = gravity(q);
    record(
        run, [&] { leapfrog_step(gravity, step_, q, v, a); }, q, v);
    for (int lane = 0; lane < N; ++lane) {
      const Motion<float> first = start[lane];
      auto truth = run.truth(lane);
      truth.latents[0] = first.kinetic + first.potential;
      truth.latents[1] = -first.kinetic / first.potential;
      WS_UNROLL(3)
      for (int axis = 0; axis < 3; ++axis) truth.latents[2 + axis] = first.spin[axis];
      truth.latents[5] = energy_error(first, gravity.motion(q, v, lane));
    }
  }
};

}  // namespace wellspring
