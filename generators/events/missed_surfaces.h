// Skips tracker surfaces that a particle certainly misses (about half of the candidates) without
// computing its helix there. Used by generator `tracks`; host and device.
//
// Paths move away from the axis, so a particle misses a ring once it is beyond the ring's outer
// radius. It misses a cylinder once it has passed the cylinder's end, as long as |z| grows. Paths
// must start inside the innermost ring, as all vertices of `tracks` do.
#pragma once

#include "generators/events/helix.h"
#include "generators/events/tracker.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// True if the squared radius grows by more than `slack` (mm^2) while z changes by `height`, or if
/// z never changes by `height`. After a transverse arc s the squared radius is
///
///     r^2 + 2 (x . u) sin(k s) / k + 2 (1 + k (u x x)) (1 - cos(k s)) / k^2.
///
/// If both brackets are positive, two-term series are lower bounds and r grows for a quarter turn.
WS_INLINE bool leaves(const helix::State& at, double height, double slack) {
  const double along = at.x * at.ux + at.y * at.uy;
  const double bulge = 1 + at.k * (at.y * at.ux - at.x * at.uy);
  const double arc = height / at.cot, quarter = 1.5 / (at.k < 0 ? -at.k : at.k);
  const double s = arc < quarter ? arc : quarter, q = at.k * at.k * s * s;
  const double grown = (2 * along * (1 - q * (1.0 / 6)) + bulge * s * (1 - q * (1.0 / 12))) * s;
  return along >= 0 && bulge > 0 && s > 0 && grown > slack;
}

/// Advances `cylinder` and `disc`, the indices of the next surfaces, past surfaces that are missed
/// by more than any rounding error. `r`: current radius. `side`: initial direction, 0 for -z, 1
/// for +z.
WS_INLINE void pass_missed(const Tracker& tracker, const helix::State& at, double r, int side,
                           std::int32_t& cylinder, std::int32_t& disc) {
  constexpr double kSlack = 1e-6;  // mm
  const double z = side == 0 ? -at.z : at.z;
  if (side == (at.cot < 0 ? 0 : 1)) {
    while (z > tracker.cylinder[cylinder].high + kSlack) ++cylinder;
  } else {  // scattered backwards: may still hit a cylinder after its end
    while (cylinder > 0 && tracker.cylinder[cylinder - 1].place > r + kSlack) --cylinder;
  }
  while (r > tracker.disc[disc].high + kSlack) ++disc;
  if (cylinder < tracker.cylinders) return;
  while (disc < tracker.discs && r > tracker.disc[disc].high - kSlack) {
    const double plane = tracker.disc[disc].place;
    if (!leaves(at, (side == 0 ? -plane : plane) - at.z, 4 * r * kSlack)) return;
    ++disc;
  }
}

}  // namespace wellspring
