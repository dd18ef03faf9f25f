// Helices along z: charged particles in a solenoidal field, propagated between surfaces in closed
// form. Used by generator `tracks`; host and device. Uses only + - * / and sqrt in double
// precision, so host and device results are bit-identical; branch-free, for SIMD.
//
// A particle at (x, y, z) moves along the transverse unit vector u. After the transverse arc length
// s it has turned by k s (to the left for k > 0), and z has grown by cot s. With h = tan(k s / 2)
// and tau = 2 h / k, the chord has length tau cos(k s / 2) and makes the angle k s / 2 with u.
// Straight lines are the case k = 0, tau = s.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

namespace wellspring::helix {

/// GeV / (T mm): the radius of curvature is p_T / (kBend B).
inline constexpr double kBend = 0.299792458e-3;

/// Lengths in mm.
struct State {
  double x, y, z;
  double ux, uy;  ///< transverse direction, a unit vector
  double cot;     ///< dz / ds
  double k;       ///< d angle / ds: -charge kBend B / p_T
};

/// Path from a state to a surface.
struct Chord {
  bool reached;         ///< if false, the other members are undefined
  double arc;           ///< transverse length, > 0
  double length;        ///< transverse length of the chord
  double cosine, sine;  ///< cosine and sine of half the turning angle
};

/// arctan(h) / h to within 2^-52: halves the angle three times, then sums a series.
WS_INLINE double arctan_ratio(double h) {
  double ratio = 1;
  WS_UNROLL(3)
  for (int i = 0; i < 3; ++i) {
    const double half = 1 / (1 + math::sqrt(1 + h * h));
    ratio *= 2 * half;
    h *= half;  // at most 1, then 0.42, then 0.20
  }
  const double z = h * h;
  double sum = 0;
  WS_UNROLL(12)
  for (int n = 12; n > 0; --n) sum = (1.0 / (2 * n + 1) - sum) * z;
  return ratio * (1 - sum);
}

/// The path from a point inside the cylinder of radius `r` about z to the first crossing, within
/// half a turn.
WS_INLINE Chord to_cylinder(const State& at, double r) {
  const double along = at.x * at.ux + at.y * at.uy;
  const double across = at.y * at.ux - at.x * at.uy;
  const double gap = r * r - (at.x * at.x + at.y * at.y);
  // Solves a tau^2 + 2 along tau = gap; this form of the root has no cancellation.
  const double a = 1 + at.k * across - 0.25 * at.k * at.k * gap;
  const double square = along * along + a * gap;
  const double divisor = along + math::sqrt(square);  // NaN if the circle stays inside
  const double tau = gap / divisor, h = 0.5 * at.k * tau;
  const double cosine = 1 / math::sqrt(1 + h * h);
  const bool reached = (divisor > 0) & (gap > 0);
  return {reached, tau * arctan_ratio(h), tau * cosine, cosine, h * cosine};
}

/// The path from a point to the plane at `z`, within half a turn.
WS_INLINE Chord to_plane(const State& at, double z) {
  constexpr double kPi = 0x1.921fb54442d18p+1;
  const double height = z - at.z;
  const double arc = height / at.cot, half = 0.5 * at.k * arc;
  const bool reached = (height * at.cot > 0) & (2 * half < kPi) & (2 * half > -kPi);
  // sin(b) / b and cos(b) for b = half / 4 <= pi / 8 by series; then the angle is doubled twice.
  double b = 0.25 * half, sinc = 0, cosine = 0;
  const double square = b * b;
  WS_UNROLL(8)
  for (int n = 8; n > 0; --n) {
    sinc = (1 - sinc) * square * (1.0 / (2 * n * (2 * n + 1)));
    cosine = (1 - cosine) * square * (1.0 / (2 * n * (2 * n - 1)));
  }
  sinc = 1 - sinc;
  cosine = 1 - cosine;
  for (int i = 0; i < 2; ++i) {
    const double sine = b * sinc;
    sinc *= cosine;
    cosine = 1 - 2 * sine * sine;
    b *= 2;
  }
  return {reached, arc, arc * sinc, cosine, b * sinc};
}

WS_INLINE State moved(const State& at, const Chord& way) {
  const double cosine = 1 - 2 * way.sine * way.sine, sine = 2 * way.sine * way.cosine;
  State to = at;
  to.x += way.length * (at.ux * way.cosine - at.uy * way.sine);
  to.y += way.length * (at.uy * way.cosine + at.ux * way.sine);
  to.z += way.arc * at.cot;
  to.ux = at.ux * cosine - at.uy * sine;
  to.uy = at.uy * cosine + at.ux * sine;
  return to;
}

/// Sine of the polar angle.
WS_INLINE double sine_to_axis(const State& at) {
  return 1 / math::sqrt(1 + at.cot * at.cot);
}

/// Rotates the direction by arctan(a) to the left in the transverse plane and by arctan(b) away
/// from the z axis. The momentum is unchanged: `bend` is -charge kBend B / p.
WS_INLINE State scattered(const State& at, double bend, double a, double b) {
  const double s = sine_to_axis(at), c = at.cot * s;
  const double forward = s + b * c;
  const double across = math::sqrt(forward * forward + a * a);
  State to = at;
  to.ux = (forward * at.ux - a * at.uy) / across;
  to.uy = (forward * at.uy + a * at.ux) / across;
  to.cot = (c - b * s) / across;
  to.k = bend * math::sqrt(1 + to.cot * to.cot);
  return to;
}

/// Highland's width (radians) of the projected multiple-scattering angle, as given by the Particle
/// Data Group (Phys. Rev. D 110 (2024) 030001, eq. 34.16): 13.6 MeV / (beta c p) sqrt(x / X0) (1 +
/// 0.038 ln(x / (X0 beta^2))). `p` is in GeV, `thickness` is x / X0; the charge is 1.
WS_INLINE float highland(float p, float beta, float thickness) {
  const float logarithm = math::log(thickness / (beta * beta));
  const float factor = math::max(math::fma(0.038f, logarithm, 1.0f), 0.0f);
  const float width = 0.0136f / (beta * p) * math::sqrt(thickness) * factor;
  return thickness > 0 ? width : 0;
}

}  // namespace wellspring::helix
