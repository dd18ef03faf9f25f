// Latents under augmentation: transforms positions, angles, lengths and waves with the geometry
// drawn for their sample. Host and device.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// How a latent transforms with the image.
enum class LatentRole : std::uint8_t {
  fixed,       ///< unchanged, such as a count or a class
  colour,      ///< unchanged by geometry; colour operations change it in an unknown way
  position_x,  ///< x of a point, from the left; the next latent is its position_y
  position_y,  ///< y of a point, from the top
  thing_x,  ///< position_x of an object that may be absent; the next two latents are its position_y
            ///< and its length. Length 0 means absent
  angle,    ///< orientation of an object with a mirror axis, radians in [0, 2 pi),
            ///< counterclockwise in the image; 0: axis vertical
  direction,    ///< direction of a vector, radians in [0, 2 pi), counterclockwise in the image; 0:
                ///< right
  length,       ///< the square root of an area
  wave_period,  ///< period of a plane wave cos(2 pi t), where t is linear in the position; the next
                ///< two latents are its wave_angle and its wave_phase. 0: no wave
  wave_angle,   ///< direction of increasing t, across the crests
  wave_phase,   ///< t at the upper left corner of the image, in [0, 1) periods
  unmapped,     ///< changes with geometry in an unknown way
};

inline constexpr int kMostLatents = 64;

/// The roles of a row of latents; plain data for a functor.
struct LatentRoles {
  std::int32_t count = 0;
  float source_side = 1, out_side = 1;  ///< pixels per image side, for source and output
  /// Corners of the largest central squares, pixels; positions in image sides start there.
  float source_left = 0, source_top = 0, out_left = 0, out_top = 0;
  LatentRole role[kMostLatents] = {};
  bool fraction[kMostLatents] = {};  ///< per latent: true if in image sides, false if in pixels

  WS_INLINE float source_unit(int i) const { return fraction[i] ? source_side : 1.f; }
  WS_INLINE float out_unit(int i) const { return fraction[i] ? out_side : 1.f; }
};

/// The linear map from source to output pixels about the image centre, and its inverse.
struct LinearMap {
  float m00, m01, m10, m11;
  float xx, xy, yx, yy;  ///< source pixels per output pixel, at the centre

  WS_INLINE explicit LinearMap(const Augmentation& a) {
    // Jacobian of the map from output to source at the centre.
    const float d = 1 / a.w;
    xx = (a.m00 - a.origin_x * d * a.w_x) * d;
    xy = (a.m01 - a.origin_x * d * a.w_y) * d;
    yx = (a.m10 - a.origin_y * d * a.w_x) * d;
    yy = (a.m11 - a.origin_y * d * a.w_y) * d;
    const float inverse = 1 / (xx * yy - xy * yx);
    m00 = yy * inverse;
    m01 = -xy * inverse;
    m10 = -yx * inverse;
    m11 = xx * inverse;
  }
};

namespace detail {
/// The angle of a vector in [0, 2 pi), counterclockwise from the right; y points down.
WS_INLINE float angle_of(float x, float y) {
  const float angle = math::atan2(-y, x);
  const float positive = angle < 0 ? angle + math::kTau : angle;
  return positive >= math::kTau ? 0.f : positive;
}

/// Maps period, angle and phase of a wave. With source = J output + s, the wave k . source + phase
/// is (k J) . output + (phase + k . s).
WS_INLINE void map_wave(const Augmentation& a, const LinearMap& map, float unit, float out_unit,
                        float* wave) {
  const float period = wave[0] * unit;
  if (!(period > 0)) return;
  const math::SinCos turn = math::sincos(wave[1]);
  const float kx = turn.cosine / period, ky = -turn.sine / period;
  const float x = kx * map.xx + ky * map.yx, y = kx * map.xy + ky * map.yy;
  const float at_centre = (kx * a.origin_x + ky * a.origin_y) / a.w;
  const float phase = math::fract((wave[2] + at_centre) - (x * a.centre_x + y * a.centre_y));
  wave[0] = 1 / (math::sqrt(x * x + y * y) * out_unit);
  wave[1] = angle_of(x, y);
  wave[2] = phase < 1 ? phase : 0.f;
}
}  // namespace detail

/// Maps a row of latents in place. Exact up to rounding if the augmentation is affine: an angle
/// follows the object's axis, a length scales with the square root of the area, and a wave stays a
/// wave. Under perspective, positions are exact; angles, lengths and waves use the linear map at
/// the image centre.
WS_HD inline void map_latents(const Augmentation& a, const LatentRoles& roles, float* latents) {
  const LinearMap map(a);
  const float scale = math::sqrt(math::abs(map.m00 * map.m11 - map.m01 * map.m10));
  for (int i = 0; i < roles.count; ++i) {
    switch (roles.role[i]) {
      case LatentRole::thing_x:
        if (!(latents[i + 2] > 0)) break;
        [[fallthrough]];
      case LatentRole::position_x: {
        // Solves (m - p w) d = p w - origin for d, where p is the point in the source.
        const bool square = roles.fraction[i];
        const float x = latents[i] * roles.source_unit(i) + (square ? roles.source_left : 0.f),
                    y = latents[i + 1] * roles.source_unit(i + 1) +
                        (square ? roles.source_top : 0.f);
        const float xx = a.m00 - x * a.w_x, xy = a.m01 - x * a.w_y;
        const float yx = a.m10 - y * a.w_x, yy = a.m11 - y * a.w_y;
        const float rx = x * a.w - a.origin_x, ry = y * a.w - a.origin_y;
        const float inverse = 1 / (xx * yy - xy * yx);
        const float left = square ? roles.out_left : 0.f, top = square ? roles.out_top : 0.f;
        latents[i] = (((yy * rx - xy * ry) * inverse + a.centre_x) - left) / roles.out_unit(i);
        latents[i + 1] =
            (((xx * ry - yx * rx) * inverse + a.centre_y) - top) / roles.out_unit(i + 1);
        break;
      }
      case LatentRole::angle: {
        const math::SinCos turn = math::sincos(latents[i]);
        const float x = -turn.sine, y = -turn.cosine;  // the axis, in pixels
        const float sx = map.m00 * x + map.m01 * y, sy = map.m10 * x + map.m11 * y;
        latents[i] = detail::angle_of(-sy, sx);  // rotated back by a quarter turn
        break;
      }
      case LatentRole::direction: {
        const math::SinCos turn = math::sincos(latents[i]);
        const float x = turn.cosine, y = -turn.sine;
        latents[i] = detail::angle_of(map.m00 * x + map.m01 * y, map.m10 * x + map.m11 * y);
        break;
      }
      case LatentRole::length:
        latents[i] = latents[i] * roles.source_unit(i) * scale / roles.out_unit(i);
        break;
      case LatentRole::wave_period:
        detail::map_wave(a, map, roles.source_unit(i), roles.out_unit(i), latents + i);
        break;
      case LatentRole::position_y:
      case LatentRole::wave_angle:
      case LatentRole::wave_phase:
      case LatentRole::fixed:
      case LatentRole::colour:
      case LatentRole::unmapped:
        break;
    }
  }
}

}  // namespace wellspring
