// A room with one solid, viewed by a camera that moves around it. Intersections of rays with
// planes, boxes, cylinders, spheres and capsules are in closed form. Called by generator `sprites`;
// host and device.
//
// Lengths are in room units: the floor is y = 0, the walls are x = +-kWall and z = +-kWall, the
// solid is upright on the floor at the origin, and the camera points at the axis above it.
#pragma once

#include "kernels/batch/pixel_run.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::solids {

struct Vector3 {
  float x, y, z;
};
WS_INLINE float dot(Vector3 a, Vector3 b) {
  return math::fma(a.x, b.x, math::fma(a.y, b.y, a.z * b.z));
}
WS_INLINE Vector3 along(Vector3 from, float t, Vector3 d) {
  return {math::fma(t, d.x, from.x), math::fma(t, d.y, from.y), math::fma(t, d.z, from.z)};
}

enum class Solid : std::uint8_t { cube, cylinder, sphere, pill };

/// Sizes at scale 1.
inline constexpr float kCubeHalf = 0.40f;  ///< half the edge
inline constexpr float kCylinderRadius = 0.43f, kCylinderHeight = 0.86f;
inline constexpr float kSphereRadius = 0.50f;
inline constexpr float kPillRadius = 0.32f, kPillHeight = 1.2f;

/// Height of a solid's centre at scale 1.
WS_INLINE constexpr float middle_of(Solid solid) {
  switch (solid) {
    case Solid::cube:
      return kCubeHalf;
    case Solid::cylinder:
      return 0.5f * kCylinderHeight;
    case Solid::sphere:
      return kSphereRadius;
    case Solid::pill:
      break;
  }
  return 0.5f * kPillHeight;
}

/// Entry point of a ray from + t d into a solid, and the outward normal there; t = infinity means
/// no hit. `from` is outside the solid.
struct RayHit {
  float t;
  Vector3 normal;
};

namespace detail {

/// Interval of a ray inside the infinite upright cylinder with this radius about the origin; NaN if
/// the ray misses it.
struct Span {
  float near, far;
};
WS_INLINE Span cross_tube(Vector3 from, Vector3 d, float radius) {
  const float a = math::fma(d.x, d.x, d.z * d.z);
  const float b = math::fma(from.x, d.x, from.z * d.z);
  const float c = math::fma(from.x, from.x, from.z * from.z) - radius * radius;
  const float root = math::sqrt(math::fma(b, b, -(a * c)));
  const float inverse = 1 / a;
  return {(-b - root) * inverse, (-b + root) * inverse};
}

/// Entry point of the line into the sphere about (0, y, 0); NaN if it misses.
WS_INLINE float enter_sphere(Vector3 from, Vector3 d, float y, float radius) {
  const Vector3 p = {from.x, from.y - y, from.z};
  const float a = dot(d, d), b = dot(p, d);
  const float c = dot(p, p) - radius * radius;
  return (-b - math::sqrt(math::fma(b, b, -(a * c)))) / a;
}

/// Interval of a ray between the planes `low` and `high` of one axis.
WS_INLINE Span cross_slab(float from, float d, float low, float high) {
  const float inverse = 1 / d;
  const float one = (low - from) * inverse, other = (high - from) * inverse;
  return {math::min(one, other), math::max(one, other)};
}

}  // namespace detail

/// First hit of a ray on the solid at this scale.
template <Solid S>
WS_INLINE RayHit enter(Vector3 from, Vector3 d, float scale) {
  RayHit hit;
  bool inside = false;
  if constexpr (S == Solid::cube) {
    const float h = kCubeHalf * scale;
    const detail::Span x = detail::cross_slab(from.x, d.x, -h, h);
    const detail::Span y = detail::cross_slab(from.y, d.y, 0, 2 * h);
    const detail::Span z = detail::cross_slab(from.z, d.z, -h, h);
    hit.t = math::max(math::max(x.near, y.near), z.near);
    inside = hit.t < math::min(math::min(x.far, y.far), z.far);
    const bool on_x = x.near >= y.near && x.near >= z.near;
    const bool on_y = !on_x && y.near >= z.near;
    hit.normal = {on_x ? (d.x < 0 ? 1.f : -1.f) : 0.f, on_y ? (d.y < 0 ? 1.f : -1.f) : 0.f,
                  on_x || on_y ? 0.f : (d.z < 0 ? 1.f : -1.f)};
  } else if constexpr (S == Solid::cylinder) {
    const float radius = kCylinderRadius * scale, inverse = 1 / radius;
    const detail::Span tube = detail::cross_tube(from, d, radius);
    const detail::Span y = detail::cross_slab(from.y, d.y, 0, kCylinderHeight * scale);
    const bool on_side = tube.near > y.near;
    hit.t = on_side ? tube.near : y.near;
    inside = tube.near < y.far && y.near < tube.far;
    const Vector3 p = along(from, hit.t, d);
    hit.normal = {on_side ? p.x * inverse : 0.f, on_side ? 0.f : (d.y < 0 ? 1.f : -1.f),
                  on_side ? p.z * inverse : 0.f};
  } else if constexpr (S == Solid::sphere) {
    const float radius = kSphereRadius * scale, inverse = 1 / radius;
    hit.t = detail::enter_sphere(from, d, radius, radius);
    inside = hit.t == hit.t;
    const Vector3 p = along(from, hit.t, d);
    hit.normal = {p.x * inverse, (p.y - radius) * inverse, p.z * inverse};
  } else {  // a tube between two spheres; a ray that passes above or below it has hit a sphere
    const float radius = kPillRadius * scale, inverse = 1 / radius;
    const float low = radius, high = kPillHeight * scale - radius;
    const float side = detail::cross_tube(from, d, radius).near;
    const float y = math::fma(side, d.y, from.y);
    const bool on_side = y >= low && y <= high;
    const float cap = detail::enter_sphere(from, d, y > high ? high : low, radius);
    hit.t = on_side ? side : cap;
    inside = hit.t == hit.t;
    const Vector3 p = along(from, hit.t, d);
    hit.normal = {p.x * inverse, (p.y - math::clamp(p.y, low, high)) * inverse, p.z * inverse};
  }
  hit.t = inside && hit.t > 0 ? hit.t : math::kInfinity;
  return hit;
}

/// The room with its colours and camera.
struct Room {
  static constexpr float kWall = 3;
  static constexpr float kDistance = 2.6f,
                         kHeight = 1.4f;        ///< camera: radius and height
  static constexpr float kDown = 0.31073886f;   ///< sine of the pitch; aims at (0, 0.55, 0)
  static constexpr float kAhead = 0.95049533f;  ///< cosine of the pitch
  static constexpr float kHalfView = 0.45f;     ///< tangent of half the field of view
  static constexpr float kAmbient = 0.45f, kDirect = 0.55f;
  static constexpr Vector3 kLight = {0.42054238f, 0.74763090f, 0.51399624f};  ///< towards the light

  float cosine, sine;  ///< azimuth: the camera is at (sine, ., cosine) kDistance
  float scale;
  Rgb floor, wall, object;

  WS_INLINE Vector3 eye() const { return {sine * kDistance, kHeight, cosine * kDistance}; }

  /// Direction of the ray at the offsets `right` and `up` (tangents) from the image centre; not
  /// normalised.
  WS_INLINE Vector3 ray(float right, float up) const {
    const float ahead = math::fma(up, kDown, kAhead);
    return {math::fma(cosine, right, -(sine * ahead)), math::fma(up, kAhead, -kDown),
            math::fma(-sine, right, -(cosine * ahead))};
  }

  /// Distance below the image's centre at which the point (0, y, 0) appears, as a tangent.
  WS_INLINE static float below_middle(float y) {
    const float above = y - kHeight;
    return -(math::fma(kDown, kDistance, kAhead * above)) /
           math::fma(kAhead, kDistance, -(kDown * above));
  }

  /// Distances along the ray to the planes ahead. The ray leaves the room through the nearest
  /// plane.
  struct Exits {
    float floor, x, z;
    WS_INLINE float wall() const { return math::min(x, z); }
  };
  WS_INLINE static Exits exits(Vector3 from, Vector3 d) {
    return {d.y < 0 ? -from.y / d.y : math::kInfinity, ((d.x < 0 ? -kWall : kWall) - from.x) / d.x,
            ((d.z < 0 ? -kWall : kWall) - from.z) / d.z};
  }

  /// Distance along the ray to the first hit. For directions from ray(), this is the depth along
  /// the viewing axis.
  template <Solid S>
  WS_INLINE float depth(Vector3 from, Vector3 d) const {
    const Exits to = exits(from, d);
    return math::min(enter<S>(from, d, scale).t, math::min(to.floor, to.wall()));
  }

  /// Colour of the first hit.
  template <Solid S>
  WS_INLINE Rgb seen(Vector3 from, Vector3 d) const {
    const auto [to_floor, to_x, to_z] = exits(from, d);
    const float to_wall = math::min(to_x, to_z);
    const bool on_floor = to_floor < to_wall;
    const float facing_x = d.x < 0 ? kLight.x : -kLight.x;
    const float facing_z = d.z < 0 ? kLight.z : -kLight.z;
    const float facing_wall = math::max(to_x < to_z ? facing_x : facing_z, 0.f);

    const Vector3 p = along(from, to_floor, d);
    const bool dark = enter<S>({p.x, 0, p.z}, kLight, scale).t < math::kInfinity;
    const float facing_floor = dark ? 0.f : kLight.y;

    const RayHit hit = enter<S>(from, d, scale);
    const bool on_solid = hit.t < math::kInfinity;
    const float facing = on_solid ? math::clamp(dot(hit.normal, kLight), 0.f, 1.f)
                                  : (on_floor ? facing_floor : facing_wall);
    const float light = math::fma(kDirect, facing, kAmbient);
    const auto paint = [&](float of_solid, float of_floor, float of_wall) {
      return light * (on_solid ? of_solid : (on_floor ? of_floor : of_wall));
    };
    return {paint(object.r, floor.r, wall.r), paint(object.g, floor.g, wall.g),
            paint(object.b, floor.b, wall.b)};
  }
};

}  // namespace wellspring::solids
