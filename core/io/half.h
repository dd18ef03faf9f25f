// IEEE 754 binary16, which array files may hold. Called by the array file formats and by
// checkpoints; host only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace wellspring {

/// f32 can represent every value exactly.
struct Half {
  std::uint16_t bits = 0;

  explicit operator float() const {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float sign = bits >> 15 == 0 ? 1.f : -1.f;
    if (exponent == 31 && fraction != 0) return std::numeric_limits<float>::quiet_NaN();
    if (exponent == 31) return sign * std::numeric_limits<float>::infinity();
    const int whole = exponent == 0 ? fraction : fraction + 1024;
    return sign * std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - 25);
  }
};

}  // namespace wellspring
