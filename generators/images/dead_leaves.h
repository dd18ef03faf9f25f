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
#include "generators/generator.h"
#include "kernels/emission.h"
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
  static GeneratorInfo describe(const Params& params) {
    GeneratorInfo info;
    info.name = "dead_leaves";
    info.summary = "Opaque leaves of all sizes that hide one another; the class is their shape";
    info.reference = "Baradad et al., NeurIPS 2021; Lee, Mumford, Huang, IJCV 41 (2001) 35";
    info.classes = {"circle",        "square", "oriented_square", "rectangle", "triangle",
                    "quadrilateral", "mixed"};
    info.latents = {
        {"r_min", "image side", params.r_min / params.spread, params.r_min * params.spread},
        {"r_max", "image side", params.r_max, params.r_max}};
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
  /// a circle itself.
  struct Leaf {
    float x, y, radius;
    std::int32_t sides;  ///< 0: circle, otherwise 4 (a triangle repeats one)
    float normal_x[4], normal_y[4], distance[4];
  };

  /// Which leaf each pixel of a tile shows.
  struct Prepared {
    const std::uint16_t* winner;
  };

  static constexpr int kTile = 32;
  static constexpr int kBatch = 128;  ///< leaves in scratch at a time

  static std::size_t scratch_bytes() {
    return sizeof(Leaf) * kBatch + sizeof(std::uint32_t) * (2 * kWords + 2) +
           sizeof(std::uint16_t) * kTile * kTile + 64;  // 64: alignment of three blocks
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

  /// Leaf number `k`, counted from the front. Returns whether it may touch the box; its shape is
  /// drawn only then.
  WS_INLINE bool make_leaf(const Scene& scene, int k, const float (&box)[4], Leaf& leaf) const {
    const auto draw = static_cast<std::uint32_t>(k);
    const Philox4 place = scene.rng.block(Purpose::scene, 2 * draw);
    leaf.x = scene.width * unit_float(place.word[0]);
    leaf.y = scene.height * unit_float(place.word[1]);
    // Density r^-3 has the distribution function (1 - (r_min / r)^2) / taper.
    leaf.radius = scene.r_min / math::sqrt(1 - scene.taper * unit_float(place.word[2]));
    if (!near(leaf, box[0], box[1], box[2], box[3])) return false;
    const Kind kind =
        scene.kind == Kind::mixed ? static_cast<Kind>(below(place.word[3], kShapes)) : scene.kind;
    cut(kind, scene.rng.block(Purpose::scene, 2 * draw + 1), leaf);
    return true;
  }

  WS_INLINE static bool covers(const Leaf& leaf, float x, float y) {
    const float dx = x - leaf.x, dy = y - leaf.y;
    if (leaf.sides == 0) return dx * dx + dy * dy <= leaf.radius * leaf.radius;
    bool inside = true;
    WS_UNROLL(4)
    for (int s = 0; s < 4; ++s) {
      inside &= leaf.normal_x[s] * dx + leaf.normal_y[s] * dy <= leaf.distance[s];
    }
    return inside;
  }

  /// All members: finds the front leaf of every pixel of the tile.
  template <class Team>
  WS_HD Prepared prepare(Team& team, const Scene& scene, const View& view, PixelTile tile) const {
    Leaf* const leaves = team.template scratch<Leaf>(kBatch);
    // Which leaves of the batch touch the tile, and whether a pixel is still open. Two of each, by
    // turns, so that the next batch's are cleared while this batch's are read.
    std::uint32_t* const touching = team.template scratch<std::uint32_t>(2 * kWords);
    std::uint32_t* const open = team.template scratch<std::uint32_t>(2);
    std::uint16_t* const winner = team.template scratch<std::uint16_t>(kTile * kTile);
    float box[4];
    bound(scene, view, tile, box);
    const auto background = static_cast<std::uint16_t>(params_.max_leaves);
    for (int i = team.rank(); i < kTile * kTile; i += team.size()) winner[i] = background;
    if (team.rank() == 0) clear(touching, open);
    team.sync();

    for (int first = 0, turn = 0; first < params_.max_leaves; first += kBatch, turn ^= 1) {
      std::uint32_t* const mask = touching + turn * kWords;
      for (int i = team.rank(); i < kBatch && first + i < params_.max_leaves; i += team.size()) {
        if (make_leaf(scene, first + i, box, leaves[i])) {
          team.atomic_or(&mask[i / 32], std::uint32_t{1} << (i % 32));
        }
      }
      team.sync();
      if (team.rank() == 0) clear(touching + (turn ^ 1) * kWords, open + (turn ^ 1));
      if (cover_runs(team, scene, view, tile, leaves, mask, first, winner)) {
        team.atomic_or(&open[turn], std::uint32_t{1});
      }
      team.sync();
      if (open[turn] == 0) break;
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

  WS_INLINE static void clear(std::uint32_t* touching, std::uint32_t* open) {
    for (int i = 0; i < kWords; ++i) touching[i] = 0;
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

  /// The box of source coordinates that a tile looks at.
  WS_INLINE static void bound(const Scene& scene, const View& view, const PixelTile& tile,
                              float (&box)[4]) {
    const float half_width = 0.5f * static_cast<float>(tile.width);
    const float half_height = 0.5f * static_cast<float>(tile.height);
    const float x = static_cast<float>(tile.x0) + half_width;
    const float y = static_cast<float>(tile.y0) + half_height;
    const float cx = view.source_x(x, y), cy = view.source_y(x, y);
    const float rx = math::abs(view.m00) * half_width + math::abs(view.m01) * half_height;
    const float ry = math::abs(view.m10) * half_width + math::abs(view.m11) * half_height;
    box[0] = inside_x(scene, cx - rx);
    box[1] = inside_y(scene, cy - ry);
    box[2] = inside_x(scene, cx + rx);
    box[3] = inside_y(scene, cy + ry);
  }

  /// Tests this batch's leaves on the member's runs. Returns whether a pixel of them stays open.
  template <class Team>
  WS_INLINE bool cover_runs(Team& team, const Scene& scene, const View& view, const PixelTile& tile,
                            const Leaf* leaves, const std::uint32_t* mask, int first,
                            std::uint16_t* winner) const {
    constexpr int kRun = WS_RUN_LENGTH;
    const int across = (tile.width + kRun - 1) / kRun;
    bool open = false;
    for (int i = team.rank(); i < across * tile.height; i += team.size()) {
      const int row = i / across, column = (i - row * across) * kRun;
      PixelRun<kRun> run = detail::place_run<kRun>(view, tile, tile.x0 + column, tile.y0 + row);
      open |= cover_run(scene, leaves, mask, first, run, winner + row * kTile + column);
    }
    return open;
  }

  template <int N>
  WS_INLINE bool cover_run(const Scene& scene, const Leaf* leaves, const std::uint32_t* mask,
                           int first, PixelRun<N>& run, std::uint16_t* winner) const {
    const int background = params_.max_leaves;
    std::int32_t front[N];
    int uncovered = 0;
    WS_LANES_SUM(uncovered)
    for (int i = 0; i < N; ++i) {
      run.x[i] = inside_x(scene, run.x[i]);
      run.y[i] = inside_y(scene, run.y[i]);
      front[i] = winner[i];
      uncovered += front[i] == background ? 1 : 0;
    }
    if (uncovered == 0) return false;
    // The lookup is monotonic along a run: its ends bound it.
    const bool x_up = run.x[0] <= run.x[N - 1], y_up = run.y[0] <= run.y[N - 1];
    const float x0 = x_up ? run.x[0] : run.x[N - 1], x1 = x_up ? run.x[N - 1] : run.x[0];
    const float y0 = y_up ? run.y[0] : run.y[N - 1], y1 = y_up ? run.y[N - 1] : run.y[0];
    for (int word = 0; word < kWords && uncovered != 0; ++word) {
      for (std::uint32_t bits = mask[word]; bits != 0 && uncovered != 0; bits &= bits - 1) {
        const int k = word * 32 + std::countr_zero(bits);
        const Leaf& leaf = leaves[k];
        if (!near(leaf, x0, y0, x1, y1)) continue;
        uncovered = 0;
        WS_LANES_SUM(uncovered)
        for (int i = 0; i < N; ++i) {
          const bool hit = front[i] == background && covers(leaf, run.x[i], run.y[i]);
          front[i] = hit ? first + k : front[i];
          uncovered += front[i] == background ? 1 : 0;
        }
      }
    }
    WS_LANES
    for (int i = 0; i < N; ++i) winner[i] = static_cast<std::uint16_t>(front[i]);
    return uncovered != 0;
  }

  /// The half-planes of a leaf, all inscribed in its circle.
  WS_INLINE static void cut(Kind kind, const Philox4& words, Leaf& leaf) {
    leaf.sides = kind == Kind::circle ? 0 : 4;
    if (kind == Kind::circle) return;
    float cosine = 1, sine = 0;                    // direction of the first normal
    float half_width = 0.70710678f * leaf.radius;  // of a square of diagonal 2 r
    float half_height = half_width;
    if (kind == Kind::triangle || kind == Kind::quadrilateral)
      return cut_polygon(kind, words, leaf);
    if (kind == Kind::oriented_square) {
      const float turns = 0.25f * unit_float(words.word[0]);
      cosine = math::cos_turns(turns);
      sine = math::sin_turns(turns);
    } else if (kind == Kind::rectangle) {  // corner at an angle uniform in a quarter turn
      const float turns = 0.25f * unit_float(words.word[0]);
      half_width = leaf.radius * math::cos_turns(turns);
      half_height = leaf.radius * math::sin_turns(turns);
    }
    const float normal_x[4] = {cosine, -sine, -cosine, sine};
    const float normal_y[4] = {sine, cosine, -sine, -cosine};
    for (int s = 0; s < 4; ++s) {
      leaf.normal_x[s] = normal_x[s];
      leaf.normal_y[s] = normal_y[s];
      leaf.distance[s] = s % 2 == 0 ? half_width : half_height;
    }
  }

  /// Corners at independent uniform angles on the circle. An edge between the angles a < b has its
  /// normal at (a + b) / 2 and the distance r cos((b - a) / 2), which is negative where the centre
  /// lies outside.
  WS_INLINE static void cut_polygon(Kind kind, const Philox4& words, Leaf& leaf) {
    float angle[5];
    for (int s = 0; s < 4; ++s) angle[s] = unit_float(words.word[s]);
    if (kind == Kind::triangle) angle[3] = angle[2];  // an edge of length 0 ...
    order(angle[0], angle[1]);
    order(angle[2], angle[3]);
    order(angle[0], angle[2]);
    order(angle[1], angle[3]);
    order(angle[1], angle[2]);
    angle[4] = angle[0] + 1;
    WS_UNROLL(4)
    for (int s = 0; s < 4; ++s) {  // ... whose half-plane, the circle's tangent, cuts nothing off
      const float middle = 0.5f * (angle[s] + angle[s + 1]);
      leaf.normal_x[s] = math::cos_turns(middle);
      leaf.normal_y[s] = math::sin_turns(middle);
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
