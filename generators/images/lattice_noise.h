// Noise on the integer lattice of the plane: gradient noise, simplex noise, and distances to the
// nearest features of a cellular pattern. Values are hashes of a lattice point's coordinates under
// a key, so the plane has no border and no period below 2^32. Used by generator `textures`; host
// and device.
//
// Sources: K. Perlin, "An image synthesizer", SIGGRAPH 1985, and "Improving noise", SIGGRAPH 2002
// (quintic fade). Simplex noise: K. Perlin, "Noise hardware", SIGGRAPH course 36 (2001), as written
// by S. Gustavson, "Simplex noise demystified" (2005), with a support of radius sqrt(1/2), which
// makes it continuous. Cells: S. Worley, "A cellular texture basis function", SIGGRAPH 1996. The
// hash is the finaliser of A. Appleby's MurmurHash3.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <bit>
#include <cstdint>

namespace wellspring::lattice {

/// Mixes the bits of a word; bijective.
WS_INLINE constexpr std::uint32_t mix(std::uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ h >> 16;
}

/// Key for a lattice's hashes.
struct Key {
  std::uint32_t column = 0, row = 0;

  /// Key of another lattice.
  WS_INLINE constexpr Key next(std::uint32_t number) const {
    return {mix(column + number), mix(row + number)};
  }
};

/// Hash of lattice point (x, y), computed in two steps because neighbours share the hash of their
/// column.
WS_INLINE constexpr std::uint32_t column_hash(Key key, std::int32_t x) {
  return mix(static_cast<std::uint32_t>(x) ^ key.column);
}
WS_INLINE constexpr std::uint32_t point_hash(Key key, std::uint32_t column, std::int32_t y) {
  return mix((column + static_cast<std::uint32_t>(y)) ^ key.row);
}

WS_INLINE std::int32_t floor_int(float x) {
  return static_cast<std::int32_t>(math::floor(x));
}

/// 6 t^5 - 15 t^4 + 10 t^3: its first and second derivatives vanish at 0 and 1.
WS_INLINE float fade(float t) {
  return t * t * t * math::fma(t, math::fma(t, 6.f, -15.f), 10.f);
}

/// Projection of (x, y) on a gradient chosen by bits 0 to 2 of the hash. The eight unit vectors are
/// at odd multiples of 22.5 degrees, so they are never parallel to an axis of the lattice.
WS_INLINE float along_gradient(std::uint32_t hash, float x, float y) {
  constexpr float kCosine = 0.92387953f, kSine = 0.38268343f;  // at 22.5 degrees
  const bool steep = (hash & 1u) != 0;
  const float gx = steep ? kSine : kCosine, gy = steep ? kCosine : kSine;
  const auto turned = [](float g, std::uint32_t sign) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(g) ^ sign);
  };
  return math::fma(turned(gx, (hash & 2u) << 30), x, turned(gy, (hash & 4u) << 29) * y);
}

/// Two independent values at one point.
struct Two {
  float first, second;
};

/// Position of a point in its lattice cell, and the hashes of the cell's corners.
struct GradientCell {
  float x, y;
  std::uint32_t h00, h10, h01, h11;

  WS_INLINE GradientCell(Key key, float px, float py) {
    const float x0 = math::floor(px), y0 = math::floor(py);
    const auto ix = static_cast<std::int32_t>(x0), iy = static_cast<std::int32_t>(y0);
    x = px - x0;
    y = py - y0;
    const std::uint32_t left = column_hash(key, ix), right = column_hash(key, ix + 1);
    h00 = point_hash(key, left, iy);
    h10 = point_hash(key, right, iy);
    h01 = point_hash(key, left, iy + 1);
    h11 = point_hash(key, right, iy + 1);
  }

  /// Noise whose gradients are chosen by bits `shift` to `shift` + 2 of the hashes.
  WS_INLINE float value(int shift) const {
    const float u = fade(x), v = fade(y);
    const float top =
        math::lerp(along_gradient(h00 >> shift, x, y), along_gradient(h10 >> shift, x - 1, y), u);
    const float bottom = math::lerp(along_gradient(h01 >> shift, x, y - 1),
                                    along_gradient(h11 >> shift, x - 1, y - 1), u);
    return 1.4142135f * math::lerp(top, bottom, v);
  }
};

/// Perlin's gradient noise, in [-1, 1]. It reaches the bounds in the middle of a cell if all
/// gradients point there. It is 0 at lattice points and has mean 0 and standard deviation
/// kGradientDeviation.
WS_INLINE float gradient_noise(Key key, float x, float y) {
  return GradientCell(key, x, y).value(0);
}
/// Two independent gradient noises at one point, from one lattice.
WS_INLINE Two gradient_noises(Key key, float x, float y) {
  const GradientCell cell(key, x, y);
  return {cell.value(0), cell.value(3)};
}
/// sqrt(8 A B) where A and B are the integrals of (1 - fade)^2 and t^2 (1 - fade)^2 over [0, 1].
inline constexpr float kGradientDeviation = 0.30506114f;

/// Simplex noise, in [-1, 1], with mean 0 and standard deviation kSimplexDeviation. The corners of
/// its triangles are the lattice points in axes at 60 degrees; each side is sqrt(2/3) long.
WS_INLINE float simplex_noise(Key key, float x, float y) {
  constexpr float kSkew = 0.36602540f, kUnskew = 0.21132487f;  // (sqrt 3 - 1) / 2, (3 - sqrt 3) / 6
  const float skew = (x + y) * kSkew;
  const float i = math::floor(x + skew), j = math::floor(y + skew);
  const float back = (i + j) * kUnskew;
  const float x0 = x - (i - back), y0 = y - (j - back);
  const bool right = x0 > y0;  // the triangle of the rhombus with corner (1, 0)
  const float x1 = x0 - (right ? 1.f : 0.f) + kUnskew, y1 = y0 - (right ? 0.f : 1.f) + kUnskew;
  const float x2 = x0 - 1 + 2 * kUnskew, y2 = y0 - 1 + 2 * kUnskew;
  const auto ix = static_cast<std::int32_t>(i), iy = static_cast<std::int32_t>(j);
  const std::uint32_t near = column_hash(key, ix), far = column_hash(key, ix + 1);
  const std::uint32_t h0 = point_hash(key, near, iy);
  const std::uint32_t h1 = point_hash(key, right ? far : near, right ? iy : iy + 1);
  const std::uint32_t h2 = point_hash(key, far, iy + 1);
  const auto corner = [](std::uint32_t hash, float dx, float dy) {
    const float inside = math::max(0.5f - math::fma(dx, dx, dy * dy), 0.f);
    const float square = inside * inside;
    return square * square * along_gradient(hash, dx, dy);
  };
  // 1 / 99.2043 is the largest sum; it is reached when all gradients point to one point.
  return 99.204f * (corner(h0, x0, y0) + corner(h1, x1, y1) + corner(h2, x2, y2));
}
/// Computed by quadrature of the squared kernels over a triangle, as is the bound above.
inline constexpr float kSimplexDeviation = 0.53901f;

/// Width of the central part of a cell that contains its feature. With this width, the two features
/// nearest to a point are always in the 4 x 4 cells around it. Proof: with margins m on both sides
/// of a cell, every other feature is at least 3/2 + m away. Two of the 16 features are nearer than
/// sqrt((3/2 - m)^2 + (1/2 - m)^2). This is smaller than 3/2 + m if m > (7 - sqrt 48) / 2 = 0.036.
inline constexpr float kFeatureSpread = 0.9f;

/// Position of the feature in its cell, from 16 bits of a hash per axis.
WS_INLINE float feature_place(std::uint32_t bits) {
  return math::fma(static_cast<float>(static_cast<std::int32_t>(bits & 0xffffu)),
                   kFeatureSpread * 0x1p-16f, 0.5f - 0.5f * kFeatureSpread);
}

/// The smaller and the larger of two squares. A device has one instruction for each. For a NaN, its
/// result differs from that of math::min and math::max.
WS_INLINE float smaller(float a, float b) {
#if WS_DEVICE_CODE
  return fminf(a, b);
#else
  return math::min(a, b);
#endif
}
WS_INLINE float larger(float a, float b) {
#if WS_DEVICE_CODE
  return fmaxf(a, b);
#else
  return math::max(a, b);
#endif
}

/// Worley's F1 and F2 at N points: distances to the nearest and second-nearest feature, with one
/// feature per cell.
template <int N>
WS_INLINE void feature_distances(Key key, const float (&x)[N], const float (&y)[N], float (&f1)[N],
                                 float (&f2)[N]) {
  std::int32_t ix[N], iy[N];
  float px[N], py[N];
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const float x0 = math::floor(x[i] - 0.5f), y0 = math::floor(y[i] - 0.5f);
    ix[i] = static_cast<std::int32_t>(x0);
    iy[i] = static_cast<std::int32_t>(y0);
    px[i] = x[i] - x0;
    py[i] = y[i] - y0;
    f1[i] = f2[i] = 64;
  }
  for (int dx = -1; dx <= 2; ++dx) {
    std::uint32_t column[N];
    WS_LANES
    for (int i = 0; i < N; ++i) column[i] = column_hash(key, ix[i] + dx);
    for (int dy = -1; dy <= 2; ++dy) {
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const std::uint32_t hash = point_hash(key, column[i], iy[i] + dy);
        const float from_x = static_cast<float>(dx) + feature_place(hash) - px[i];
        const float from_y = static_cast<float>(dy) + feature_place(hash >> 16) - py[i];
        const float square = math::fma(from_x, from_x, from_y * from_y);
        f2[i] = smaller(f2[i], larger(f1[i], square));
        f1[i] = smaller(f1[i], square);
      }
    }
  }
  WS_LANES
  for (int i = 0; i < N; ++i) {
    f1[i] = math::sqrt(f1[i]);
    f2[i] = math::sqrt(f2[i]);
  }
}
/// Means and standard deviations of F1, F2 and F2 - F1, from six million points of random lattices.
inline constexpr float kF1Mean = 0.4221f, kF1Deviation = 0.1834f;
inline constexpr float kF2Mean = 0.6993f, kF2Deviation = 0.1674f;
inline constexpr float kEdgeMean = 0.2771f, kEdgeDeviation = 0.2028f;

}  // namespace wellspring::lattice
