// The line fit of a neutrino telescope: a least-squares fit x = a + v t to the positions and times
// of pulses, with their means and spreads. Used by generator `nu_telescope`; host and device. Sums
// are integers, so they are exact and do not depend on the order.
#pragma once

#include "generators/events/telescope.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Units: m and ns; velocities in units of c. Index 3 is time.
struct LineFit {
  float pulses, charge;
  float mean[4], spread[4], velocity[3];
};

struct PulseSums {
  static constexpr float kPlaceSteps = 32, kTimeSteps = 4, kChargeSteps = 1024;
  static constexpr float kLatest = 131072;  ///< ns; sums of 2^24 squares in steps are below 2^63
  static constexpr float kFastest = 2;      ///< limit of each velocity component, c

  std::int64_t charge, pulses;
  std::int64_t sum[4], square[4], product[3];  ///< x, y, z, t; product: x, y, z times t

  WS_INLINE void add(float pulse_charge) { charge += whole(pulse_charge * kChargeSteps); }
  WS_INLINE void add(const telescope::Vector& place, float time) {
    const std::int64_t at[4] = {whole(place.x * kPlaceSteps), whole(place.y * kPlaceSteps),
                                whole(place.z * kPlaceSteps),
                                whole(math::clamp(time, -kLatest, kLatest) * kTimeSteps)};
    pulses += 1;
    WS_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      sum[i] += at[i];
      square[i] += at[i] * at[i];
      if (i < 3) product[i] += at[i] * at[3];
    }
  }

  /// Adds this member's sums to the team's.
  template <class Team>
  WS_INLINE void share(Team& team, PulseSums& all) const {
    team.atomic_add(&all.charge, charge);
    if (pulses == 0) return;
    team.atomic_add(&all.pulses, pulses);
    WS_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      team.atomic_add(&all.sum[i], sum[i]);
      team.atomic_add(&all.square[i], square[i]);
      if (i < 3) team.atomic_add(&all.product[i], product[i]);
    }
  }

  /// Computes the fit in f64 from the exact sums; all results are 0 without pulses.
  WS_INLINE LineFit fit() const {
    LineFit fit;
    fit.pulses = static_cast<float>(pulses);
    fit.charge = static_cast<float>(charge) / kChargeSteps;
    const double n = pulses == 0 ? 1 : static_cast<double>(pulses);
    const double time = static_cast<double>(sum[3]) / n;
    const double spread = static_cast<double>(square[3]) / n - time * time;
    WS_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      const double step = i < 3 ? double{kPlaceSteps} : double{kTimeSteps};
      const double mean = static_cast<double>(sum[i]) / n;
      const double variance = static_cast<double>(square[i]) / n - mean * mean;
      fit.mean[i] = static_cast<float>(mean / step);
      fit.spread[i] = math::sqrt(math::max(static_cast<float>(variance / (step * step)), 0));
      if (i == 3) continue;
      const double shared = static_cast<double>(product[i]) / n - mean * time;
      // If the times differ by less than a step, the velocity is undetermined.
      const double slope = spread > 1 ? shared / spread : 0;
      constexpr double kInC = double{kTimeSteps} / double{kPlaceSteps} / telescope::kLightSpeed;
      fit.velocity[i] = math::clamp(static_cast<float>(slope * kInC), -kFastest, kFastest);
    }
    return fit;
  }

 private:
  WS_INLINE static std::int64_t whole(float x) {
    return static_cast<std::int64_t>(math::floor(x + 0.5f));
  }
};

}  // namespace wellspring
