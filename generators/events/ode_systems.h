// Right-hand sides of the systems that the generators `sbi` and `ode` integrate, each a functor
// from a state to its rates. Host and device.
#pragma once

#include "generators/events/integrate.h"
#include "kernels/macros.h"
#include "kernels/math.h"

namespace wellspring {

/// Prey x and predators y: dx/dt = alpha x - beta x y, dy/dt = -gamma y + delta x y.
/// delta x - gamma ln x + beta y - alpha ln y is conserved (V. Volterra, Nature 118 (1926) 558).
template <class T>
struct LotkaVolterra {
  T alpha, beta, gamma, delta;

  WS_INLINE OdeState<T, 2> operator()(const OdeState<T, 2>& u) const {
    const T x = u.v[0], y = u.v[1];
    return {
        {x * detail::multiply_add(-beta, y, alpha), y * detail::multiply_add(delta, x, -gamma)}};
  }
};

/// Shares of a population that are susceptible, infected and removed: ds/dt = -beta s i,
/// di/dt = beta s i - gamma i, dr/dt = gamma i (W. Kermack, A. McKendrick, Proc. R. Soc. A 115
/// (1927) 700). s + i + r and i + s - gamma / beta ln s are conserved.
template <class T>
struct SusceptibleInfectedRemoved {
  T beta, gamma;

  WS_INLINE OdeState<T, 3> operator()(const OdeState<T, 3>& u) const {
    const T infections = beta * u.v[0] * u.v[1], removals = gamma * u.v[1];
    return {{-infections, infections - removals, removals}};
  }
};

}  // namespace wellspring
