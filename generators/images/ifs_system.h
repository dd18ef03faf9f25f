// Iterated function systems: affine maps of the plane and vectorised walkers; at each step one map
// moves the point. Used by generator `ifs`, its search for categories and its tests; host and
// device.
//
// M. Barnsley, S. Demko, "Iterated function systems and the global construction of fractals", Proc.
// R. Soc. A 399 (1985) 243; for classes of images: H. Kataoka et al., "Pre-training without natural
// images", ACCV 2020 (FractalDB).
#pragma once

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <bit>
#include <cstdint>

namespace wellspring::ifs {

inline constexpr int kMaxMaps = 7;       ///< FractalDB: 2 to 7
inline constexpr int kCoefficients = 6;  ///< per map
/// Weight variations of a category: unchanged, or one coefficient of all maps multiplied by one of
/// four factors.
inline constexpr int kVariations = 1 + 4 * kCoefficients;
/// Upper limit of selectors, exclusive; see System::upto.
inline constexpr std::uint32_t kSelectors = 1u << 16;

/// (x, y) -> (a x + b y + e, c x + d y + f).
struct Map {
  float a, b, c, d, e, f;
};

/// Maps and their probabilities. Map i is chosen for selectors in [upto[i - 1], upto[i]); after the
/// last map, `upto` is kSelectors.
struct System {
  std::int32_t maps;
  Map map[kMaxMaps];
  std::uint32_t upto[kMaxMaps];
};

/// Numbered drawings have their own random numbers under the categories' seed. This is their first
/// index, above all categories.
inline constexpr std::uint64_t kDrawings = std::uint64_t{1} << 63;

/// Index of the map for a selector in [0, kSelectors).
WS_INLINE int map_of(const std::uint32_t (&upto)[kMaxMaps], std::uint32_t selector) {
  int index = 0;
  WS_UNROLL(6)
  for (int i = 0; i < kMaxMaps - 1; ++i) index += selector >= upto[i] ? 1 : 0;
  return index;
}

/// Variation 0 changes nothing; 1 + 4 p + j multiplies coefficient p of every map by 1 - 2 w, 1 -
/// w, 1 + w or 1 + 2 w (j = 0..3).
WS_INLINE Map vary(const Map& map, int variation, float w) {
  if (variation == 0) return map;
  const int which = (variation - 1) / 4, step = (variation - 1) % 4;
  const float factor = math::fma(static_cast<float>(step < 2 ? step - 2 : step - 1), w, 1.0f);
  Map varied = map;
  if (which == 0) varied.a = map.a * factor;
  if (which == 1) varied.b = map.b * factor;
  if (which == 2) varied.c = map.c * factor;
  if (which == 3) varied.d = map.d * factor;
  if (which == 4) varied.e = map.e * factor;
  if (which == 5) varied.f = map.f * factor;
  return varied;
}

/// Maps points of the plane to the canvas: cell (floor(sx x + ox), floor(sy y + oy)).
struct Placing {
  float sx, ox, sy, oy;
};

/// Scale and offset of one axis: [low, high] fills `side` cells from `begin` on, except for a
/// margin on both sides. Mirrored if `flipped`.
WS_INLINE void place(float begin, float side, float margin, float low, float high, bool flipped,
                     float& scale, float& offset) {
  const float width = high - low;
  // A window of zero width shows nothing; only degenerate variations that were kept have one.
  const float stretch = width > 0 ? (side - 2 * margin) / width : 0.0f;
  if (flipped) {
    scale = -stretch;
    offset = begin + (side - margin) + stretch * low;
  } else {
    scale = stretch;
    offset = begin + margin - stretch * low;
  }
}

/// Parameters of the chaos game. They are properties of the sample and do not depend on the launch.
struct Walk {
  std::int32_t walkers;           ///< at least 1; walker w starts its draws at number w
  std::int32_t burn_in;           ///< number of undrawn steps at the start of each walker
  std::int32_t points;            ///< points drawn by all walkers together, at most kMostPoints
  float start_x, start_y;         ///< start of every walker: a point of the attractor
  std::uint32_t first_block = 0;  ///< first block of random numbers
};

/// `walkers`, limited so that each draws at least four of the `points`.
WS_INLINE std::int32_t walkers_for(std::int32_t walkers, std::int32_t points) {
  const std::int32_t most = points < 8 ? 1 : points / 4;
  return walkers < most ? walkers : most;
}

/// A cell holds the last point that fell into it: its number + 1, then nine random bits for the
/// patch around it. 0: no point.
inline constexpr int kMaskBits = 9;
inline constexpr std::int32_t kMostPoints = (1 << (32 - kMaskBits)) - 2;

/// Uniform in 1..511, from the low half of a word (the probabilities are equal within 1 %).
WS_INLINE std::uint32_t patch_mask(std::uint32_t word) {
  return (((word & 0xffffu) * 511u) >> 16) + 1u;
}

/// 1 + index of the point visible in the pixel of a cell; 0 if no point is visible. Nine points
/// have patches that may cover the pixel; of the patches that do, the latest is visible.
WS_INLINE std::uint32_t seen_patch(const std::uint32_t* centre, int stride) {
  std::uint32_t latest = 0;
  WS_UNROLL(9)
  for (int i = 0; i < 9; ++i) {
    const std::uint32_t cell = centre[(i / 3 - 1) * stride + i % 3 - 1];
    const std::uint32_t number = cell >> kMaskBits << kMaskBits;
    const std::uint32_t candidate = number | (cell >> (8 - i) & 1u);
    latest = candidate > latest ? candidate : latest;
  }
  return (latest & 1u) != 0 ? latest >> kMaskBits : 0u;
}

/// Number of walkers that a member moves at once: the vector lanes on the host, one on a device. It
/// does not affect the result.
#if WS_DEVICE_CODE
#define WS_WALKERS 1
#else
#define WS_WALKERS 16
#endif
/// Precedes a loop over walkers.
#if WS_DEVICE_CODE || defined(__CUDACC__)
#define WS_WALKER_LOOP
#else
#define WS_WALKER_LOOP _Pragma("omp simd")
#endif

/// One map per walker.
template <int N>
struct MapLanes {
  float a[N], b[N], c[N], d[N], e[N], f[N];
};

#if defined(__AVX2__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
/// Finds the maps of N walkers. Eight values of a coefficient form one vector, which one
/// instruction indexes.
class MapFinder {
 public:
  explicit MapFinder(const System& system) {
    for (int i = 0; i < kMaxMaps; ++i) {
      const Map& map = system.map[i];
      const float values[kCoefficients] = {map.a, map.b, map.c, map.d, map.e, map.f};
      for (int c = 0; c < kCoefficients; ++c) column_[c][i] = values[c];
    }
  }
  template <int N>
  WS_INLINE void find(const std::int32_t* index, MapLanes<N>& maps) const {
    float* const out[kCoefficients] = {maps.a, maps.b, maps.c, maps.d, maps.e, maps.f};
    WS_UNROLL(2)
    for (int l = 0; l < N; l += 8) {
      Integers at;
      __builtin_memcpy(&at, index + l, sizeof at);
      WS_UNROLL(6)
      for (int c = 0; c < kCoefficients; ++c) {
        const Floats found = __builtin_shuffle(column_[c], at);
        __builtin_memcpy(out[c] + l, &found, sizeof found);
      }
    }
  }

 private:
  typedef float Floats __attribute__((vector_size(32)));
  typedef std::int32_t Integers __attribute__((vector_size(32)));
  Floats column_[kCoefficients] = {};
};
#else
class MapFinder {
 public:
  WS_INLINE explicit MapFinder(const System& system) : system_(system) {}
  template <int N>
  WS_INLINE void find(const std::int32_t* index, MapLanes<N>& maps) const {
    WS_WALKER_LOOP
    for (int l = 0; l < N; ++l) {
      const Map& map = system_.map[index[l]];
      maps.a[l] = map.a;
      maps.b[l] = map.b;
      maps.c[l] = map.c;
      maps.d[l] = map.d;
      maps.e[l] = map.e;
      maps.f[l] = map.f;
    }
  }

 private:
  const System& system_;
};
#endif

/// N walkers and their positions.
template <int N>
struct Walkers {
  float x[N], y[N];

  WS_INLINE Walkers(float start_x, float start_y) {
    for (int l = 0; l < N; ++l) {
      x[l] = start_x;
      y[l] = start_y;
    }
  }
  WS_INLINE void move(const MapLanes<N>& maps) {
    WS_WALKER_LOOP
    for (int l = 0; l < N; ++l) {
      const float moved = math::fma(maps.a[l], x[l], math::fma(maps.b[l], y[l], maps.e[l]));
      y[l] = math::fma(maps.c[l], x[l], math::fma(maps.d[l], y[l], maps.f[l]));
      x[l] = moved;
    }
  }
  /// Cells of the first `count` walkers; -1 for the other walkers and outside the canvas.
  WS_INLINE void locate(const Placing& placing, int width, int height, int count,
                        std::int32_t (&cell)[N]) const {
    const auto columns = static_cast<float>(width), rows = static_cast<float>(height);
    WS_WALKER_LOOP
    for (int l = 0; l < N; ++l) {
      const float column = math::fma(placing.sx, x[l], placing.ox);
      const float row = math::fma(placing.sy, y[l], placing.oy);
      // NaN also fails these tests. They are branch-free, so that the lanes stay together.
      const int inside = static_cast<int>(column >= 0) & static_cast<int>(column < columns) &
                         static_cast<int>(row >= 0) & static_cast<int>(row < rows) &
                         static_cast<int>(l < count);
      const auto i = static_cast<std::int32_t>(inside != 0 ? column : 0.0f);
      const auto j = static_cast<std::int32_t>(inside != 0 ? row : 0.0f);
      cell[l] = inside != 0 ? j * width + i : -1;
    }
  }
};

/// Moves the walkers of pieces `first`, `first` + `stride`, ... (WS_WALKERS walkers each), and calls
/// visit(walkers, words, number, count) after each step whose points are drawn: the first `count`
/// walkers of the piece draw the points `number`, `number` + 1, ..., with the random words `words`.
/// Point number t = step * walkers + walker, counting steps after the burn-in, does not depend on how
/// the pieces are distributed.
template <class Visit>
WS_INLINE void walk_pieces(std::int64_t first_piece, std::int64_t stride, const System& system,
                           const Walk& walk, const SampleRng& rng, const Visit& visit) {
  constexpr int N = WS_WALKERS;
  const int steps = walk.burn_in + (walk.points + walk.walkers - 1) / walk.walkers;
  const MapFinder finder(system);
  for (std::int64_t piece = first_piece; piece * N < walk.walkers; piece += stride) {
    const int first = static_cast<int>(piece) * N;
    Walkers<N> walkers(walk.start_x, walk.start_y);
    for (int block = 0; 4 * block < steps; ++block) {
      std::uint32_t words[4][N];
      const int draw = block * walk.walkers + first;
      WS_WALKER_LOOP
      for (int l = 0; l < N; ++l) {
        const Philox4 drawn =
            rng.block(Purpose::texture, walk.first_block + static_cast<std::uint32_t>(draw + l));
        WS_UNROLL(4)
        for (int k = 0; k < 4; ++k) words[k][l] = drawn.word[k];
      }
      WS_UNROLL(4)
      for (int k = 0; k < 4; ++k) {
        const int step = 4 * block + k;
        if (step >= steps) continue;
        std::int32_t index[N];
        WS_WALKER_LOOP
        for (int l = 0; l < N; ++l) index[l] = map_of(system.upto, words[k][l] >> 16);
        MapLanes<N> maps;
        finder.template find<N>(index, maps);
        walkers.move(maps);
        if (step < walk.burn_in) continue;

        const int number = (step - walk.burn_in) * walk.walkers + first;  // first walker
        const int left = walk.walkers - first, wanted = walk.points - number;
        visit(walkers, words[k], number, left < wanted ? left : wanted);
      }
    }
  }
}

/// Calls hit(cell, value) for each point of the walkers of pieces `first`, `first` + `stride`, ... on
/// a canvas of `width` x `height` cells. A canvas that keeps the largest value per cell does not
/// depend on how the pieces are distributed.
template <class Hit>
WS_INLINE void walk(std::int64_t first_piece, std::int64_t stride, const System& system,
                    const Walk& walk, const Placing& placing, int width, int height,
                    const SampleRng& rng, const Hit& hit) {
  constexpr int N = WS_WALKERS;
  walk_pieces(first_piece, stride, system, walk, rng,
              [&](const Walkers<N>& walkers, const std::uint32_t(&words)[N], int first, int count)
                  WS_INLINED {
                    std::int32_t cell[N];
                    walkers.locate(placing, width, height, count, cell);
                    std::uint32_t value[N];
                    WS_WALKER_LOOP
                    for (int l = 0; l < N; ++l) {
                      const auto number = static_cast<std::uint32_t>(first + l + 1);
                      value[l] = (number << kMaskBits) | patch_mask(words[l]);
                    }
                    for (int l = 0; l < N; ++l) {
                      if (cell[l] >= 0) hit(cell[l], value[l]);
                    }
                  });
}

/// A point this far away has diverged: a picture that includes it would show nothing else.
inline constexpr double kFar = 1e15;

/// Bounding box of the origin and of points that have not diverged.
struct PointBox {
  float x0 = 0, x1 = 0, y0 = 0, y1 = 0;
};

/// The box of the points that the walkers of pieces `first`, `first` + `stride`, ... draw.
WS_INLINE PointBox point_box(std::int64_t first_piece, std::int64_t stride, const System& system,
                             const Walk& walk, const SampleRng& rng) {
  constexpr int N = WS_WALKERS;
  float x0[N] = {}, x1[N] = {}, y0[N] = {}, y1[N] = {};
  walk_pieces(first_piece, stride, system, walk, rng,
              [&](const Walkers<N>& walkers, const std::uint32_t(&)[N], int, int count) WS_INLINED {
                WS_WALKER_LOOP
                for (int l = 0; l < N; ++l) {
                  const float far = math::abs(walkers.x[l]) + math::abs(walkers.y[l]);
                  // NaN also fails the test.
                  const int counts = static_cast<int>(l < count) &
                                     static_cast<int>(far < static_cast<float>(kFar));
                  const float x = counts != 0 ? walkers.x[l] : 0.0f;
                  const float y = counts != 0 ? walkers.y[l] : 0.0f;
                  x0[l] = x < x0[l] ? x : x0[l];
                  x1[l] = x > x1[l] ? x : x1[l];
                  y0[l] = y < y0[l] ? y : y0[l];
                  y1[l] = y > y1[l] ? y : y1[l];
                }
              });
  PointBox box;
  for (int l = 0; l < N; ++l) {
    box.x0 = x0[l] < box.x0 ? x0[l] : box.x0;
    box.x1 = x1[l] > box.x1 ? x1[l] : box.x1;
    box.y0 = y0[l] < box.y0 ? y0[l] : box.y0;
    box.y1 = y1[l] > box.y1 ? y1[l] : box.y1;
  }
  return box;
}

/// Called by all members of a team: the box of all points of a walk. `cells`: four cells that are
/// initially 0 and take the bits of -x0, x1, -y0 and y1, which order like the numbers because none
/// is negative. Teams that share the cells find the same box.
template <class Team>
WS_INLINE PointBox point_box(Team& team, const System& system, const Walk& walk,
                             const SampleRng& rng, std::uint32_t* cells) {
  const PointBox own = point_box(team.rank(), team.size(), system, walk, rng);
  const float side[4] = {0 - own.x0, own.x1, 0 - own.y0, own.y1};
  WS_UNROLL(4)
  for (int i = 0; i < 4; ++i) team.atomic_max(cells + i, std::bit_cast<std::uint32_t>(side[i]));
  team.sync();
  float found[4];
  WS_UNROLL(4)
  for (int i = 0; i < 4; ++i) found[i] = std::bit_cast<float>(team.atomic_max(cells + i, 0u));
  return {0 - found[0], found[1], 0 - found[2], found[3]};
}

}  // namespace wellspring::ifs
