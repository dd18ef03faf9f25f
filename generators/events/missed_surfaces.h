// Surfaces of a tracker that a particle certainly misses, told without following its helix there:
// about half of those that its way comes to. Used by generator `tracks`; host and device.
//
// Ways move away from the axis, so a ring whose outer radius one has come past is missed whenever
// its turn comes; and so is a cylinder whose end one has come past, as long as |z| grows. For ways
// that begin nearer than the first ring, so that none ever lies behind: vertices of `tracks` do.
#pragma once

#include "generators/events/helix.h"
#include "generators/events/tracker.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Whether the squared radius of a way will have grown by more than `slack`, mm^2, when z has by
/// `height`, or that is never. After an arc of s across z it is
///
///     r^2 + 2 (x . u) sin(k s) / k + 2 (1 + k (u x x)) (1 - cos(k s)) / k^2,
///
/// of which the series with two terms are a bound from below where both brackets are positive; it
/// grows for a quarter of a turn at least.
WS_INLINE bool leaves(const helix::State& at, double height, double slack) {
  const double along = at.x * at.ux + at.y * at.uy;
  const double bulge = 1 + at.k * (at.y * at.ux - at.x * at.uy);
  const double arc = height / at.cot, quarter = 1.5 / (at.k < 0 ? -at.k : at.k);
  const double s = arc < quarter ? arc : quarter, q = at.k * at.k * s * s;
  const double grown = (2 * along * (1 - q * (1.0 / 6)) + bulge * s * (1 - q * (1.0 / 12))) * s;
  return along >= 0 && bulge > 0 && s > 0 && grown > slack;
}

/// From a new place: moves on `cylinder` and `disc`, the next ones of the tracker, past those that
/// are missed by more than rounding could change. `r`: the radius there. `side`: 0 for discs at -z,
/// 1 for those at +z, whither the way began.
WS_INLINE void pass_missed(const Tracker& tracker, const helix::State& at, double r, int side,
                           std::int32_t& cylinder, std::int32_t& disc) {
  constexpr double kSlack = 1e-6;  // mm
  const double z = side == 0 ? -at.z : at.z;
  if (side == (at.cot < 0 ? 0 : 1)) {
    while (z > tracker.cylinder[cylinder].high + kSlack) ++cylinder;
  } else {  // scattered back: what was passed for its end may be hit
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
