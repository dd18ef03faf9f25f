// Portable single-precision maths. Host and device, scalar and vector code give the same bits.
// Called by generators, emission and operations instead of the maths libraries. Host and device.
//
// Every function uses only + - * / sqrt, fma and exact bit operations, all of which have a unique
// result under IEEE 754, so results are bit-identical wherever contraction is off (as in this
// build). There are no branches, so loops over these functions vectorise. Subnormal numbers are
// kept, and infinities and NaN are handled; NaN payloads are not portable.
//
// Worst errors are in units in the last place (ULP) of the result, compared with double precision.
// tests/kernels/random/math.test.cpp fails if it measures a larger error. The coefficients and
// constants come from scripts/derive-math-coefficients (minimax fits).
#pragma once

#include "kernels/runtime/macros.h"

#include <bit>
#include <cstdint>

namespace wellspring::math {

inline constexpr float kPi = 0x1.921fb6p+1f;
inline constexpr float kTau = 0x1.921fb6p+2f;  ///< 2 pi
inline constexpr float kInfinity = __builtin_inff();

// ---- correctly rounded building blocks ----------------------------------------------------------

/// a * b + c, rounded once.
WS_INLINE float fma(float a, float b, float c) {
#if WS_DEVICE_CODE
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

/// Correctly rounded square root.
WS_INLINE float sqrt(float x) {
#if WS_DEVICE_CODE
  return __fsqrt_rn(x);
#else
  return __builtin_sqrtf(x);
#endif
}
/// Square root in double precision, for events whose sums need it.
WS_INLINE double sqrt(double x) {
#if WS_DEVICE_CODE
  return __dsqrt_rn(x);
#else
  return __builtin_sqrt(x);
#endif
}

/// Absolute value; exact, like floor, ceil and round.
WS_INLINE float abs(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7fffffffu);
}
WS_INLINE float floor(float x) {
#if WS_DEVICE_CODE
  return floorf(x);
#else
  return __builtin_floorf(x);
#endif
}
WS_INLINE float ceil(float x) {
  return -floor(-x);
}
/// Rounds to the nearest integer, ties to even.
WS_INLINE float round(float x) {
#if WS_DEVICE_CODE
  return rintf(x);
#else
  return __builtin_rintf(x);
#endif
}
/// x - floor(x), in [0, 1]. It is 1 for negative x above -2^-25, where the fraction rounds up.
WS_INLINE float fract(float x) {
  return x - floor(x);
}

/// Smaller of a and b; b if a is NaN.
WS_INLINE float min(float a, float b) {
  return a < b ? a : b;
}
WS_INLINE float max(float a, float b) {
  return a > b ? a : b;
}
/// Clamps x to [low, high]; NaN gives `low`.
WS_INLINE float clamp(float x, float low, float high) {
  return min(max(x, low), high);
}
/// a + t (b - a): a at t = 0, and within one ULP of b at t = 1.
WS_INLINE float lerp(float a, float b, float t) {
  return fma(t, b - a, a);
}
namespace detail {

WS_INLINE std::uint32_t bits(float x) {
  return std::bit_cast<std::uint32_t>(x);
}
WS_INLINE float from_bits(std::uint32_t u) {
  return std::bit_cast<float>(u);
}

/// The integer value of a float with |x| < 2^22: adding 1.5 * 2^23 moves it into the low bits.
/// Unlike a cast, this is defined for every x, even for NaN (which gives a meaningless value).
WS_INLINE std::int32_t to_int(float x) {
  return static_cast<std::int32_t>(bits(x + 0x1.8p+23f) - 0x4b400000u);
}
/// 2^n for n in [-126, 127].
WS_INLINE float power_of_two(std::int32_t n) {
  return from_bits(static_cast<std::uint32_t>(n + 127) << 23);
}
/// x 2^n for n in [-252, 254] and |x| in [1/2, 2); rounded once, because the first product stays
/// normal.
WS_INLINE float scale(float x, std::int32_t n) {
  const std::int32_t half = n >> 1;
  return x * power_of_two(half) * power_of_two(n - half);
}
/// `magnitude` with the sign of `sign`.
WS_INLINE float with_sign(float magnitude, float sign) {
  return from_bits((bits(magnitude) & 0x7fffffffu) | (bits(sign) & 0x80000000u));
}

/// x = m 2^e with m in [sqrt(1/2), sqrt(2)), for positive finite x, including subnormal x.
struct Split {
  float mantissa;
  float exponent;
};
WS_INLINE Split split(float x) {
  const bool subnormal = x < 0x1p-126f;
  const float scaled = x * 0x1p+23f;
  const std::uint32_t u = bits(subnormal ? scaled : x);
  const float base = subnormal ? -23.0f : 0.0f;
  // Subtracts the bits of sqrt(1/2), so that the exponent field counts from there.
  const std::uint32_t distance = u - 0x3f3504f3u;
  const auto exponent = static_cast<std::int32_t>(distance) >> 23;
  return {from_bits((distance & 0x007fffffu) + 0x3f3504f3u), static_cast<float>(exponent) + base};
}

/// sin and cos from their first-quadrant values; `quadrant` (mod 4) is the number of right angles.
WS_INLINE float sine_of(std::int32_t quadrant, float s, float c) {
  const float value = (quadrant & 1) != 0 ? c : s;
  return from_bits(bits(value) ^ (static_cast<std::uint32_t>(quadrant & 2) << 30));
}
WS_INLINE float cosine_of(std::int32_t quadrant, float s, float c) {
  return sine_of(quadrant + 1, s, c);
}

struct SinCos {
  float sine, cosine;
};

/// sin and cos of 2 pi s for |s| <= 1/8.
WS_INLINE SinCos eighth_of_a_turn(float s) {
  const float z = s * s;
  float p = -0x1.2db5cep+6f;
  p = fma(p, z, 0x1.465facp+6f);
  p = fma(p, z, -0x1.4abbbep+5f);
  // 2 pi as the sum of two floats, because its rounding would cost half an ULP.
  const float sine = fma(s, 0x1.921fb6p+2f, s * fma(p, z, -0x1.777a5cp-23f));
  float q = 0x1.d4f7eep+5f;
  q = fma(q, z, -0x1.55b2b6p+6f);
  q = fma(q, z, 0x1.03c1b0p+6f);
  q = fma(q, z, -0x1.3bd3ccp+4f);
  return {sine, fma(q, z, 1.0f)};
}

/// sin and cos of r radians for |r| <= pi / 4.
WS_INLINE SinCos eighth_in_radians(float r) {
  const float z = r * r;
  float p = -0x1.9953fep-13f;
  p = fma(p, z, 0x1.110778p-7f);
  p = fma(p, z, -0x1.555546p-3f);
  const float sine = fma(r * z, p, r);
  float q = 0x1.99e80cp-16f;
  q = fma(q, z, -0x1.6c0c28p-10f);
  q = fma(q, z, 0x1.55554ap-5f);
  const float cosine = fma(z * z, q, fma(z, -0.5f, 1.0f));
  return {sine, cosine};
}

/// log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)) without its leading term f: f^2 (-1/2 + f L(f)).
WS_INLINE float log1p_tail(float f) {
  float p = -0x1.3af6e0p-4f;
  p = fma(p, f, 0x1.05bd12p-3f);
  p = fma(p, f, -0x1.0d418ep-3f);
  p = fma(p, f, 0x1.22c7fep-3f);
  p = fma(p, f, -0x1.54782cp-3f);
  p = fma(p, f, 0x1.99a116p-3f);
  p = fma(p, f, -0x1.000210p-2f);
  p = fma(p, f, 0x1.555552p-2f);
  return f * f * fma(p, f, -0.5f);
}

/// 2^r for |r| <= 1/2.
WS_INLINE float exp2_fraction(float r) {
  float p = 0x1.178794p-13f;
  p = fma(p, r, 0x1.5ef4f8p-10f);
  p = fma(p, r, 0x1.3b6828p-7f);
  p = fma(p, r, 0x1.c6af9ep-5f);
  p = fma(p, r, 0x1.ebfb94p-3f);
  p = fma(p, r, 0x1.62e430p-1f);
  return fma(p, r, 1.0f);
}

/// A number as an unevaluated sum of two floats.
struct Pair {
  float high, low;
};

/// log2(x) for positive finite x, with an absolute error of about 2^-35.
WS_INLINE Pair log2_pair(float x) {
  const Split part = split(x);
  // log2(m) = 2 log2(e) atanh(s), s = f / (2 + f), where f is exact and s has twice the precision.
  const float f = part.mantissa - 1.0f;
  const float divisor = f + 2.0f;
  const float divisor_low = f - (divisor - 2.0f);
  const float s = f / divisor;
  const float s_low = (fma(-s, divisor, f) - s * divisor_low) / divisor;
  const float z = s * s;
  const float z_low = fma(s, s, -z) + 2.0f * s * s_low;
  float p = 0x1.589108p-2f;
  p = fma(p, z, 0x1.a5d042p-2f);
  p = fma(p, z, 0x1.2776e0p-1f);
  // 2 log2(e) s + s^3 H(z); the two leading products have twice the precision.
  const float cube = s * z;
  const float cube_low = fma(s, z, -cube) + fma(s_low, z, s * z_low);
  const float second = cube * 0x1.ec709ep-1f;
  const float second_low =
      fma(cube, 0x1.ec709ep-1f, -second) + fma(cube_low, 0x1.ec709ep-1f, cube * z * p);
  const float first = s * 0x1.715476p+1f;
  const float first_low =
      fma(s, 0x1.715476p+1f, -first) + fma(s, 0x1.4ae0c0p-25f, s_low * 0x1.715476p+1f);
  const float high = first + second;
  const float low = (second - (high - first)) + (first_low + second_low);
  // Adds e exactly: |e| is 0 or at least 1, and |log2(m)| is at most 1/2.
  const float sum = part.exponent + high;
  const float lost = high - (sum - part.exponent);
  const float rest = lost + low;
  const float total = sum + rest;
  return {total, rest - (total - sum)};
}

}  // namespace detail

// ---- trigonometry -------------------------------------------------------------------------------

using SinCos = detail::SinCos;

/// sin(2 pi t) and cos(2 pi t) for any finite t. Angles in turns are reduced without rounding.
/// Worst error: see sin_turns, cos_turns.
WS_INLINE SinCos sincos_turns(float t) {
  const float part = t - round(t);  // exact, in [-1/2, 1/2]
  const float quarters = round(part * 4.0f);
  const SinCos eighth = detail::eighth_of_a_turn(fma(quarters, -0.25f, part));
  const std::int32_t quadrant = detail::to_int(quarters);
  return {detail::sine_of(quadrant, eighth.sine, eighth.cosine),
          detail::cosine_of(quadrant, eighth.sine, eighth.cosine)};
}
/// sin(2 pi t) for any finite t. Worst error: 0.97 ULP.
WS_INLINE float sin_turns(float t) {
  return sincos_turns(t).sine;
}
/// cos(2 pi t) for any finite t. Worst error: 0.87 ULP.
WS_INLINE float cos_turns(float t) {
  return sincos_turns(t).cosine;
}

/// sin(x) and cos(x), x in radians, |x| <= 2^16 (reduction by pi / 2 in three parts). Prefer
/// sincos_turns. Worst error: see sin, cos.
WS_INLINE SinCos sincos(float x) {
  const float quarters = round(x * 0x1.45f306p-1f);
  float r = fma(quarters, -0x1.921fb6p+0f, x);
  r = fma(quarters, 0x1.777a5cp-25f, r);
  r = fma(quarters, 0x1.ee59dap-50f, r);
  const SinCos eighth = detail::eighth_in_radians(r);
  const std::int32_t quadrant = detail::to_int(quarters);
  return {detail::sine_of(quadrant, eighth.sine, eighth.cosine),
          detail::cosine_of(quadrant, eighth.sine, eighth.cosine)};
}
/// sin(x), |x| <= 2^16 radians. Worst error: 1.57 ULP.
WS_INLINE float sin(float x) {
  return sincos(x).sine;
}
/// cos(x), |x| <= 2^16 radians. Worst error: 1.57 ULP.
WS_INLINE float cos(float x) {
  return sincos(x).cosine;
}

/// The angle of (x, y) in (-pi, pi] for any x, y. Signed zeros and infinities follow IEEE 754
/// (9.2.1). Worst error: 1.75 ULP.
WS_INLINE float atan2(float y, float x) {
  const float ax = abs(x), ay = abs(y);
  const bool steep = ay > ax;
  const float longer = steep ? ay : ax, shorter = steep ? ax : ay;
  const float quotient = shorter / longer;
  // 0 / 0 counts as 0, and infinity / infinity as 1.
  const float q = shorter == longer ? (longer == 0.0f ? 0.0f : 1.0f) : quotient;
  const float z = q * q;
  float p = 0x1.7e9b0ap-9f;
  p = fma(p, z, -0x1.0c1484p-6f);
  p = fma(p, z, 0x1.61ed84p-5f);
  p = fma(p, z, -0x1.3550c2p-4f);
  p = fma(p, z, 0x1.b4deb6p-4f);
  p = fma(p, z, -0x1.230a94p-3f);
  p = fma(p, z, 0x1.9978ecp-3f);
  p = fma(p, z, -0x1.5554dcp-2f);
  const float a = fma(q * z, p, q);
  const float folded = steep ? 0x1.921fb6p+0f - (a + 0x1.777a5cp-25f) : a;
  const bool left = (detail::bits(x) >> 31) != 0;
  const float angle = left ? 0x1.921fb6p+1f - (folded + 0x1.777a5cp-24f) : folded;
  return detail::with_sign(angle, y);
}
/// arccos(x) in [0, pi] for |x| <= 1, otherwise NaN. Worst error: 2.25 ULP.
WS_INLINE float acos(float x) {
  return atan2(sqrt((1.0f - x) * (1.0f + x)), x);
}

// ---- exponentials and logarithms ----------------------------------------------------------------

/// e^x for any x: infinity at 88.73 and above, 0 below -103.98. Worst error: 1.02 ULP.
WS_INLINE float exp(float x) {
  // Beyond these limits the result is infinity or 0 anyway. NaN passes both comparisons.
  const float above = x < -104.0f ? -104.0f : x;
  const float y = above > 89.0f ? 89.0f : above;
  const float n = round(y * 0x1.715476p+0f);
  const float r = fma(n, 0x1.05c610p-29f, fma(n, -0x1.62e430p-1f, y));
  float p = 0x1.6a72bep-10f;
  p = fma(p, r, 0x1.12398ep-7f);
  p = fma(p, r, 0x1.555890p-5f);
  p = fma(p, r, 0x1.555492p-3f);
  p = fma(p, r, 0x1.fffffcp-2f);
  return detail::scale(fma(r * r, p, r) + 1.0f, detail::to_int(n));
}

/// 2^x for any x. Worst error: 0.92 ULP.
WS_INLINE float exp2(float x) {
  const float above = x < -151.0f ? -151.0f : x;
  const float y = above > 129.0f ? 129.0f : above;
  const float n = round(y);
  return detail::scale(detail::exp2_fraction(y - n), detail::to_int(n));
}

/// Natural logarithm. It is -infinity at 0 and NaN below. Worst error: 0.85 ULP.
WS_INLINE float log(float x) {
  const detail::Split part = detail::split(x);
  const float f = part.mantissa - 1.0f;  // exact
  const float tail = fma(part.exponent, -0x1.05c610p-29f, detail::log1p_tail(f));
  const float value = fma(part.exponent, 0x1.62e430p-1f, f + tail);
  const float at_zero = x == 0.0f ? -kInfinity : value;
  // x - x is NaN for infinity, so the order matters: infinity is returned unchanged, while negative
  // numbers and NaN become NaN.
  const float positive = x == kInfinity ? x : at_zero;
  return x >= 0.0f ? positive : __builtin_nanf("");
}

/// Logarithm to base 2, exact at powers of two. It is -infinity at 0 and NaN below. Worst error:
/// 0.57 ULP.
WS_INLINE float log2(float x) {
  const float value = detail::log2_pair(x).high;
  const float at_zero = x == 0.0f ? -kInfinity : value;
  const float positive = x == kInfinity ? x : at_zero;
  return x >= 0.0f ? positive : __builtin_nanf("");
}

/// x^y for x >= 0; NaN for negative x. x^0 and 1^y are always 1. Worst error: 1.1 ULP.
WS_INLINE float pow(float x, float y) {
  const detail::Pair l = detail::log2_pair(x);
  const float product = y * l.high;
  const float low = fma(y, l.high, -product) + y * l.low;
  const float above = product < -152.0f ? -152.0f : product;
  const float clamped = above > 130.0f ? 130.0f : above;
  const float n = round(clamped);
  // Outside the clamp the result is infinity or 0, and `low` may be infinity - infinity.
  const float r = (clamped - n) + (clamped == product ? low : 0.0f);
  const float value = detail::scale(detail::exp2_fraction(r), detail::to_int(n));
  const float at_zero = y > 0.0f ? 0.0f : kInfinity;
  const float from_zero = x == 0.0f ? at_zero : value;
  const float at_infinity = y > 0.0f ? kInfinity : 0.0f;
  const float from_infinity = x == kInfinity ? at_infinity : from_zero;
  const float defined = x >= 0.0f && y == y ? from_infinity : __builtin_nanf("");
  return y == 0.0f || x == 1.0f ? 1.0f : defined;
}

/// Cube root of any x; an odd function. Worst error: 0.51 ULP.
WS_INLINE float cbrt(float x) {
  const float a = abs(x);
  // Scales by 2^+-48 into the middle of the range, so that no product below overflows or is
  // subnormal.
  const bool small = a < 1.0f;
  const float y = a * (small ? 0x1p+48f : 0x1p-48f);
  // Divides the exponent by three. The constant makes this first guess accurate to 5 % (W. Kahan's
  // cube root). Two steps of Halley's method follow; each triples the number of correct digits.
  float t = detail::from_bits(detail::bits(y) / 3u + 0x2a5119f2u);
  for (int step = 0; step < 2; ++step) {
    const float cube = t * t * t;
    t = t * ((cube + y) + y) / ((cube + cube) + y);
  }
  // One Newton step with the residual t^3 - y in twice the precision.
  const float square = t * t;
  const float residual = fma(square, t, -y) + fma(t, t, -square) * t;
  const float root = t - residual / (3.0f * square);
  const bool keeps = a == 0.0f || !(a < kInfinity);  // true: zeros, infinities and NaN are returned
                                                     // unchanged
  return keeps ? x : detail::with_sign(root * (small ? 0x1p-16f : 0x1p+16f), x);
}

// ---- random variates ----------------------------------------------------------------------------

/// Two independent standard normal numbers.
struct NormalPair {
  float first, second;
};

/// Maps two uniform words to normal numbers by the polar formula (G. Box, M. Muller, "A note on the
/// generation of random normal deviates", Ann. Math. Stat. 29, 1958). The radius has 24 bits, so
/// values reach +-5.77.
WS_INLINE NormalPair box_muller(std::uint32_t word0, std::uint32_t word1) {
  // (0, 1] and [0, 1), as in kernels/random/philox.h.
  const float u = static_cast<float>(static_cast<std::int32_t>((word0 >> 8) + 1u)) * 0x1p-24f;
  const float turns = static_cast<float>(static_cast<std::int32_t>(word1 >> 8)) * 0x1p-24f;
  const float radius = sqrt(-2.0f * log(u));
  const SinCos direction = sincos_turns(turns);
  return {radius * direction.cosine, radius * direction.sine};
}

/// Upper bound of the absolute value of any number from box_muller.
inline constexpr double kNormalReach = 5.78;

}  // namespace wellspring::math
