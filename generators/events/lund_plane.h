// The Lund plane of a parton, the masses of W and top, and constants of
// generator `lund_shower`. For host and device.
#pragma once

#include "generators/events/jet_views.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

namespace lund {

/// Maximum number of partons. A jet that reaches it stops branching and is called unfinished.
inline constexpr int kMostPartons = jets::kMostConstituents;
inline constexpr int kMostProngs = 3;
inline constexpr int kMostClasses = 4;
/// Colour factors of SU(3).
inline constexpr double kQuarkFactor = 4.0 / 3, kGluonFactor = 3;

/// Coordinates in the Lund plane.
struct Point {
  float down = 0;     ///< ln(Theta / theta)
  float softer = 0;   ///< ln(1 / z)
  bool found = true;  ///< false: no further emission
};

/// Relativistic Breit-Wigner line with a fixed width, within 15 widths of the mass: the square of
/// the mass is M^2 + M Gamma tan(angle) with a uniform angle.
struct Line {
  float mass, square, scale;  ///< M, M^2, M Gamma
  float low, range;           ///< angles in turns; range 0: always M

  static constexpr double kWidths = 15;  ///< like bwcutoff in MadGraph5_aMC@NLO, arXiv:1405.0301

  WS_INLINE float draw(std::uint32_t word) const {
    const math::SinCos at = math::sincos_turns(math::fma(unit_float(word), range, low));
    const float drawn = math::sqrt(math::fma(scale, at.sine / at.cosine, square));
    return range > 0 ? drawn : mass;
  }
};

/// Emissions of one parton in order of decreasing angle. `room`: L. The area of the triangle swept
/// between two emissions has an exponential distribution.
class Plane {
 public:
  WS_INLINE Plane(float room, float density) : room_(room), density_(density) {}

  /// The next emission, from two uniform numbers in (0, 1]; the first is given as its logarithm.
  WS_INLINE Point next(float log_first, float second) {
    area_ -= log_first / density_;
    const float left = room_ * room_ - 2 * area_;
    if (!(left > 0)) return {0, 0, false};  // also for alpha_s = 0: infinite area
    const float down = 2 * area_ / (room_ + math::sqrt(left));
    return {down, second * (room_ - down), true};
  }

 private:
  float room_, density_, area_ = 0;
};

}  // namespace lund

}  // namespace wellspring
