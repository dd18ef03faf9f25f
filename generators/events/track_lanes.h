// Particles and hits of a tracking detector, N side by side: lane after lane together. Used by
// generator `tracks`; host and device.
#pragma once

#include "generators/events/helix.h"
#include "kernels/macros.h"

#include <cstdint>

namespace wellspring {

/// As it begins. Lengths in mm, momenta in GeV.
struct TrackParticle {
  float pt, eta, charge;
  float cosine, sine;  ///< of the azimuth
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

/// A measurement, and where and how the particle crossed. Lengths in the unit of the features.
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

/// Where particles are.
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

}  // namespace wellspring
