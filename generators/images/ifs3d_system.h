// Iterated function systems in 3D: affine maps, walkers, and the camera that views their points.
// Used by generator `ifs3d`, its search for categories and its tests; host and device.
//
// R. Yamada et al., "Point cloud pre-training with natural 3D structures", CVPR 2022 (systems); H.
// Kataoka et al., "Replacing labeled real-image datasets with auto-generated contours", CVPR 2022
// (ExFractalDB, its views).
#pragma once

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <bit>
#include <cstdint>

namespace wellspring::ifs3d {

inline constexpr int kMaxMaps = 7;
inline constexpr int kCoefficients = 12;
/// Variations of a system: unchanged, or one coefficient of all maps multiplied by 0.4, 0.5, ...
/// 1.6 (without 1).
inline constexpr int kFactors = 12, kVariations = 1 + kFactors * kCoefficients;
/// Upper limit of selectors, exclusive; see System::upto.
inline constexpr std::uint32_t kSelectors = 1u << 16;

/// Row r of x -> A x + b is (value[3 r], value[3 r + 1], value[3 r + 2]) and value[9 + r].
struct Map {
  float value[kCoefficients];
};

/// Maps and their probabilities. Map i is chosen for selectors in [upto[i - 1], upto[i]); after the
/// last map, `upto` is kSelectors.
struct System {
  std::int32_t maps;
  Map map[kMaxMaps];
  std::uint32_t upto[kMaxMaps];
};

WS_INLINE int map_of(const std::uint32_t (&upto)[kMaxMaps], std::uint32_t selector) {
  int index = 0;
  WS_UNROLL(6)
  for (int i = 0; i < kMaxMaps - 1; ++i) index += selector >= upto[i] ? 1 : 0;
  return index;
}

/// Factor of a variation on one coefficient of every map. Variation 0 changes nothing; variation 1
/// + 12 p + j multiplies coefficient p by (4 + j) / 10 for j < 6 and by (5 + j) / 10 otherwise.
struct Weighting {
  int coefficient;  ///< -1: none
  float factor;
};
WS_INLINE Weighting weighting(int variation) {
  if (variation == 0) return {-1, 1.0f};
  const int step = (variation - 1) % kFactors;
  const auto tenths = static_cast<float>(step < 6 ? 4 + step : 5 + step);
  return {(variation - 1) / kFactors, tenths / 10};
}
WS_INLINE void vary(System& system, int variation) {
  const Weighting weight = weighting(variation);
  for (int i = 0; i < kMaxMaps; ++i) {
    WS_UNROLL(12)
    for (int c = 0; c < kCoefficients; ++c) {
      if (c == weight.coefficient) system.map[i].value[c] *= weight.factor;
    }
  }
}

/// Maps a system's coordinates to cells: point p has the depth d = depth . p + depth_at, column
/// (across . p + across_at) / d + centre_x and row (down . p + down_at) / d + centre_y.
struct Camera {
  float across[3], down[3], depth[3];
  float across_at, down_at, depth_at;
  float centre_x, centre_y;
};

/// Normalisation of a model: p -> scale (p - centre), with all points within a cube of side 2.
struct Frame {
  float scale, centre[3];
  float start[3];  ///< a point of the model, in its system's own coordinates
};

/// Published values: distance between camera and centroid of the model, and nearest visible depth.
/// The full field of view follows below.
inline constexpr float kDistance = 4, kNear = 1;
/// 1 / tan(45 degrees / 2).
inline constexpr float kFocal = 0x1.3504f4p+1f;

/// Camera that points at the centroid along (cos e cos a, sin e, -cos e sin a), with azimuth a
/// about the vertical y axis and elevation e, both given as sine and cosine. The picture has
/// `width` x `height` pixels. Its smaller side spans 45 degrees, and its first pixel is cell
/// (border, border).
WS_INLINE Camera camera(const Frame& frame, math::SinCos a, math::SinCos e, int width, int height,
                        int border) {
  const float half = 0.5f * static_cast<float>(width < height ? width : height);
  const float zoom = kFocal * half;
  const float forward[3] = {e.cosine * a.cosine, e.sine, -(e.cosine * a.sine)};
  const float right[3] = {a.sine, 0.0f, a.cosine};
  const float up[3] = {-(e.sine * a.cosine), e.cosine, e.sine * a.sine};
  Camera seen = {};
  WS_UNROLL(3)
  for (int i = 0; i < 3; ++i) {
    seen.across[i] = zoom * frame.scale * right[i];
    seen.down[i] = -(zoom * frame.scale * up[i]);
    seen.depth[i] = frame.scale * forward[i];
  }
  const auto back = [&](const float(&row)[3]) {
    return -math::fma(row[0], frame.centre[0],
                      math::fma(row[1], frame.centre[1], row[2] * frame.centre[2]));
  };
  seen.across_at = back(seen.across);
  seen.down_at = back(seen.down);
  seen.depth_at = kDistance + back(seen.depth);
  seen.centre_x = static_cast<float>(border) + 0.5f * static_cast<float>(width);
  seen.centre_y = static_cast<float>(border) + 0.5f * static_cast<float>(height);
  return seen;
}

/// Larger for nearer points, so that cells can keep the maximum. Positive for depths above 0.
WS_INLINE std::uint32_t nearness(float depth) {
  return 0x7f800000u - std::bit_cast<std::uint32_t>(depth);
}
WS_INLINE float depth_of(std::uint32_t nearness) {
  return std::bit_cast<float>(0x7f800000u - nearness);
}

/// Properties of the sample that do not depend on the launch.
struct Walk {
  std::int32_t walkers, burn_in, points;
  float start[3];
};

#if WS_DEVICE_CODE
#define WS_WALKERS_3D 1
#else
#define WS_WALKERS_3D 16
#endif
#if WS_DEVICE_CODE || defined(__CUDACC__)
#define WS_WALKER_LOOP_3D
#else
#define WS_WALKER_LOOP_3D _Pragma("omp simd")
#endif

/// Moves the walkers of pieces `first_piece`, `first_piece` + `stride`, ... (WS_WALKERS_3D walkers
/// each), and calls hit(cell, nearness) for each visible point on `width` x `height` cells. Point
/// number t = step * walkers + walker, counting steps after the burn-in, does not depend on how the
/// pieces are distributed.
template <class Hit>
WS_INLINE void walk(std::int64_t first_piece, std::int64_t stride, const System& system,
                    const Walk& walk, const Camera& seen, int width, int height,
                    const SampleRng& rng, const Hit& hit) {
  constexpr int N = WS_WALKERS_3D;
  const int steps = walk.burn_in + (walk.points + walk.walkers - 1) / walk.walkers;
  const auto columns = static_cast<float>(width), rows = static_cast<float>(height);
  for (std::int64_t piece = first_piece; piece * N < walk.walkers; piece += stride) {
    const int first = static_cast<int>(piece) * N;
    float x[N], y[N], z[N];
    for (int l = 0; l < N; ++l) {
      x[l] = walk.start[0];
      y[l] = walk.start[1];
      z[l] = walk.start[2];
    }
    for (int block = 0; 8 * block < steps; ++block) {
      std::uint32_t words[4][N];
      const int draw = block * walk.walkers + first;
      WS_WALKER_LOOP_3D
      for (int l = 0; l < N; ++l) {
        const Philox4 drawn = rng.block(Purpose::texture, static_cast<std::uint32_t>(draw + l));
        WS_UNROLL(4)
        for (int k = 0; k < 4; ++k) words[k][l] = drawn.word[k];
      }
      WS_UNROLL(8)
      for (int k = 0; k < 8; ++k) {
        const int step = 8 * block + k;
        if (step >= steps) continue;
        WS_WALKER_LOOP_3D
        for (int l = 0; l < N; ++l) {
          const std::uint32_t selector = words[k / 2][l] >> (k % 2 == 0 ? 0 : 16) & 0xffffu;
          const float* const m = system.map[map_of(system.upto, selector)].value;
          const float to_x =
              math::fma(m[0], x[l], math::fma(m[1], y[l], math::fma(m[2], z[l], m[9])));
          const float to_y =
              math::fma(m[3], x[l], math::fma(m[4], y[l], math::fma(m[5], z[l], m[10])));
          z[l] = math::fma(m[6], x[l], math::fma(m[7], y[l], math::fma(m[8], z[l], m[11])));
          x[l] = to_x;
          y[l] = to_y;
        }
        if (step < walk.burn_in) continue;
        const int number = (step - walk.burn_in) * walk.walkers + first;
        const int left = walk.walkers - first, wanted = walk.points - number;
        const int count = left < wanted ? left : wanted;
        std::int32_t cell[N];
        float depth[N];
        const auto along = [&](const float(&row)[3], float at, int l) {
          return math::fma(row[0], x[l], math::fma(row[1], y[l], math::fma(row[2], z[l], at)));
        };
        WS_WALKER_LOOP_3D
        for (int l = 0; l < N; ++l) {
          depth[l] = along(seen.depth, seen.depth_at, l);
          const float column = along(seen.across, seen.across_at, l) / depth[l] + seen.centre_x;
          const float row = along(seen.down, seen.down_at, l) / depth[l] + seen.centre_y;
          // NaN also fails these tests.
          const int inside = static_cast<int>(depth[l] >= kNear) &
                             static_cast<int>(depth[l] < math::kInfinity) &
                             static_cast<int>(column >= 0) & static_cast<int>(column < columns) &
                             static_cast<int>(row >= 0) & static_cast<int>(row < rows) &
                             static_cast<int>(l < count);
          const auto i = static_cast<std::int32_t>(inside != 0 ? column : 0.0f);
          const auto j = static_cast<std::int32_t>(inside != 0 ? row : 0.0f);
          cell[l] = inside != 0 ? j * width + i : -1;
        }
        for (int l = 0; l < N; ++l) {
          if (cell[l] >= 0) hit(cell[l], nearness(depth[l]));
        }
      }
    }
  }
}

}  // namespace wellspring::ifs3d
