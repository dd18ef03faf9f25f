// Propagates N charged particles of one event through a tracking detector in SIMD lanes, from
// surface to surface, with measurements and multiple scattering. Used by generator `tracks`; host
// and device.
//
// Each step takes every lane to its own next surface; finished lanes wait. Scalar code chooses the
// surfaces and tests whether they are crossed.
#pragma once

#include "generators/events/helix.h"
#include "generators/events/missed_surfaces.h"
#include "generators/events/tracker.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/random/philox_run.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <cstdint>

namespace wellspring {

inline constexpr int kTrackerSurfaces = kMostCylinders + kMostDiscs;

/// Settings common to all particles.
struct TrackLaws {
  double field;     ///< T
  double per_unit;  ///< hit length units per mm
  float mass;       ///< GeV
  float efficiency;
  bool scatters;
};

/// State at production; lengths in mm, momenta in GeV.
struct TrackParticle {
  float pt, eta, charge;
  float cosine, sine;  ///< cosine and sine of the azimuth
  float sinh_eta, p;
  float x, y, z;
};

template <int N>
struct TrackParticles {
  alignas(N * sizeof(float)) float pt[N], eta[N], charge[N], cosine[N], sine[N], sinh_eta[N], p[N],
      x[N], y[N], z[N];

  WS_INLINE TrackParticle of(int i) const {
    return {pt[i], eta[i], charge[i], cosine[i], sine[i], sinh_eta[i], p[i], x[i], y[i], z[i]};
  }
  WS_INLINE void put(int i, const TrackParticle& from) {
    pt[i] = from.pt;
    eta[i] = from.eta;
    charge[i] = from.charge;
    cosine[i] = from.cosine;
    sine[i] = from.sine;
    sinh_eta[i] = from.sinh_eta;
    p[i] = from.p;
    x[i] = from.x;
    y[i] = from.y;
    z[i] = from.z;
  }
};

/// A measurement and the true crossing, with lengths in the unit of the features.
struct TrackHit {
  float x, y, z;
  float true_x, true_y, true_z;
  float px, py, pz;
  std::int32_t volume, layer;
};

template <int N>
struct TrackHits {
  alignas(N * sizeof(float)) float x[N], y[N], z[N], true_x[N], true_y[N], true_z[N], px[N], py[N],
      pz[N];

  WS_INLINE void put(int i, const TrackHit& from) {
    x[i] = from.x;
    y[i] = from.y;
    z[i] = from.z;
    true_x[i] = from.true_x;
    true_y[i] = from.true_y;
    true_z[i] = from.true_z;
    px[i] = from.px;
    py[i] = from.py;
    pz[i] = from.pz;
  }
  WS_INLINE TrackHit of(int i, std::int32_t volume, std::int32_t layer) const {
    return {x[i], y[i], z[i], true_x[i], true_y[i], true_z[i], px[i], py[i], pz[i], volume, layer};
  }
};

/// States of N particles.
template <int N>
struct HelixStates {
  alignas(N * sizeof(double)) double x[N], y[N], z[N], ux[N], uy[N], cot[N], k[N];

  WS_INLINE helix::State of(int i) const { return {x[i], y[i], z[i], ux[i], uy[i], cot[i], k[i]}; }
  WS_INLINE void put(int i, const helix::State& from) {
    x[i] = from.x;
    y[i] = from.y;
    z[i] = from.z;
    ux[i] = from.ux;
    uy[i] = from.uy;
    cot[i] = from.cot;
    k[i] = from.k;
  }
};

/// Particles [first, min(first + N, past)) of an event. Call follow() once.
template <int N>
class TrackWays {
 public:
  WS_INLINE TrackWays(const TrackLaws& laws, const Tracker& tracker, const SampleRng& rng,
                      const TrackParticles<N>& particles, int first, int past)
      : laws_(laws), tracker_(tracker), rng_(rng), first_(first) {
    in_lanes<N>([&](int i) WS_INLINED {
      const TrackParticle from = particles.of(i);
      const double x = double{from.cosine}, y = double{from.sine};
      const double norm = math::sqrt(x * x + y * y), cot = double{from.sinh_eta};
      bend_[i] = -double{from.charge} * helix::kBend * laws.field / double{from.p};
      const double k = bend_[i] * math::sqrt(1 + cot * cot);
      at_.put(i, {from.x, from.y, from.z, x / norm, y / norm, cot, k});
      p_[i] = from.p;
      const float mass = laws.mass / from.p;
      beta_[i] = 1 / math::sqrt(math::fma(mass, mass, 1));
      r_[i] = 0;  // slightly too small, so that no surface is skipped by mistake
      side_[i] = cot < 0 ? 0 : 1;
      going_[i] = first + i < past ? 1 : 0;
      cylinder_[i] = disc_[i] = 0;
      crosses_[i] = 1;
    });
  }

  /// Calls `take(lane, hit)` for each hit. A particle's hits come in order.
  template <class Take>
  WS_INLINE void follow(const Take& take) {
    while (true) {
      Step step;
      if (!look_ahead(step)) return;
      move(step);
      if (!cross(step)) continue;
      measure(step, take);
      if (laws_.scatters) scatter(step);
    }
  }

 private:
  /// The next surfaces and their crossing.
  struct Step {
    alignas(N * sizeof(double)) double radius[N], plane[N];  ///< next surfaces
    HelixStates<N> there;
    alignas(N * sizeof(double)) double outwards[N];
    alignas(N * sizeof(float)) std::int32_t at_cylinder[N], measures[N] = {};
    alignas(N * sizeof(float)) std::int32_t volume[N] = {}, layer[N] = {};
    alignas(N * sizeof(float)) std::uint32_t kick[N] = {}, measurement[N] = {};  ///< random blocks
    alignas(N * sizeof(float)) float thickness[N] = {}, along[N] = {}, across[N] = {};
  };

  WS_INLINE static bool any(const std::int32_t (&lanes)[N]) {
    std::int32_t found = 0;
    for (int i = 0; i < N; ++i) found |= lanes[i];
    return found != 0;
  }

  /// Finds the next surfaces that may be hit; false if no particle continues.
  WS_INLINE bool look_ahead(Step& step) {
    for (int i = 0; i < N; ++i) {
      step.radius[i] = step.plane[i] = 0;
      if (going_[i] == 0) continue;
      if (crosses_[i] != 0)
        pass_missed(tracker_, at_.of(i), r_[i], side_[i], cylinder_[i], disc_[i]);
      going_[i] = cylinder_[i] < tracker_.cylinders || disc_[i] < tracker_.discs ? 1 : 0;
      step.radius[i] = tracker_.cylinder[cylinder_[i]].place;
      step.plane[i] = (side_[i] == 0 ? -1 : 1) * tracker_.disc[disc_[i]].place;
    }
    return any(going_);
  }

  /// Moves to the surface that is reached first.
  WS_INLINE void move(Step& step) {
    in_lanes<N>([&](int i) WS_INLINED {
      const helix::State at = at_.of(i);
      const helix::Chord out = helix::to_cylinder(at, step.radius[i]);
      const helix::Chord along = helix::to_plane(at, step.plane[i]);
      const bool is_out = out.reached & !(along.reached & (along.arc < out.arc));
      const helix::State to = helix::moved(at, is_out ? out : along);
      step.there.put(i, to);
      r_[i] = math::sqrt(to.x * to.x + to.y * to.y);
      step.outwards[i] = (to.x * to.ux + to.y * to.uy) / r_[i];
      step.at_cylinder[i] = is_out ? 1 : 0;
      going_[i] = (out.reached | along.reached) & (step.outwards[i] > 0) ? going_[i] : 0;
    });
  }

  /// Tests whether the surface is crossed; false if no particle crosses one.
  WS_INLINE bool cross(Step& step) {
    for (int i = 0; i < N; ++i) {
      crosses_[i] = 0;
      if (going_[i] == 0) continue;
      const bool is_out = step.at_cylinder[i] != 0;
      const TrackerSurface& surface =
          is_out ? tracker_.cylinder[cylinder_[i]] : tracker_.disc[disc_[i]];
      const int number = is_out ? cylinder_[i] : kMostCylinders + disc_[i];
      ++(is_out ? cylinder_[i] : disc_[i]);
      const double z = step.there.z[i], reach = is_out ? (z < 0 ? -z : z) : r_[i];
      if (reach < surface.low || reach > surface.high) continue;
      // Rings at the same z are consecutive.
      while (!is_out && tracker_.disc[disc_[i]].place == surface.place) ++disc_[i];
      crosses_[i] = 1;
      step.kick[i] = static_cast<std::uint32_t>(2 * (kTrackerSurfaces * (first_ + i) + number));
      step.measurement[i] = step.kick[i] + 1;
      step.volume[i] = surface.volume[side_[i]];
      step.layer[i] = surface.layer[side_[i]];
      step.measures[i] = step.volume[i] != 0 ? 1 : 0;
      step.thickness[i] = surface.thickness;
      step.along[i] = surface.along;
      step.across[i] = surface.across;
    }
    return any(crosses_);
  }

  template <class Take>
  WS_INLINE void measure(Step& step, const Take& take) {
    const auto random = wanted_blocks<N>(rng_, Purpose::noise, step.measurement, step.measures);
    TrackHits<N> hits;
    in_lanes<N>([&](int i) WS_INLINED {
      const math::NormalPair error = math::box_muller(random.word[0][i], random.word[1][i]);
      at_.put(i, crosses_[i] != 0 ? step.there.of(i) : at_.of(i));
      hits.put(i, measured(i, step.at_cylinder[i] != 0, double{step.along[i] * error.first},
                           double{step.across[i] * error.second}));
      step.measures[i] = unit_float(random.word[2][i]) < laws_.efficiency ? step.measures[i] : 0;
    });
    for (int i = 0; i < N; ++i) {
      if (step.measures[i] != 0) take(i, hits.of(i, step.volume[i], step.layer[i]));
    }
  }

  /// The crossing, displaced by `along` in r phi and by `across` along the axis or the radius.
  WS_INLINE TrackHit measured(int i, bool is_out, double along, double across) const {
    const helix::State at = at_.of(i);
    const double turn = along / r_[i];
    // On a cylinder, moves along the tangent, then projects back radially.
    const double norm = is_out ? math::sqrt(1 + turn * turn) : 1;
    const double stretch = is_out ? 1 : 1 + across / r_[i];
    TrackHit hit{};
    hit.x = length((stretch * at.x - turn * at.y) / norm);
    hit.y = length((stretch * at.y + turn * at.x) / norm);
    hit.z = length(is_out ? at.z + across : at.z);
    hit.true_x = length(at.x);
    hit.true_y = length(at.y);
    hit.true_z = length(at.z);
    const double p_across = double{p_[i]} * helix::sine_to_axis(at);
    hit.px = static_cast<float>(p_across * at.ux);
    hit.py = static_cast<float>(p_across * at.uy);
    hit.pz = static_cast<float>(p_across * at.cot);
    return hit;
  }
  WS_INLINE float length(double mm) const { return static_cast<float>(mm * laws_.per_unit); }

  WS_INLINE void scatter(const Step& step) {
    const auto random = wanted_blocks<N>(rng_, Purpose::noise, step.kick, crosses_);
    in_lanes<N>([&](int i) WS_INLINED {
      const math::NormalPair normal = math::box_muller(random.word[0][i], random.word[1][i]);
      const helix::State at = at_.of(i);
      const double s = helix::sine_to_axis(at), c = s * (at.cot < 0 ? -at.cot : at.cot);
      const double cosine = step.at_cylinder[i] != 0 ? s * step.outwards[i] : c;
      const auto thickness = static_cast<float>(double{step.thickness[i]} /
                                                (cosine > kLeastCosine ? cosine : kLeastCosine));
      const float width = helix::highland(p_[i], beta_[i], thickness);
      const helix::State to = helix::scattered(at, bend_[i], double{width * normal.first},
                                               double{width * normal.second});
      at_.put(i, crosses_[i] != 0 ? to : at);
      going_[i] = (crosses_[i] != 0) & !(to.x * to.ux + to.y * to.uy > 0) ? 0 : going_[i];
    });
  }

  /// Limit of the cosine of incidence: grazing particles cross at most 20 times the thickness.
  static constexpr double kLeastCosine = 0.05;

  const TrackLaws& laws_;
  const Tracker& tracker_;
  SampleRng rng_;
  int first_;

  HelixStates<N> at_;
  alignas(N * sizeof(double)) double bend_[N], r_[N];
  alignas(N * sizeof(float)) float p_[N], beta_[N];
  alignas(N * sizeof(float)) std::int32_t side_[N], going_[N], cylinder_[N], disc_[N];
  alignas(N * sizeof(float)) std::int32_t crosses_[N];  ///< 1: crosses this step's surface
};

}  // namespace wellspring
