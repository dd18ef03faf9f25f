// Generator `dead_leaves`: an image tiled by opaque leaves that hide one another, of all sizes by a
// power law, as natural scenes are; the class is the leaves' shape. Painted front to back: each
// pixel shows the first leaf that covers it, which is the stationary law without bias, and is done
// when it is found. Called through the registry; host and device.
//
// After M. Baradad et al., "Learning to See by Looking at Noise", NeurIPS 2021, and A. Lee, D.
// Mumford, J. Huang, "Occlusion models for natural images", IJCV 41 (2001) 35. Unlike the former,
// radii follow the continuous law r^-3 between r_min and r_max (theirs is a table of 200 values in
// which the smallest takes over a third of all leaves), places are not rounded to pixels, and
// leaves are laid from the front.
#pragma once

#include "core/error.h"
#include "core/params.h"
#include "generators/sample_info.h"
#include "kernels/emission/pixels.h"
#include "kernels/math.h"
#include "kernels/philox.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace wellspring {

struct DeadLeaves {
  enum class Kind : std::uint8_t {
    circle,
    square,
    oriented_square,
    rectangle,
    triangle,
    quadrilateral,
    mixed,  ///< each leaf is one of the others
    any,    ///< parameter only: one of the above per sample
  };
  static constexpr int kShapes = 6;   ///< kinds a single leaf can have
  static constexpr int kClasses = 7;  ///< those and mixed

  struct Params {
    Kind kind = Kind::any;
    float r_min = 0.03f;
    float r_max = 1;
    float spread = 1;
    int max_leaves = 4096;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("dead_leaves")
            .choice("kind", &Params::kind,
                    {{"any", Kind::any},
                     {"circle", Kind::circle},
                     {"square", Kind::square},
                     {"oriented_square", Kind::oriented_square},
                     {"rectangle", Kind::rectangle},
                     {"triangle", Kind::triangle},
                     {"quadrilateral", Kind::quadrilateral},
                     {"mixed", Kind::mixed}},
                    "shape of the leaves; any: drawn per sample")
            .real("r_min", &Params::r_min, {0.005, 1}, "image side",
                  "smallest circumradius of a leaf", "Baradad et al., NeurIPS 2021: 0.03")
            .real("r_max", &Params::r_max, {0.005, 2}, "image side",
                  "largest circumradius of a leaf", "Baradad et al., NeurIPS 2021: 1")
            .real(
                "spread", &Params::spread, {1, 4}, "",
                "each sample's smallest radius is log-uniform in [r_min / spread, r_min * spread]")
            .integer("max_leaves", &Params::max_leaves, {1, 60000}, "",
                     "leaves drawn at most; what they leave open shows one background leaf",
                     "Baradad et al., NeurIPS 2021: 5000");
    return rows;
  }

  static constexpr int kLatents = 2;
  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "dead_leaves";
    info.version = 2;
    info.summary = "Opaque leaves of all sizes that hide one another; the class is their shape";
    info.reference = "Baradad et al., NeurIPS 2021; Lee, Mumford, Huang, IJCV 41 (2001) 35";
    info.classes = {"circle",        "square", "oriented_square", "rectangle", "triangle",
                    "quadrilateral", "mixed"};
    info.latents = {
        {"r_min", "image side", params.r_min / params.spread, params.r_min * params.spread},
        {"r_max", "image side", params.r_max, params.r_max}};
    // The kind, the place and the outline of each leaf; far fewer where a tile is soon covered.
    info.draws = {
        .scene = 1, .part = 2 * std::int64_t{params.max_leaves}, .pixel = 1, .side = kTile};
    return info;
  }

  struct Scene {
    SampleRng rng;
    Kind kind;
    float r_min;  ///< source pixels
    float taper;  ///< 1 - (r_min / r_max)^2
    float width, height;
  };

  /// A leaf as its circumscribed circle, cut by four half-planes n . (p - centre) <= d unless it is
  /// a circle itself; one of a triangle's cuts nothing off.
  struct Leaf {
    float x, y, radius;
    Kind kind;
    float normal_x[4], normal_y[4], distance[4];
  };

  /// Which leaf each pixel of a tile shows.
  struct Prepared {
    const std::uint16_t* winner;
  };

  static constexpr int kTile = 32;
  static constexpr int kBatch = 128;  ///< leaves in scratch at a time

  TileNeeds tile_needs() const {
    return {kTile, sizeof(Leaf) * kBatch + sizeof(std::uint32_t) * 2 * kWords +
                       sizeof(std::uint64_t) * 2 + sizeof(std::uint16_t) * kTile * kTile +
                       64};  // 64: alignment of the four blocks
  }

  explicit DeadLeaves(const Params& params) : params_(params) {
    if (params.r_min * params.spread > params.r_max) {
      fail(ErrorKind::config, {"dead_leaves: r_min * spread is larger than r_max",
                               "radii are drawn between the smallest and the largest",
                               "lower r_min or spread, or raise r_max"});
    }
  }

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    RngStream draw(key.rng, Purpose::label);
    const auto any = static_cast<Kind>(draw.integer(kClasses));
    const float share = draw.uniform();
    Scene scene;
    scene.rng = key.rng;
    scene.kind = params_.kind == Kind::any ? any : params_.kind;
    scene.width = static_cast<float>(key.shape.width);
    scene.height = static_cast<float>(key.shape.height);
    float r_min = params_.r_min;
    if (params_.spread != 1) r_min *= math::exp((2 * share - 1) * math::log(params_.spread));
    const float ratio = r_min / params_.r_max;
    const float side = scene.width < scene.height ? scene.width : scene.height;
    scene.r_min = r_min * side;
    scene.taper = 1 - ratio * ratio;
    truth.label = static_cast<std::int32_t>(scene.kind);
    truth.latents[0] = r_min;
    truth.latents[1] = params_.r_max;
    return scene;
  }

  /// Place and size of leaf number `k`, counted from the front.
  WS_INLINE static void place(const Scene& scene, int k, Leaf& leaf) {
    const Philox4 words = scene.rng.block(Purpose::scene, 2 * static_cast<std::uint32_t>(k));
    leaf.x = scene.width * unit_float(words.word[0]);
    leaf.y = scene.height * unit_float(words.word[1]);
    // Density r^-3 has the distribution function (1 - (r_min / r)^2) / taper.
    leaf.radius = scene.r_min / math::sqrt(1 - scene.taper * unit_float(words.word[2]));
    const Kind kind =
        scene.kind == Kind::mixed ? static_cast<Kind>(below(words.word[3], kShapes)) : scene.kind;
    leaf.kind = kind;
  }

  /// Its outline.
  WS_INLINE static void cut(const Scene& scene, int k, Leaf& leaf) {
    if (leaf.kind == Kind::circle) return;
    const Philox4 words = scene.rng.block(Purpose::scene, 2 * static_cast<std::uint32_t>(k) + 1);
    if (leaf.kind == Kind::triangle || leaf.kind == Kind::quadrilateral) {
      cut_polygon(words, leaf);
    } else {
      cut_rectangle(words, leaf);
    }
  }

  WS_INLINE static bool covers(const Leaf& leaf, float x, float y) {
    const float dx = x - leaf.x, dy = y - leaf.y;
    return leaf.kind == Kind::circle ? in_circle(leaf, dx, dy) : in_polygon(leaf, dx, dy);
  }

  /// All members: finds the front leaf of every pixel of the tile.
  template <class Team>
  WS_HD Prepared prepare(Team& team, const Scene& scene, const View& view, PixelTile tile) const {
    Leaf* const leaves = team.template scratch<Leaf>(kBatch);
    // Which leaves of the batch may be seen, and which cells of the tile have pixels still open.
    // Two of each, by turns, so that the next batch's are cleared while this batch's are read.
    std::uint32_t* const seen = team.template scratch<std::uint32_t>(2 * kWords);
    std::uint64_t* const open = team.template scratch<std::uint64_t>(2);
    std::uint16_t* const winner = team.template scratch<std::uint16_t>(kTile * kTile);
    const auto background = static_cast<std::uint16_t>(params_.max_leaves);
    for (int i = team.rank(); i < kTile * kTile; i += team.size()) {
      winner[i] = i % kTile < tile.width ? background : std::uint16_t{0};  // beyond: not open
    }
    if (team.rank() == 0) clear(seen, open);
    team.sync();

    std::uint64_t cells = ~std::uint64_t{0};
    for (int first = 0, turn = 0; first < params_.max_leaves && cells != 0;
         first += kBatch, turn ^= 1) {
      std::uint32_t* const mask = seen + turn * kWords;
      for (int i = team.rank(); i < kBatch && first + i < params_.max_leaves; i += team.size()) {
        place(scene, first + i, leaves[i]);
        if (!touches_open(leaves[i], scene, view, tile, cells)) continue;
        cut(scene, first + i, leaves[i]);
        team.atomic_or(&mask[i / 32], std::uint32_t{1} << (i % 32));
      }
      team.sync();
      if (team.rank() == 0) clear(seen + (turn ^ 1) * kWords, open + (turn ^ 1));
      const std::uint64_t left =
          cover_runs(team, scene, view, tile, cells, leaves, mask, first, winner);
      if (left != 0) team.atomic_or(&open[turn], left);
      team.sync();
      cells = open[turn];
    }
    return {winner};
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const Prepared& prepared, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const std::uint32_t leaf = prepared.winner[run.row * kTile + run.column + i];
      const Philox4 w = scene.rng.block(Purpose::texture, leaf);
      colour.r[i] = unit_float(w.word[0]);
      colour.g[i] = unit_float(w.word[1]);
      colour.b[i] = unit_float(w.word[2]);
    }
  }

 private:
  static constexpr int kWords = kBatch / 32;
  /// Pixels by which a bounding circle is taken larger than it is, so that rounding in the exact
  /// tests never decides: what is passed over would not have covered anything.
  static constexpr float kSlack = 0.0625f;

  /// A tile's cells, a bit each, row by row: what is open is known this finely.
  static constexpr int kCell = 4, kCellsAcross = kTile / kCell;
  /// With more open cells than this a leaf is held against the whole tile alone.
  static constexpr int kFewCells = 12;

  WS_INLINE static void clear(std::uint32_t* seen, std::uint64_t* open) {
    for (int i = 0; i < kWords; ++i) seen[i] = 0;
    *open = 0;
  }

  WS_INLINE static float clamped(float v, float low, float high) {
    return v < low ? low : (v > high ? high : v);
  }
  /// Beyond the border the nearest pixel of the border repeats: leaves are laid on the image alone.
  WS_INLINE static float inside_x(const Scene& scene, float x) {
    return clamped(x, 0.5f, scene.width - 0.5f);
  }
  WS_INLINE static float inside_y(const Scene& scene, float y) {
    return clamped(y, 0.5f, scene.height - 0.5f);
  }

  /// Whether the leaf's circle touches the box [x0, x1] x [y0, y1].
  WS_INLINE static bool near(const Leaf& leaf, float x0, float y0, float x1, float y1) {
    const float dx = leaf.x - clamped(leaf.x, x0, x1), dy = leaf.y - clamped(leaf.y, y0, y1);
    const float reach = leaf.radius + kSlack;
    return dx * dx + dy * dy <= reach * reach;
  }

  /// Whether the leaf may be seen through a rectangle of output pixels.
  WS_INLINE static bool touches(const Leaf& leaf, const Scene& scene, const View& view, int x,
                                int y, int width, int height) {
    const float half_width = 0.5f * static_cast<float>(width);
    const float half_height = 0.5f * static_cast<float>(height);
    const float ox = static_cast<float>(x) + half_width, oy = static_cast<float>(y) + half_height;
    const float cx = view.source_x(ox, oy), cy = view.source_y(ox, oy);
    const float rx = math::abs(view.m00) * half_width + math::abs(view.m01) * half_height;
    const float ry = math::abs(view.m10) * half_width + math::abs(view.m11) * half_height;
    return near(leaf, inside_x(scene, cx - rx), inside_y(scene, cy - ry), inside_x(scene, cx + rx),
                inside_y(scene, cy + ry));
  }

  /// Whether the leaf may be seen in the open cells of the tile.
  WS_INLINE static bool touches_open(const Leaf& leaf, const Scene& scene, const View& view,
                                     const PixelTile& tile, std::uint64_t cells) {
    if (!touches(leaf, scene, view, tile.x0, tile.y0, tile.width, tile.height)) return false;
    if (std::popcount(cells) > kFewCells) return true;
    for (std::uint64_t left = cells; left != 0; left &= left - 1) {
      const int cell = std::countr_zero(left);
      if (touches(leaf, scene, view, tile.x0 + cell % kCellsAcross * kCell,
                  tile.y0 + cell / kCellsAcross * kCell, kCell, kCell)) {
        return true;
      }
    }
    return false;
  }

  /// Tests this batch's leaves on the member's runs. Returns the cells that stay open in them.
  template <class Team>
  WS_INLINE std::uint64_t cover_runs(Team& team, const Scene& scene, const View& view,
                                     const PixelTile& tile, std::uint64_t cells, const Leaf* leaves,
                                     const std::uint32_t* mask, int first,
                                     std::uint16_t* winner) const {
    constexpr int kRun = WS_RUN_LENGTH;
    const int across = (tile.width + kRun - 1) / kRun;
    std::uint64_t open = 0;
    for (int i = team.rank(); i < across * tile.height; i += team.size()) {
      const int row = i / across, column = (i - row * across) * kRun;
      const int cell = row / kCell * kCellsAcross + column / kCell;
      constexpr std::uint64_t kOfRun = (std::uint64_t{1} << (kRun / kCell)) - 1;
      if ((cells >> cell & kOfRun) == 0) continue;
      PixelRun<kRun> run = detail::place_run<kRun>(view, tile, tile.x0 + column, tile.y0 + row);
      open |= cover_run(scene, leaves, mask, first, run, winner + row * kTile + column) << cell;
    }
    return open;
  }

  template <int N>
  WS_INLINE std::uint64_t cover_run(const Scene& scene, const Leaf* leaves,
                                    const std::uint32_t* mask, int first, PixelRun<N>& run,
                                    std::uint16_t* winner) const {
    const int background = params_.max_leaves;
    float x[N], y[N];
    std::int32_t front[N];
    int uncovered = 0;
    WS_LANES_SUM(uncovered)
    for (int i = 0; i < N; ++i) {
      x[i] = inside_x(scene, run.x[i]);
      y[i] = inside_y(scene, run.y[i]);
      front[i] = winner[i];
      uncovered += front[i] == background ? 1 : 0;
    }
    if (uncovered == 0) return 0;
    // The lookup is monotonic along a run: its ends bound it.
    const float x0 = math::min(x[0], x[N - 1]), x1 = math::max(x[0], x[N - 1]);
    const float y0 = math::min(y[0], y[N - 1]), y1 = math::max(y[0], y[N - 1]);
    for (int word = 0; word < kWords && uncovered != 0; ++word) {
      for (std::uint32_t bits = mask[word]; bits != 0 && uncovered != 0; bits &= bits - 1) {
        const int k = word * 32 + std::countr_zero(bits);
        if (!near(leaves[k], x0, y0, x1, y1)) continue;
        const Leaf leaf = leaves[k];
        uncovered = leaf.kind == Kind::circle
                        ? take_pixels(leaf, first + k, background, x, y, front, InCircle{})
                        : take_pixels(leaf, first + k, background, x, y, front, InPolygon{});
      }
    }
    WS_LANES
    for (int i = 0; i < N; ++i) winner[i] = static_cast<std::uint16_t>(front[i]);
    std::uint64_t open = 0;
    WS_UNROLL(32)
    for (int i = 0; i < N; ++i) {
      open |= static_cast<std::uint64_t>(front[i] == background ? 1 : 0) << (i / kCell);
    }
    return open;
  }

  WS_INLINE static bool in_circle(const Leaf& leaf, float dx, float dy) {
    return math::fma(dx, dx, dy * dy) <= leaf.radius * leaf.radius;
  }
  /// How far a point lies beyond edge `s`.
  WS_INLINE static float beyond(const Leaf& leaf, int s, float dx, float dy) {
    return math::fma(leaf.normal_x[s], dx, math::fma(leaf.normal_y[s], dy, -leaf.distance[s]));
  }
  WS_INLINE static bool in_polygon(const Leaf& leaf, float dx, float dy) {
    // The worst of the four: no branches, so that a loop over pixels vectorises.
    float worst = beyond(leaf, 0, dx, dy);
    WS_UNROLL(4)
    for (int s = 1; s < 4; ++s) {
      worst = math::max(worst, beyond(leaf, s, dx, dy));
    }
    return worst <= 0;
  }

  struct InCircle {
    WS_INLINE bool operator()(const Leaf& leaf, float dx, float dy) const {
      return in_circle(leaf, dx, dy);
    }
  };
  struct InPolygon {
    WS_INLINE bool operator()(const Leaf& leaf, float dx, float dy) const {
      return in_polygon(leaf, dx, dy);
    }
  };

  /// Gives leaf number `k` the open pixels that it covers. Returns how many stay open.
  template <int N, class Covers>
  WS_INLINE static int take_pixels(const Leaf& leaf, int k, int background, const float (&x)[N],
                                   const float (&y)[N], std::int32_t (&front)[N],
                                   const Covers& covers_offset) {
    int uncovered = 0;
    WS_LANES_SUM(uncovered)
    for (int i = 0; i < N; ++i) {
      const bool hit = covers_offset(leaf, x[i] - leaf.x, y[i] - leaf.y);
      const bool open = front[i] == background;
      front[i] = hit & open ? k : front[i];
      uncovered += open & !hit ? 1 : 0;
    }
    return uncovered;
  }

  /// Inscribed in the circle as all are: squares have the half-diagonal r, and a rectangle's corner
  /// lies at an angle uniform in a quarter turn.
  WS_INLINE static void cut_rectangle(const Philox4& words, Leaf& leaf) {
    const math::SinCos drawn = math::sincos_turns(0.25f * unit_float(words.word[0]));
    const bool turned = leaf.kind == Kind::oriented_square;
    const bool square = turned || leaf.kind == Kind::square;
    const float cosine = turned ? drawn.cosine : 1.f, sine = turned ? drawn.sine : 0.f;
    const float half_width = leaf.radius * (square ? 0.70710678f : drawn.cosine);
    const float half_height = leaf.radius * (square ? 0.70710678f : drawn.sine);
    const float normal_x[4] = {cosine, -sine, -cosine, sine};
    const float normal_y[4] = {sine, cosine, -sine, -cosine};
    WS_UNROLL(4)
    for (int s = 0; s < 4; ++s) {
      leaf.normal_x[s] = normal_x[s];
      leaf.normal_y[s] = normal_y[s];
      leaf.distance[s] = s % 2 == 0 ? half_width : half_height;
    }
  }

  /// Corners at independent uniform angles on the circle. An edge between the angles a < b has its
  /// normal at (a + b) / 2 and the distance r cos((b - a) / 2), which is negative where the centre
  /// lies outside.
  WS_INLINE static void cut_polygon(const Philox4& words, Leaf& leaf) {
    float angle[5];
    WS_UNROLL(4)
    for (int s = 0; s < 4; ++s) angle[s] = unit_float(words.word[s]);
    if (leaf.kind == Kind::triangle) angle[3] = angle[2];  // an edge of length 0 ...
    order(angle[0], angle[1]);
    order(angle[2], angle[3]);
    order(angle[0], angle[2]);
    order(angle[1], angle[3]);
    order(angle[1], angle[2]);
    angle[4] = angle[0] + 1;
    WS_UNROLL(4)
    for (int s = 0; s < 4; ++s) {  // ... whose half-plane, the circle's tangent, cuts nothing off
      const float middle = 0.5f * (angle[s] + angle[s + 1]);
      const math::SinCos normal = math::sincos_turns(middle);
      leaf.normal_x[s] = normal.cosine;
      leaf.normal_y[s] = normal.sine;
      leaf.distance[s] = leaf.radius * math::cos_turns(0.5f * (angle[s + 1] - angle[s]));
    }
  }
  WS_INLINE static void order(float& a, float& b) {
    const float low = a < b ? a : b, high = a < b ? b : a;
    a = low;
    b = high;
  }

  Params params_;
};

}  // namespace wellspring
