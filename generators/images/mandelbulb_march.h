// Powers in spherical coordinates, an estimate of the distance to the points whose orbits do not
// escape, and ray marching with this estimate. A host thread marches several rays at once, to fill
// vector units; a device thread marches one. Called by generator `mandelbulb`; host and device.
//
// The Mandelbulb: D. White and P. Nylander, 2009 (skytopia.com/project/fractal/mandelbulb.html);
// its variations: B. N. Chiche, Y. Horikawa, R. Fujita, "Pre-training Vision Models with
// Mandelbulb Variations", CVPR 2024. Marching by a lower bound on the distance, and the estimate:
// J. C. Hart, D. J. Sandin, L. H. Kauffman, "Ray tracing deterministic 3-D fractals", SIGGRAPH
// 1989.
#pragma once

#include "generators/images/solids.h"
#include "kernels/random/math.h"
#include "kernels/runtime/bits.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <cstdint>

namespace wellspring::mandelbulb {

using solids::Vector3;

/// Range of powers, inclusive.
inline constexpr int kLeastPower = 2, kMostPower = 18;
/// Orbits that leave this radius escape, as published.
inline constexpr float kEscape = 4;
/// Unneeded points are moved here, where their orbits end immediately.
inline constexpr float kAway = 8;

/// One power. It maps the point at radius r, azimuth phi and inclination theta to r^power times a
/// vector. Each coordinate of the vector is the sine or cosine of power phi or power theta.
struct Formula {
  std::int32_t power;
  std::int32_t multiplies;  ///< bits of the power below its leading one, from high to low
  std::int32_t bits;        ///< number of these bits
  /// Per coordinate: factors of cos phi, sin phi, cos theta and sin theta; one of them is +-1.
  float x[4], y[4], z[4];

  /// `rule`, below 512, has three bits per coordinate, x in the highest: use the sine, use theta,
  /// negate.
  WS_INLINE static Formula of(std::int32_t power, std::int32_t rule) {
    Formula formula;
    formula.power = power;
    formula.bits = highest_bit(static_cast<std::uint32_t>(power));
    formula.multiplies = power - (1 << formula.bits);
    const auto fill = [](std::int32_t three, float(&shares)[4]) {
      const std::int32_t which = (three & 2) + (three >> 2);
      WS_UNROLL(4)
      for (int i = 0; i < 4; ++i) shares[i] = i == which ? ((three & 1) != 0 ? -1.f : 1.f) : 0.f;
    };
    fill(rule >> 6 & 7, formula.x);
    fill(rule >> 3 & 7, formula.y);
    fill(rule & 7, formula.z);
    return formula;
  }
};

/// The orbit z -> (power of z) + c, starting at z = c, with alternating formulas.
struct Bulb {
  Formula formula[2];
  bool classic;  ///< true: cos phi and sin phi are multiplied by sin theta, which preserves radii
  std::int32_t iterations;
  float pace;  ///< step of a ray as a fraction of the estimate
};

template <int M>
struct Points {
  float x[M], y[M], z[M];
};

/// Closest approach of an orbit to three traps, in the order of the published colours: smallest
/// |z|, taxicab norm times 2/3, and norm of the orbit's points.
template <int M>
struct Traps {
  float level[M], taxicab[M], norm[M];
};

/// Estimated distance from each point to the set; at most 0 inside. The estimate is half of r log r
/// / |dr|, where r is the radius of the escaping orbit and dr its derivative with respect to the
/// point: dr -> power r^(power - 1) dr + 1. It is not a bound: near the axis, azimuths are
/// stretched more than radii.
template <bool kWithTraps, int M>
WS_INLINE void estimate(const Bulb& bulb, const Points<M>& at, float (&distance)[M],
                        Traps<M>& traps) {
  constexpr float kTiny = 1e-18f, kMostGrowth = 1e30f;
  float x[M], y[M], z[M], r[M], growth[M];
  WS_LANES
  for (int i = 0; i < M; ++i) {
    x[i] = at.x[i];
    y[i] = at.y[i];
    z[i] = at.z[i];
    r[i] = math::sqrt(math::fma(x[i], x[i], math::fma(y[i], y[i], z[i] * z[i])));
    growth[i] = 1;
    if constexpr (kWithTraps) traps.level[i] = traps.taxicab[i] = traps.norm[i] = kAway;
  }
  for (std::int32_t iteration = 0; iteration < bulb.iterations; ++iteration) {
    int going = 0;
    WS_LANES_SUM(going)
    for (int i = 0; i < M; ++i) going += r[i] <= kEscape ? 1 : 0;
    if (going == 0) break;
    const Formula& formula = bulb.formula[iteration & 1];
    // Cosines and sines of the angles, then of their multiples, computed as powers of complex
    // numbers.
    float a[M], b[M], c[M], d[M], power[M], inverse[M];
    float a1[M], b1[M], c1[M], d1[M];
    WS_LANES
    for (int i = 0; i < M; ++i) {
      const float rho = math::sqrt(math::fma(x[i], x[i], y[i] * y[i]));
      const float per_rho = 1 / math::max(rho, kTiny);
      inverse[i] = 1 / math::max(r[i], kTiny);
      a[i] = a1[i] = x[i] * per_rho;
      b[i] = b1[i] = y[i] * per_rho;
      c[i] = c1[i] = z[i] * inverse[i];
      d[i] = d1[i] = rho * inverse[i];
      power[i] = r[i];
    }
    for (std::int32_t bit = formula.bits; bit-- > 0;) {
      WS_LANES
      for (int i = 0; i < M; ++i) {
        const float a2 = a[i] + a[i], c2 = c[i] + c[i];
        a[i] = math::fma(a[i], a[i], -(b[i] * b[i]));
        b[i] = a2 * b[i];
        c[i] = math::fma(c[i], c[i], -(d[i] * d[i]));
        d[i] = c2 * d[i];
        power[i] = power[i] * power[i];
      }
      if ((formula.multiplies >> bit & 1) == 0) continue;
      WS_LANES
      for (int i = 0; i < M; ++i) {
        const float am = math::fma(a[i], a1[i], -(b[i] * b1[i]));
        b[i] = math::fma(a[i], b1[i], b[i] * a1[i]);
        a[i] = am;
        const float cm = math::fma(c[i], c1[i], -(d[i] * d1[i]));
        d[i] = math::fma(c[i], d1[i], d[i] * c1[i]);
        c[i] = cm;
        power[i] = power[i] * r[i];
      }
    }
    if (bulb.classic) {
      WS_LANES
      for (int i = 0; i < M; ++i) {
        a[i] = a[i] * d[i];
        b[i] = b[i] * d[i];
      }
    }
    const auto factor = static_cast<float>(formula.power);
    WS_LANES
    for (int i = 0; i < M; ++i) {
      const bool goes = r[i] <= kEscape;
      const auto share = [&](const float(&of)[4]) {
        return math::fma(of[0], a[i], math::fma(of[1], b[i], math::fma(of[2], c[i], of[3] * d[i])));
      };
      const float nx = math::fma(power[i], share(formula.x), at.x[i]);
      const float ny = math::fma(power[i], share(formula.y), at.y[i]);
      const float nz = math::fma(power[i], share(formula.z), at.z[i]);
      const float nr = math::sqrt(math::fma(nx, nx, math::fma(ny, ny, nz * nz)));
      const float slope = factor * (power[i] * inverse[i]);
      const float next = math::min(math::fma(slope, growth[i], 1.f), kMostGrowth);
      x[i] = goes ? nx : x[i];
      y[i] = goes ? ny : y[i];
      z[i] = goes ? nz : z[i];
      r[i] = goes ? nr : r[i];
      growth[i] = goes ? next : growth[i];
      // The traps get the last point of an ended orbit again, which changes nothing.
      if constexpr (kWithTraps) {
        const float level = math::abs(z[i]);
        traps.level[i] = math::min(level, traps.level[i]);
        traps.taxicab[i] =
            math::min((math::abs(x[i]) + math::abs(y[i]) + level) / 1.5f, traps.taxicab[i]);
        traps.norm[i] = math::min(r[i], traps.norm[i]);
      }
    }
  }
  WS_LANES
  for (int i = 0; i < M; ++i) {
    distance[i] = 0.5f * math::log(math::max(r[i], kTiny)) * r[i] / growth[i];
  }
}

template <int M>
WS_INLINE void estimate(const Bulb& bulb, const Points<M>& at, float (&distance)[M]) {
  Traps<M> none;
  estimate<false>(bulb, at, distance, none);
}

/// The points from + t d of rays; d is normalised.
template <int M>
struct Rays {
  Points<M> from, d;
  float t[M], end[M];  ///< start and end of each ray

  WS_INLINE Vector3 at(int i) const {
    return {math::fma(t[i], d.x[i], from.x[i]), math::fma(t[i], d.y[i], from.y[i]),
            math::fma(t[i], d.z[i], from.z[i])};
  }
  /// Points of the `wanted` rays; the others are set to kAway.
  WS_INLINE void points(const int (&wanted)[M], Points<M>& out) const {
    WS_LANES
    for (int i = 0; i < M; ++i) {
      const Vector3 p = at(i);
      out.x[i] = wanted[i] != 0 ? p.x : kAway;
      out.y[i] = wanted[i] != 0 ? p.y : kAway;
      out.z[i] = wanted[i] != 0 ? p.z : kAway;
    }
  }
};

/// Moves the rays with `going` = 1 forward until the estimate is below near + slope
/// t, and then sets `hit`. Rays that are still moving after `steps` steps also count
/// as hits. Afterwards all `going` are 0.
template <int M>
WS_INLINE void march(const Bulb& bulb, Rays<M>& rays, const float (&near)[M], float slope,
                     std::int32_t steps, int (&going)[M], int (&hit)[M]) {
  for (int i = 0; i < M; ++i) hit[i] = 0;
  for (std::int32_t step = 0; step < steps; ++step) {
    int left = 0;
    WS_LANES_SUM(left)
    for (int i = 0; i < M; ++i) left += going[i];
    if (left == 0) return;
    Points<M> at;
    rays.points(going, at);
    float distance[M];
    estimate(bulb, at, distance);
    WS_LANES
    for (int i = 0; i < M; ++i) {
      const float moved = math::fma(bulb.pace, distance[i], rays.t[i]);
      const int reached = distance[i] < math::fma(slope, rays.t[i], near[i]) ? 1 : 0;
      hit[i] = hit[i] | (going[i] & reached);
      rays.t[i] = (going[i] & (1 - reached)) != 0 ? moved : rays.t[i];
      going[i] = going[i] & (1 - reached) & (moved < rays.end[i] ? 1 : 0);
    }
  }
  WS_LANES
  for (int i = 0; i < M; ++i) {
    hit[i] = hit[i] | going[i];
    going[i] = 0;
  }
}

/// Unit direction of the estimate's gradient, computed from its values at the corners of a
/// tetrahedron of half edge `step` around each point.
template <int M>
WS_INLINE void normals(const Bulb& bulb, const Points<M>& at, const float (&step)[M],
                       Points<M>& normal) {
  WS_LANES
  for (int i = 0; i < M; ++i) normal.x[i] = normal.y[i] = normal.z[i] = 0;
#if WS_DEVICE_CODE
#pragma unroll 1
#endif
  for (int corner = 0; corner < 4; ++corner) {
    // (1, -1, -1), (-1, -1, 1), (-1, 1, -1), (1, 1, 1)
    const float kx = corner == 0 || corner == 3 ? 1.f : -1.f;
    const float ky = corner < 2 ? -1.f : 1.f;
    const float kz = (corner & 1) != 0 ? 1.f : -1.f;
    Points<M> moved;
    WS_LANES
    for (int i = 0; i < M; ++i) {
      moved.x[i] = math::fma(kx, step[i], at.x[i]);
      moved.y[i] = math::fma(ky, step[i], at.y[i]);
      moved.z[i] = math::fma(kz, step[i], at.z[i]);
    }
    float distance[M];
    estimate(bulb, moved, distance);
    WS_LANES
    for (int i = 0; i < M; ++i) {
      normal.x[i] = math::fma(kx, distance[i], normal.x[i]);
      normal.y[i] = math::fma(ky, distance[i], normal.y[i]);
      normal.z[i] = math::fma(kz, distance[i], normal.z[i]);
    }
  }
  WS_LANES
  for (int i = 0; i < M; ++i) {
    const Vector3 n = {normal.x[i], normal.y[i], normal.z[i]};
    const float inverse = 1 / math::max(math::sqrt(solids::dot(n, n)), 1e-18f);
    normal.x[i] = n.x * inverse;
    normal.y[i] = n.y * inverse;
    normal.z[i] = n.z * inverse;
  }
}

}  // namespace wellspring::mandelbulb
