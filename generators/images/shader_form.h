// Types that the programs of generator `shaders` share with the deformations of their plane: the
// parameters of a sample and a few maps. Host and device.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::shaders {

/// A point of the pattern's plane.
struct Point {
  float x, y;
};

/// Parameters of a program.
struct Form {
  float a, b;          ///< in [0, 1): scale and shape
  float phase[4];      ///< in [0, 1)
  std::uint32_t seed;  ///< seed of the differences between tiles
  float pixel;         ///< side of a pixel, in units of the pattern
};

/// Result of a program at a point: the position on the gradient of three colours, and the opacity
/// of the fourth colour, which is on top. Both are clamped to [0, 1].
struct Tone {
  float level, tint;
};

WS_INLINE float length(Point p) {
  return math::sqrt(math::fma(p.x, p.x, p.y * p.y));
}
/// Angle of a point in turns, in [-1/2, 1/2].
WS_INLINE float angle_turns(Point p) {
  return math::atan2(p.y, p.x) * (1 / math::kTau);
}
WS_INLINE Point rotated(Point p, float turns) {
  const math::SinCos at = math::sincos_turns(turns);
  return {math::fma(at.cosine, p.x, -(at.sine * p.y)), math::fma(at.sine, p.x, at.cosine * p.y)};
}
/// Distance to the nearest integer: a triangle wave between 0 and 1/2 with period 1.
WS_INLINE float fold(float x) {
  return math::abs(x - math::round(x));
}
/// cos(2 pi t), scaled to [0, 1].
WS_INLINE float wave(float turns) {
  return math::fma(0.5f, math::cos_turns(turns), 0.5f);
}
/// Smooth step from 0 to 1 around x = 0, of this width.
WS_INLINE float edge(float x, float width) {
  const float t = math::clamp(x / width + 0.5f, 0.f, 1.f);
  return t * t * math::fma(-2.f, t, 3.f);
}

/// Hash of a tile by multiplications (with Philox's odd multipliers) and shifts;
/// good enough for the colours of tiles.
WS_INLINE std::uint32_t scatter(std::uint32_t seed, float column, float row) {
  const auto i = static_cast<std::uint32_t>(math::detail::to_int(column));
  const auto j = static_cast<std::uint32_t>(math::detail::to_int(row));
  std::uint32_t h = (i * 0xd2511f53u + j * 0xcd9e8d57u) ^ seed;
  h = (h ^ (h >> 16)) * 0x9e3779b9u;
  h = (h ^ (h >> 15)) * 0xbb67ae85u;
  return h ^ (h >> 16);
}
/// The hash as a number in [0, 1).
WS_INLINE float scattered(std::uint32_t seed, float column, float row) {
  return static_cast<float>(static_cast<std::int32_t>(scatter(seed, column, row) >> 8)) * 0x1p-24f;
}

}  // namespace wellspring::shaders
