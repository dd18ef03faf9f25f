// A neutrino telescope: strings of optical modules in clear ice, and light from tracks and cascades
// (Cherenkov geometry, scattering delays, expected photons). Used by generator `nu_telescope` and
// its tests. Structs and inline functions are for host and device, all others for the host only.
//
// Lengths are in metres, times in nanoseconds. z points up, the origin is the centre of the array,
// and the modules face down.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <bit>
#include <cstdint>

namespace wellspring::telescope {

inline constexpr int kMostStrings = 128, kMostModules = 128;
inline constexpr double kLightSpeed = 0.299792458;  ///< m / ns
/// Within this distance (m) the geometric factors 1 / d and 1 / d^2 stop growing.
inline constexpr float kNearest = 1;
/// Smallest expected number of photons that a random word can distinguish from 0.
inline constexpr float kFewest = 0x1p-24f;

struct Vector {
  float x, y, z;
};
WS_INLINE float dot(const Vector& a, const Vector& b) {
  return math::fma(a.x, b.x, math::fma(a.y, b.y, a.z * b.z));
}

/// String positions: a triangular lattice centred between two neighbouring sites, innermost first.
struct Array {
  std::int32_t strings = 0, modules = 0;
  float module_spacing = 0;
  float x[kMostStrings] = {}, y[kMostStrings] = {};

  WS_INLINE Vector place(int string, int module) const {
    const float middle = 0.5f * static_cast<float>(modules - 1);
    return {x[string], y[string], (middle - static_cast<float>(module)) * module_spacing};
  }
};
Array triangular_array(int strings, int modules, double string_spacing, double module_spacing);

/// Parameters of ice and light.
struct Ice {
  double phase_index, group_index;
  double tau, lambda, lambda_a;  ///< ns, m, m
  double attenuation;            ///< m
  double light;                  ///< photons per metre of track
  double track_gain, cascade_length, cascade_forward;
  double area;        ///< m^2
  double acceptance;  ///< acceptance of light from below divided by the mean acceptance, minus 1
};

/// Derived constants.
struct Optics {
  float cosine, sine;  ///< Cherenkov angle
  float per_c;         ///< ns / m
  float track_slope;   ///< ns per m of distance from a track
  float cascade_slope;
  float rho;         ///< 1 / ns
  float per_lambda;  ///< 1 / m
  float attenuation, per_attenuation;
  float track_light, track_gain, cascade_light;  ///< expected photons, times m or m^2
  float acceptance, forward;
};
/// The phase index determines theta_c; the group index n_g determines the speed of pulses. Light
/// from a track reaches the distance d with the delay d (n_g / sin theta_c - 1 / tan theta_c) / c:
/// P. Price, K. Woschnagg, Astropart. Phys. 15 (2001) 97. With equal indices this is d tan theta_c
/// / c, as in J. Ahrens et al., Nucl. Instrum. Meth. A 524 (2004) 169.
Optics optics_of(const Ice& ice);

enum class Hypothesis : std::uint8_t { cascade, track };

struct Event {
  Hypothesis hypothesis;
  Vector direction;  ///< direction of travel
  Vector vertex;
  float start;       ///< time at the vertex
  float yield;       ///< expected photons, before the distance and angle factors
  float log2_bound;  ///< log2 of the maximum beyond kNearest, before the distance factor
};

/// Geometry from the vertex or track to a module.
struct Ray {
  float distance;  ///< to the track, or to the vertex
  float along;     ///< from the vertex to the track's nearest point
  float up;        ///< cosine between the light's direction and the vertical
  float forward;   ///< cosine between the light's direction and the direction of travel
};

/// Square of Ray::distance.
WS_INLINE float distance_squared(const Event& event, const Vector& place) {
  const Vector r = {place.x - event.vertex.x, place.y - event.vertex.y, place.z - event.vertex.z};
  const Vector& p = event.direction;
  const Vector across = {math::fma(r.y, p.z, -(r.z * p.y)), math::fma(r.z, p.x, -(r.x * p.z)),
                         math::fma(r.x, p.y, -(r.y * p.x))};
  const float from_vertex = dot(r, r), from_track = dot(across, across);
  return event.hypothesis == Hypothesis::cascade ? from_vertex : from_track;
}

WS_INLINE Ray ray(const Optics& optics, const Event& event, const Vector& place) {
  const Vector r = {place.x - event.vertex.x, place.y - event.vertex.y, place.z - event.vertex.z};
  const Vector& p = event.direction;
  Ray ray;
  ray.distance = math::sqrt(distance_squared(event, place));
  ray.along = dot(r, p);
  const float per_distance = ray.distance > 0 ? 1 / ray.distance : 0;
  if (event.hypothesis == Hypothesis::cascade) {
    ray.up = r.z * per_distance;
    ray.forward = math::clamp(ray.along * per_distance, -1, 1);
  } else {  // on the Cherenkov cone about the direction of travel
    const float out = math::fma(-ray.along, p.z, r.z) * per_distance;
    ray.up = math::fma(optics.sine, out, optics.cosine * p.z);
    ray.forward = optics.cosine;
  }
  ray.up = math::clamp(ray.up, -1, 1);
  return ray;
}

/// Arrival time of unscattered light.
WS_INLINE float geometric_time(const Optics& optics, const Event& event, const Ray& ray) {
  const float late = event.hypothesis == Hypothesis::cascade
                         ? ray.distance * optics.cascade_slope
                         : math::fma(ray.along, optics.per_c, ray.distance * optics.track_slope);
  return event.start + late;
}

/// Shape of the gamma distribution of delays, with rate Optics::rho: D. Pandel's shape, with the
/// effective distance of J. Ahrens et al., Nucl. Instrum. Meth. A 524 (2004) 169.
WS_INLINE float delay_shape(const Optics& optics, const Ray& ray) {
  const float angle = math::fma(math::fma(4.636f, ray.up, -3.946f), ray.up, 3.094f);
  return math::fma(0.8395f, ray.distance, angle) * optics.per_lambda;
}

WS_INLINE float expected_photons(const Optics& optics, const Event& event, const Ray& ray) {
  const float d = math::max(ray.distance, kNearest);
  const float seen = event.yield * math::fma(optics.acceptance, ray.up, 1.0f) *
                     math::exp(-ray.distance * optics.per_attenuation);
  if (event.hypothesis == Hypothesis::track) return seen / d;
  return seen * math::fma(optics.forward, ray.forward, 1.0f) / (d * d);
}

/// Sets yield and log2_bound from hypothesis and energy (GeV).
WS_INLINE void light_up(const Optics& optics, float energy, Event& event) {
  const bool track = event.hypothesis == Hypothesis::track;
  event.yield = track ? optics.track_light * math::fma(optics.track_gain, energy, 1.0f)
                      : optics.cascade_light * energy;
  const float most = event.yield * (1 + optics.acceptance) * (track ? 1 : 1 + optics.forward);
  event.log2_bound = math::log2(most) + 0.001f;
}

/// The exponent of a positive float: floor(log2(x)).
WS_INLINE float exponent_below(float x) {
  return static_cast<float>(static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(x) >> 23) - 127);
}

/// False only if a module at this squared distance certainly expects fewer than `least` photons.
/// Compares the exponents of distance and photons and ignores angles, so most modules need no
/// root or exponential.
WS_INLINE bool may_expect(const Optics& optics, const Event& event, float squared, float least) {
  constexpr float kLn2 = 0x1.62e430p-1f, kSlack = 1.0001f;
  const float power = event.hypothesis == Hypothesis::track ? 0.5f : 1.0f;  // exponent of `squared`
  const float distance_bits = exponent_below(math::max(squared, 1));
  const float bits =
      event.log2_bound - exponent_below(math::max(least, kFewest)) - power * distance_bits;
  const float reach = kSlack * kLn2 * optics.attenuation * bits;
  return bits > 0 && squared <= reach * reach * kSlack;
}

/// Decreases as time increases; never 0.
WS_INLINE std::uint32_t time_key(float time) {
  const auto bits = std::bit_cast<std::uint32_t>(time);
  return (bits >> 31) != 0 ? bits : ~(bits | 0x80000000u);
}
WS_INLINE float time_of(std::uint32_t key) {
  return std::bit_cast<float>((key >> 31) != 0 ? key : ~key & 0x7fffffffu);
}

}  // namespace wellspring::telescope
