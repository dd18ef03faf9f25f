// Fixed-step integrators for small systems of ordinary differential equations: classical
// fourth-order Runge-Kutta, and leapfrog for forces that depend on positions only. The state stays
// in registers; each device thread or host SIMD lane computes one trajectory. Used with T = float
// by generators `sbi` and `ode`, and with T = double by tests; host and device.
//
// Sources: E. Hairer, S. Norsett, G. Wanner, Solving Ordinary Differential Equations I (1993),
// II.1; E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration (2006), I.1.4.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

namespace wellspring {

/// A point in phase space, or its rate of change.
template <class T, int N>
struct OdeState {
  T v[N];
};

/// K numbers for each of N trajectories that advance in lockstep: v[k][i] is number k of trajectory
/// i.
template <int K, int N>
struct LaneStates {
  static constexpr int used = K;
  alignas(N * sizeof(float)) float v[K][N];

  WS_INLINE OdeState<float, K> of(int i) const {
    OdeState<float, K> u{};
    WS_UNROLL(16)
    for (int k = 0; k < K; ++k) u.v[k] = v[k][i];
    return u;
  }
  WS_INLINE void put(int i, const OdeState<float, K>& u) {
    WS_UNROLL(16)
    for (int k = 0; k < K; ++k) v[k][i] = u.v[k];
  }
};

/// LaneStates with a run-time number of components, at most K. On devices it is placed in local
/// memory, because its loops are not unrolled.
template <class T, int K, int N>
struct SomeStates {
  alignas(N * sizeof(T)) T v[K][N];
  int used;
};

namespace detail {

WS_INLINE float multiply_add(float a, float b, float c) {
  return math::fma(a, b, c);
}
WS_INLINE double multiply_add(double a, double b, double c) {
  return a * b + c;
}

WS_INLINE float square_root(float x) {
  return math::sqrt(x);
}
WS_INLINE double square_root(double x) {
  return __builtin_sqrt(x);
}

/// u + h rate. With float, each component is rounded once.
template <class T, int N>
WS_INLINE OdeState<T, N> moved(const OdeState<T, N>& u, T h, const OdeState<T, N>& rate) {
  OdeState<T, N> result{};
  WS_UNROLL(16)
  for (int i = 0; i < N; ++i) result.v[i] = multiply_add(h, rate.v[i], u.v[i]);
  return result;
}

/// u += h rate. With float, each component is rounded once.
template <class T, int N>
WS_INLINE void move(OdeState<T, N>& u, T h, const OdeState<T, N>& rate) {
  u = moved(u, h, rate);
}
template <class T, int K, int N>
WS_INLINE void move(SomeStates<T, K, N>& u, T h, const SomeStates<T, K, N>& rate) {
  for (int k = 0; k < u.used; ++k) {
    WS_LANES
    for (int i = 0; i < N; ++i) u.v[k][i] = multiply_add(h, rate.v[k][i], u.v[k][i]);
  }
}

}  // namespace detail

/// One step of length h for du/dt = rates(u). The local error is of order h^5.
template <class T, int N, class Rates>
WS_INLINE void rk4_step(const Rates& rates, T h, OdeState<T, N>& u) {
  const T half = h * T(0.5);
  const OdeState<T, N> k1 = rates(u);
  const OdeState<T, N> k2 = rates(detail::moved(u, half, k1));
  const OdeState<T, N> k3 = rates(detail::moved(u, half, k2));
  const OdeState<T, N> k4 = rates(detail::moved(u, h, k3));
  const T sixth = h / T(6);
  WS_UNROLL(16)
  for (int i = 0; i < N; ++i) {
    const T sum = (k1.v[i] + k4.v[i]) + T(2) * (k2.v[i] + k3.v[i]);
    u.v[i] = detail::multiply_add(sixth, sum, u.v[i]);
  }
}

/// One kick-drift-kick step for d2q/dt2 = accelerations(q) with velocities v. It is symplectic and
/// reversible; the local error is of order h^3. `a` holds the accelerations at q, before the call
/// and after it.
template <class T, class State, class Accelerations>
WS_INLINE void leapfrog_step(const Accelerations& accelerations, T h, State& q, State& v,
                             State& a) {
  const T half = h * T(0.5);
  detail::move(v, half, a);
  detail::move(q, h, v);
  a = accelerations(q);
  detail::move(v, half, a);
}

}  // namespace wellspring
