// Right-hand sides of systems of ordinary differential equations: functors that map a state to its
// rates. Used by generators `sbi` and `ode`; host and device.
#pragma once

#include "generators/events/integrate.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

namespace wellspring {

/// Prey x and predators y: dx/dt = alpha x - beta x y, dy/dt = -gamma y + delta x y. Conserved:
/// delta x - gamma ln x + beta y - alpha ln y (V. Volterra, Nature 118 (1926) 558).
template <class T>
struct LotkaVolterra {
  T alpha, beta, gamma, delta;

  WS_INLINE OdeState<T, 2> operator()(const OdeState<T, 2>& u) const {
    const T x = u.v[0], y = u.v[1];
    return {
        {x * detail::multiply_add(-beta, y, alpha), y * detail::multiply_add(delta, x, -gamma)}};
  }
};

/// Fractions of a population that are susceptible (s), infected (i) and removed (r): ds/dt = -beta
/// s i, di/dt = beta s i - gamma i, dr/dt = gamma i (W. Kermack, A. McKendrick, Proc. R. Soc. A 115
/// (1927) 700). s + i + r and i + s - gamma / beta ln s are conserved.
template <class T>
struct SusceptibleInfectedRemoved {
  T beta, gamma;

  WS_INLINE OdeState<T, 3> operator()(const OdeState<T, 3>& u) const {
    const T infections = beta * u.v[0] * u.v[1], removals = gamma * u.v[1];
    return {{-infections, infections - removals, removals}};
  }
};

/// dx/dt = sigma (y - x), dy/dt = x (rho - z) - y, dz/dt = x y - beta z (E. Lorenz, J. Atmos. Sci.
/// 20 (1963) 130). Phase-space volumes shrink at the rate sigma + 1 + beta.
template <class T>
struct Lorenz {
  T sigma, rho, beta;

  WS_INLINE OdeState<T, 3> operator()(const OdeState<T, 3>& u) const {
    const T x = u.v[0], y = u.v[1], z = u.v[2];
    return {{sigma * (y - x), detail::multiply_add(x, rho - z, -y),
             detail::multiply_add(x, y, -beta * z)}};
  }
};

/// Sine and cosine for DoublePendulum, from kernels/random/math.h.
struct PortableTrigonometry {
  WS_INLINE math::SinCos operator()(float angle) const { return math::sincos(angle); }
};

/// Two point masses on rigid rods, the second hanging from the first. State: angles to the vertical
/// and angular velocities (theta1, theta2, omega1, omega2). mass = m2 / m1, length = l2 / l1,
/// gravity = g / l1 in 1/s^2. Derived from the Lagrange equations (L. Landau, E. Lifshitz,
/// Mechanics, section 5, problem 1). Conserved, in units of m1 l1^2:
///     (1 + mass) omega1^2 / 2 + mass length^2 omega2^2 / 2
///     + mass length omega1 omega2 cos(theta1 - theta2)
///     - gravity ((1 + mass) cos theta1 + mass length cos theta2).
template <class T, class Trigonometry = PortableTrigonometry>
struct DoublePendulum {
  T mass, length, gravity;

  WS_INLINE OdeState<T, 4> operator()(const OdeState<T, 4>& u) const {
    const auto first = Trigonometry{}(u.v[0]), second = Trigonometry{}(u.v[1]);
    const T s1 = first.sine, c1 = first.cosine, s2 = second.sine, c2 = second.cosine;
    const T s = s1 * c2 - c1 * s2, c = c1 * c2 + s1 * s2;  // sine and cosine of theta1 - theta2
    const T square1 = u.v[2] * u.v[2], square2 = length * u.v[3] * u.v[3];
    const T whole = T(1) + mass, share = T(1) / (T(1) + mass * s * s);
    // Torques that the other rod and gravity exert.
    const T pull1 = mass * s * (square2 + c * square1) + gravity * (whole * s1 - mass * c * s2);
    const T pull2 = s * (whole * (square1 + gravity * c1) + mass * c * square2);
    return {{u.v[2], u.v[3], -share * pull1, share * pull2 / length}};
  }
};

/// A set of bodies: kinetic energy, potential energy, and angular momentum about the origin.
template <class T>
struct Motion {
  T kinetic, potential, spin[3];
};

/// Change in energy between two times, divided by kinetic minus potential energy at the first
/// time.
template <class T>
WS_INLINE T energy_error(const Motion<T>& first, const Motion<T>& end) {
  return (end.kinetic + end.potential - (first.kinetic + first.potential)) /
         (first.kinetic - first.potential);
}

/// Three bodies in a plane under mutual gravity, G = 1: accelerations at (x1, y1, x2, y2, x3, y3).
/// The pair potential is softened to stay finite: -m m' / sqrt(r^2 + softening2) (H. Plummer, MNRAS
/// 71 (1911) 460).
template <class T>
struct ThreeBodies {
  T mass[3];
  T softening2;

  WS_INLINE OdeState<T, 6> operator()(const OdeState<T, 6>& q) const {
    OdeState<T, 6> a{};
    WS_UNROLL(3)
    for (int pair = 0; pair < 3; ++pair) {
      const int i = pair == 2 ? 1 : 0, j = pair == 0 ? 1 : 2;
      const T dx = q.v[2 * j] - q.v[2 * i], dy = q.v[2 * j + 1] - q.v[2 * i + 1];
      const T square = dx * dx + dy * dy + softening2;
      const T strength = T(1) / (square * detail::square_root(square));
      a.v[2 * i] += mass[j] * strength * dx;
      a.v[2 * i + 1] += mass[j] * strength * dy;
      a.v[2 * j] -= mass[i] * strength * dx;
      a.v[2 * j + 1] -= mass[i] * strength * dy;
    }
    return a;
  }

  WS_INLINE Motion<T> motion(const OdeState<T, 6>& q, const OdeState<T, 6>& v) const {
    Motion<T> all{};
    WS_UNROLL(3)
    for (int i = 0; i < 3; ++i) {
      const int j = i == 2 ? 0 : i + 1;
      const T dx = q.v[2 * j] - q.v[2 * i], dy = q.v[2 * j + 1] - q.v[2 * i + 1];
      const T vx = v.v[2 * i], vy = v.v[2 * i + 1];
      all.kinetic += T(0.5) * mass[i] * (vx * vx + vy * vy);
      all.potential -= mass[i] * mass[j] / detail::square_root(dx * dx + dy * dy + softening2);
      all.spin[2] += mass[i] * (q.v[2 * i] * vy - q.v[2 * i + 1] * vx);
    }
    return all;
  }
};

/// Equal masses in space under mutual gravity, softened as in ThreeBodies: accelerations at (x1,
/// y1, z1, x2, ...), for N samples that advance in lockstep.
template <class T, int N = 1>
struct EqualBodies {
  static constexpr int kMost = 16;
  using State = SomeStates<T, 3 * kMost, N>;

  int bodies;
  T mass;  ///< mass of each body
  T softening2;

  WS_INLINE State operator()(const State& q) const {
    State a;
    a.used = 3 * bodies;
    for (int k = 0; k < a.used; ++k) {
      for (int lane = 0; lane < N; ++lane) a.v[k][lane] = 0;
    }
    const T own = mass, soft = softening2;  // copies, so that stores cannot alias them
    for (int i = 3; i < a.used; i += 3) {
      for (int j = 0; j < i; j += 3) {
        in_lanes<N>([&](int lane) WS_INLINED {
          const T dx = q.v[j][lane] - q.v[i][lane], dy = q.v[j + 1][lane] - q.v[i + 1][lane],
                  dz = q.v[j + 2][lane] - q.v[i + 2][lane];
          const T square = dx * dx + dy * dy + dz * dz + soft;
          const T strength = own / (square * detail::square_root(square));
          a.v[i][lane] += strength * dx;
          a.v[i + 1][lane] += strength * dy;
          a.v[i + 2][lane] += strength * dz;
          a.v[j][lane] -= strength * dx;
          a.v[j + 1][lane] -= strength * dy;
          a.v[j + 2][lane] -= strength * dz;
        });
      }
    }
    return a;
  }

  WS_INLINE Motion<T> motion(const State& q, const State& v, int lane = 0) const {
    Motion<T> all{};
    for (int i = 0; i < bodies; ++i) {
      const T x = q.v[3 * i][lane], y = q.v[3 * i + 1][lane], z = q.v[3 * i + 2][lane];
      const T vx = v.v[3 * i][lane], vy = v.v[3 * i + 1][lane], vz = v.v[3 * i + 2][lane];
      all.kinetic += T(0.5) * mass * (vx * vx + vy * vy + vz * vz);
      all.spin[0] += mass * (y * vz - z * vy);
      all.spin[1] += mass * (z * vx - x * vz);
      all.spin[2] += mass * (x * vy - y * vx);
      for (int j = 0; j < i; ++j) {
        const T dx = q.v[3 * j][lane] - x, dy = q.v[3 * j + 1][lane] - y,
                dz = q.v[3 * j + 2][lane] - z;
        const T square = dx * dx + dy * dy + dz * dz + softening2;
        all.potential -= mass * mass / detail::square_root(square);
      }
    }
    return all;
  }
};

/// Shifts the mean of the positions (x1, y1, z1, x2, ...) to the origin.
template <class T, int K, int N>
WS_INLINE void centre(SomeStates<T, K, N>& u) {
  for (int lane = 0; lane < N; ++lane) {
    WS_UNROLL(3)
    for (int axis = 0; axis < 3; ++axis) {
      T sum = 0;
      for (int i = axis; i < u.used; i += 3) sum += u.v[i][lane];
      const T mean = sum / static_cast<T>(u.used / 3);
      for (int i = axis; i < u.used; i += 3) u.v[i][lane] -= mean;
    }
  }
}

}  // namespace wellspring
