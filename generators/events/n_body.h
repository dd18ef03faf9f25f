// The system n_body of generator `ode`: stars of Plummer's sphere under their gravity. A functor of
// its own, since the state of sixteen bodies takes more registers than all other systems: their
// kernel knows nothing of it. Made by Ode::instead(); host and device.
#pragma once

#include "generators/events/ode.h"
#include "generators/events/ode_systems.h"
#include "generators/events/plummer.h"
#include "kernels/macros.h"

namespace wellspring {

struct NBody : Ode {
  explicit NBody(const Params& params) : Ode(params) {}

  /// Equal masses, 1 together; latents as describe() names them.
  template <class Row>
  WS_HD void make(const SampleKey& key, Row& row, Truth<kLatents>& truth) const {
    const EqualBodies<float> gravity{bodies_, 1 / static_cast<float>(bodies_), softening2_};
    EqualBodies<float>::State q{3 * bodies_, {}}, v = q;
    for (int i = 0; i < bodies_; ++i) {
      const PlummerStar star = plummer_star(key.rng, i);
      WS_UNROLL(3)
      for (int axis = 0; axis < 3; ++axis) {
        q.v[3 * i + axis] = star.place[axis];
        v.v[3 * i + axis] = star.velocity[axis];
      }
    }
    centre(q);
    centre(v);
    const Motion<float> start = gravity.motion(q, v);
    follow_bodies(key.rng, row, gravity, q, v);
    const Motion<float> end = gravity.motion(q, v);
    const float energy = start.kinetic + start.potential;
    truth.label = 0;
    truth.latents[0] = energy;
    truth.latents[1] = -start.kinetic / start.potential;
    WS_UNROLL(3)
    for (int axis = 0; axis < 3; ++axis) truth.latents[2 + axis] = start.spin[axis];
    truth.latents[5] = (end.kinetic + end.potential - energy) / (start.kinetic - start.potential);
  }
};

}  // namespace wellspring
