// Generator `dead_leaves`: an image tiled by opaque overlapping leaves whose sizes follow a power
// law, as in natural scenes. The class is the shape of the leaves. Leaves are placed front to back,
// and each pixel shows the first leaf that covers it. This samples the stationary law without bias,
// and covered pixels need no further work. Called through the registry; host and device.
//
// Sources: M. Baradad et al., "Learning to See by Looking at Noise", NeurIPS 2021, and A. Lee, D.
// Mumford, J. Huang, "Occlusion models for natural images", IJCV 41 (2001) 35. Differences from
// Baradad et al.: radii follow the continuous density r^-3 between r_min and r_max (the paper uses
// a table of 200 values, and over a third of the leaves have the smallest); positions are not
// rounded to pixels; leaves are placed front to back and, except with `law=paper`, on the whole
// plane (leaf_places.h).
#pragma once

#include "core/config/params.h"
#include "generators/images/leaf.h"
#include "generators/images/leaf_by_leaf.h"
#include "generators/images/leaf_places.h"
#include "generators/sample_info.h"
#include "kernels/emission/pixels.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/bits.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {

class Generator;
struct GeneratorEntry;
using Generators = std::vector<GeneratorEntry>;

struct DeadLeaves {
  using Kind = LeafKind;
  static constexpr int kClasses = kLeafShapes + 1;  ///< the shapes and `mixed`

  enum class Law : std::uint8_t { stationary, paper };
  enum class Dense : std::uint8_t { leaf, shape };

  struct Params {
    Kind kind = Kind::any;
    Law law = Law::stationary;
    float r_min = 0.03f;
    float r_max = 1;
    float spread = 1;
    int max_leaves = 1000000;
    Dense dense = Dense::leaf;
    std::vector<std::string> fill;  ///< name of a generator, then its parameters as key=value
    int fills = 256;
    int fill_side = 64;
    std::uint64_t fill_seed = 0;
    float fill_scale_low = 0.5f, fill_scale_high = 2;
    const Generators* others = nullptr;  ///< the registry, with the generator of the fills
  };
  static const ParamTable<Params>& table();

  static constexpr int kLatents = 2;
  static constexpr forms::Pixels kForm = {.tiles = true, .host_tiles = true, .plane = true};
  static constexpr GeneratorHooks kHooks = {.notes = true, .instead = true};
  static SampleInfo describe(const Params& params);

  struct Scene {
    LeafPlaces law;
    float edge_x0, edge_y0, edge_x1, edge_y1;  ///< outside these edges the border repeats
  };

  /// Index of the front leaf at each pixel of a tile.
  struct Prepared {
    const std::uint32_t* front;
    int pitch;                  ///< row pitch of `front`
    const Rgb* colour;          ///< colours of the first leaves
    std::uint32_t colours = 0;  ///< number of colours
  };

  static constexpr int kMostLeaves = 1 << 24;
  static constexpr int kTile = 32;
  static constexpr int kBatch = 128;  ///< leaves in scratch memory at a time

  TileNeeds tile_needs() const { return {kTile, kScratchBytes}; }
  /// Each leaf is placed once per tile.
  TileNeeds host_tile_needs() const {
    return {LeafByLeaf::kSide, LeafByLeaf::scratch_bytes()};  // enough for both methods
  }

  /// Throws a config error if the smallest radius is above the largest.
  explicit DeadLeaves(const Params& params);
  /// The generator for leaves with fills (textured_leaves.h); null if there are no fills.
  static std::unique_ptr<Generator> instead(Params params, SampleShape shape,
                                            const Generators& others);

  /// Warns if `max_leaves` may leave pixels uncovered.
  std::vector<std::string> notes(SampleShape shape) const;
  /// Upper bound on the mean number of pixels that `max_leaves` leaves fail to cover, for the worst
  /// kind of sample.
  double expected_open(SampleShape shape) const;

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    RngStream draw(key.rng, Purpose::label);
    const auto any = static_cast<Kind>(draw.integer(kClasses));
    const float share = draw.uniform();
    const Kind kind = rules_.kind == Kind::any ? any : rules_.kind;
    float r_min = rules_.r_min;
    if (rules_.spread != 1) r_min *= math::exp((2 * share - 1) * math::log(rules_.spread));
    const bool on_plane = rules_.law == Law::stationary;
    Scene scene;
    scene.law = LeafPlaces::of(key.rng, key.shape, kind, on_plane, r_min, rules_.r_max);
    scene.edge_x0 = scene.edge_y0 = on_plane ? -math::kInfinity : 0.5f;
    scene.edge_x1 = on_plane ? math::kInfinity : scene.law.width - 0.5f;
    scene.edge_y1 = on_plane ? math::kInfinity : scene.law.height - 0.5f;
    truth.label = static_cast<std::int32_t>(kind);
    truth.latents[0] = r_min;
    truth.latents[1] = rules_.r_max;
    return scene;
  }

  /// Called by all members: finds the front leaf of every pixel of the tile.
  template <class Team>
  WS_HD Prepared prepare(Team& team, const Scene& scene, const Augmentation& seen_as,
                         PixelTile tile) const {
    constexpr int side = LoneTeam<Team> ? LeafByLeaf::kSide : kTile;
    if constexpr (LoneTeam<Team>) {
      if (seen_in_image(scene, seen_as, tile)) {
        const LeafByLeafScratch scratch = LeafByLeaf::scratch_of(team);
        LeafByLeaf(scene.law, seen_as, tile, scratch).lay(background());
        return {scratch.front, side, scratch.colour, LeafByLeaf::kColours};
      }
    }
    Scratch scratch;
    scratch.leaves = team.template scratch<Leaf>(kBatch);
    scratch.masks = team.template scratch<std::uint32_t>(2 * kMasks * kWords);
    scratch.open = team.template scratch<std::uint64_t>(2);
    std::uint32_t* const winner = team.template scratch<std::uint32_t>(side * side);
    scratch.pitch = side;
    for (int i = team.rank(); i < side * side; i += team.size()) {
      winner[i] = i % side < tile.width ? background() : 0;  // pixels outside the tile are not open
    }
    for (int y = 0; y < tile.height; y += kTile) {
      for (int x = 0; x < tile.width; x += kTile) {
        scratch.winner = winner + y * side + x;
        find_fronts(team, scene, seen_as, tile.part(x, y, kTile), scratch);
      }
    }
    return {winner, side, nullptr};
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const Prepared& prepared, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    const std::uint32_t* const front = prepared.front + run.row * prepared.pitch + run.column;
    int drawn = 0;
    WS_LANES_SUM(drawn)
    for (int i = 0; i < N; ++i) drawn += front[i] < prepared.colours ? 0 : 1;
    if (drawn == 0) {  // loads only: lanes would wait for stores at every pixel
      WS_LANES
      for (int i = 0; i < N; ++i) colour.set(i, prepared.colour[front[i]]);
      return;
    }
    WS_LANES
    for (int i = 0; i < N; ++i) {
      colour.set(i, front[i] < prepared.colours ? prepared.colour[front[i]]
                                                : leaf_colour(scene.law.rng, front[i]));
    }
  }

  template <int N>
  WS_INLINE void plane(const Scene& scene, const Prepared& prepared, const PixelRun<N>& run,
                       float (&value)[N]) const {
    const std::uint32_t* const front = prepared.front + run.row * prepared.pitch + run.column;
    if (rules_.dense == Dense::shape) {
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const auto shape = static_cast<std::int32_t>(scene.law.kind_of(front[i]));
        value[i] = front[i] == background() ? 0 : static_cast<float>(shape + 1);
      }
      return;
    }
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const std::uint32_t level = LeafPlaces::level_in(front[i]);
      const std::uint32_t leaf = LeafPlaces::index_in(front[i]) & (kNumbered - 1);
      const auto number = static_cast<float>(static_cast<std::int32_t>(level * kNumbered + leaf));
      value[i] = front[i] == background() ? 0 : number + 1;
    }
  }

 protected:
  WS_INLINE static float inside_x(const Scene& scene, float x) {
    return math::clamp(x, scene.edge_x0, scene.edge_x1);
  }
  WS_INLINE static float inside_y(const Scene& scene, float y) {
    return math::clamp(y, scene.edge_y0, scene.edge_y1);
  }

 private:
  /// Number of leaves per level that the dense labels can distinguish; numbers of three levels are
  /// exact in f32.
  static constexpr std::uint32_t kNumbered = 1u << 22;
  static constexpr int kWords = kBatch / 32;
  /// Number of masks per batch: one for the leaves that may be visible, and one for the leaves that
  /// meet each of the bounded regions.
  static constexpr int kMasks = 1 + LeafPlaces::kRegions;
  /// Size of leaves, masks, open cells and winners of a tile, including alignment.
  static constexpr std::size_t kScratchBytes =
      sizeof(Leaf) * kBatch + sizeof(std::uint32_t) * 2 * kMasks * kWords +
      sizeof(std::uint64_t) * 2 + sizeof(std::uint32_t) * kTile * kTile + 64;
  /// Bounding circles are enlarged by this many pixels, so that rounding never matters: a skipped
  /// leaf covers no pixel.
  static constexpr float kSlack = 0.0625f;

  /// Open pixels are tracked per cell of the tile: one bit per cell, row by row.
  static constexpr int kCell = 4, kCellsAcross = kTile / kCell;
  /// With more open cells than this, a leaf is tested only against the whole tile.
  static constexpr int kFewCells = 12;

  /// Shared by the team. Masks and `open` are double-buffered: the masks of the next batch are
  /// cleared while the masks of this batch are read.
  struct Scratch {
    Leaf* leaves;
    std::uint32_t* masks;
    std::uint64_t* open;    ///< cells with uncovered pixels
    std::uint32_t* winner;  ///< front leaf of each pixel of the part being searched
    int pitch;

    WS_INLINE std::uint32_t* seen(int turn) const { return masks + turn * kMasks * kWords; }
    WS_INLINE std::uint32_t* met(int turn, int level) const {
      return seen(turn) + (1 + level) * kWords;
    }
  };

  WS_INLINE std::uint32_t background() const {
    return static_cast<std::uint32_t>(rules_.max_leaves);
  }

  WS_INLINE static void clear(const Scratch& scratch, int turn) {
    for (int i = 0; i < kMasks * kWords; ++i) scratch.seen(turn)[i] = 0;
    scratch.open[turn] = 0;
  }
  WS_INLINE static bool is_set(const std::uint32_t* mask, int i) {
    return (mask[i / 32] >> (i % 32) & 1u) != 0;
  }
  /// Number of set bits below bit `end`.
  WS_INLINE static std::uint32_t count_before(const std::uint32_t* mask, int end) {
    int count = 0;
    for (int word = 0; word < end / 32; ++word) count += bits_set(mask[word]);
    if (end % 32 != 0) count += bits_set(mask[end / 32] << (32 - end % 32));
    return static_cast<std::uint32_t>(count);
  }

  /// Source box that a rectangle of output pixels covers.
  WS_INLINE static SourceBox looked_up(const Scene& scene, const Augmentation& seen_as, int x,
                                       int y, int width, int height) {
    const SourceBox box = source_box(seen_as, static_cast<float>(x), static_cast<float>(y),
                                     static_cast<float>(width), static_cast<float>(height));
    return {inside_x(scene, box.x0), inside_y(scene, box.y0), inside_x(scene, box.x1),
            inside_y(scene, box.y1)};
  }

  /// Distance from `v` to [low, high]; on the plane, `v` is replaced with its periodic copy nearest
  /// to the middle.
  template <bool OnPlane>
  WS_INLINE static float apart(float v, float low, float high, float period, float inverse) {
    if constexpr (OnPlane) {
      const float half = 0.5f * (high - low);
      if (!(half < period)) return 0;  // everything is inside
      float d = v - (low + half);
      d = math::fma(-period, math::round(d * inverse), d);
      return math::max(math::abs(d) - half, 0.f);
    } else {
      return v - math::clamp(v, low, high);
    }
  }
  /// True if the leaf's bounding circle touches the box.
  template <bool OnPlane>
  WS_INLINE static bool near(const LeafPlaces& law, const Leaf& leaf, const SourceBox& box) {
    const float dx = apart<OnPlane>(leaf.x, box.x0, box.x1, law.period_x, law.inverse_x);
    const float dy = apart<OnPlane>(leaf.y, box.y0, box.y1, law.period_y, law.inverse_y);
    const float reach = leaf.radius + kSlack;
    return dx * dx + dy * dy <= reach * reach;
  }

  /// True if the leaf may be visible in the open cells of the tile, whose source box is `whole`.
  template <bool OnPlane>
  WS_INLINE static bool touches_open(const Leaf& leaf, const Scene& scene,
                                     const Augmentation& seen_as, const PixelTile& tile,
                                     const SourceBox& whole, std::uint64_t cells) {
    if (!near<OnPlane>(scene.law, leaf, whole)) return false;
    if (bits_set(cells) > kFewCells) return true;
    for (std::uint64_t left = cells; left != 0; left &= left - 1) {
      const int cell = lowest_bit(left);
      if (near<OnPlane>(scene.law, leaf,
                        looked_up(scene, seen_as, tile.x0 + cell % kCellsAcross * kCell,
                                  tile.y0 + cell / kCellsAcross * kCell, kCell, kCell))) {
        return true;
      }
    }
    return false;
  }

  /// True if the image contains all source points of the tile and there is no perspective.
  WS_INLINE static bool seen_in_image(const Scene& scene, const Augmentation& seen_as,
                                      const PixelTile& tile) {
    const SourceBox centres =
        source_box(seen_as, static_cast<float>(tile.x0) + 0.5f, static_cast<float>(tile.y0) + 0.5f,
                   static_cast<float>(tile.width - 1), static_cast<float>(tile.height - 1));
    const bool unclamped = centres.x0 >= scene.edge_x0 && centres.x1 <= scene.edge_x1 &&
                           centres.y0 >= scene.edge_y0 && centres.y1 <= scene.edge_y1;
    return !seen_as.projective && unclamped && scene.law.level_of(centres) == 0;
  }

  /// Finds the front leaves for a part of the tile, at most kTile pixels wide and high.
  template <class Team>
  WS_INLINE void find_fronts(Team& team, const Scene& scene, const Augmentation& seen_as,
                             const PixelTile& part, const Scratch& scratch) const {
    if (team.rank() == 0) clear(scratch, 0);
    team.sync();  // winners and masks are initialised
    const SourceBox whole = looked_up(scene, seen_as, part.x0, part.y0, part.width, part.height);
    const int level = scene.law.level_of(whole);
    if (level == LeafPlaces::kPlane) {
      search<true>(team, scene, seen_as, part, whole, level, scratch);
    } else {
      search<false>(team, scene, seen_as, part, whole, level, scratch);
    }
    team.sync();
  }

  /// Processes the level's sequence in batches until no cell of the tile is open or `max_leaves`
  /// leaves have been placed on the image.
  template <bool OnPlane, class Team>
  WS_INLINE void search(Team& team, const Scene& scene, const Augmentation& seen_as,
                        const PixelTile& tile, const SourceBox& whole, int level,
                        const Scratch& scratch) const {
    std::uint64_t cells = ~std::uint64_t{0};
    std::uint32_t count[LeafPlaces::kRegions + 1] = {};  // leaves of each level so far
    for (int turn = 0; count[0] < background() && cells != 0; turn ^= 1) {
      lay(team, scene.law, level, turn, count, scratch);
      for (int i = team.rank(); i < kBatch; i += team.size()) {
        const std::uint32_t in_image =
            level == 0 ? static_cast<std::uint32_t>(i) : count_before(scratch.met(turn, 0), i);
        if (count[0] + in_image >= background()) continue;
        Leaf& leaf = scratch.leaves[i];
        if (!touches_open<OnPlane>(leaf, scene, seen_as, tile, whole, cells)) continue;
        scene.law.cut(leaf);
        team.atomic_or(&scratch.seen(turn)[i / 32], std::uint32_t{1} << (i % 32));
      }
      WS_UNROLL(3)
      for (int l = 0; l <= LeafPlaces::kRegions; ++l) {
        if (l < level) count[l] += count_before(scratch.met(turn, l), kBatch);
        if (l == level) count[l] += kBatch;
      }
      team.sync();
      if (team.rank() == 0) clear(scratch, turn ^ 1);
      const std::uint64_t left =
          cover_runs<OnPlane>(team, scene, seen_as, tile, cells, scratch, turn);
      if (left != 0) team.atomic_or(&scratch.open[turn], left);
      team.sync();
      cells = scratch.open[turn];
    }
  }

  /// Places the next batch of the level's sequence; a leaf that meets a smaller region is replaced
  /// with the next leaf of that region's sequence.
  template <class Team>
  WS_INLINE static void lay(Team& team, const LeafPlaces& law, int level, int turn,
                            const std::uint32_t (&count)[LeafPlaces::kRegions + 1],
                            const Scratch& scratch) {
    Leaf* const leaves = scratch.leaves;
    for (int i = team.rank(); i < kBatch; i += team.size()) {
      leaves[i] = law.place(level, at(count, level) + static_cast<std::uint32_t>(i));
    }
    for (int from = level; from > 0; --from) {
      std::uint32_t* const met = scratch.met(turn, from - 1);
      const std::uint32_t* const outer = from < level ? scratch.met(turn, from) : nullptr;
      for (int i = team.rank(); i < kBatch; i += team.size()) {
        const bool here = outer == nullptr || is_set(outer, i);  // a leaf of level `from`
        if (here && law.meets(from - 1, leaves[i]))
          team.atomic_or(&met[i / 32], std::uint32_t{1} << (i % 32));
      }
      team.sync();
      for (int i = team.rank(); i < kBatch; i += team.size()) {
        if (is_set(met, i))
          leaves[i] = law.place(from - 1, at(count, from - 1) + count_before(met, i));
      }
    }
  }
  /// Uses select instructions, because dynamic indexing would move the counts to local memory.
  WS_INLINE static std::uint32_t at(const std::uint32_t (&count)[LeafPlaces::kRegions + 1],
                                    int level) {
    return level == 0 ? count[0] : (level == 1 ? count[1] : count[2]);
  }

  /// Tests which of this member's runs the batch covers. Returns the cells that remain open.
  template <bool OnPlane, class Team>
  WS_INLINE std::uint64_t cover_runs(Team& team, const Scene& scene, const Augmentation& seen_as,
                                     const PixelTile& tile, std::uint64_t cells,
                                     const Scratch& scratch, int turn) const {
    constexpr int kRun = WS_RUN_LENGTH;
    const int across = (tile.width + kRun - 1) / kRun;
    std::uint64_t open = 0;
    // OwnRuns would work too, but the compiler then spills registers.
    for (int i = team.rank(); i < across * tile.height; i += team.size()) {
      const int row = i / across, column = (i - row * across) * kRun;
      const int cell = row / kCell * kCellsAcross + column / kCell;
      constexpr std::uint64_t kOfRun = (std::uint64_t{1} << (kRun / kCell)) - 1;
      if ((cells >> cell & kOfRun) == 0) continue;
      PixelRun<kRun> run = detail::place_run<kRun>(seen_as, tile, tile.x0 + column, tile.y0 + row);
      open |= cover_run<OnPlane>(scene, scratch.leaves, scratch.seen(turn), run,
                                 scratch.winner + row * scratch.pitch + column)
              << cell;
    }
    return open;
  }

  template <bool OnPlane, int N>
  WS_INLINE std::uint64_t cover_run(const Scene& scene, const Leaf* leaves,
                                    const std::uint32_t* seen, PixelRun<N>& run,
                                    std::uint32_t* winner) const {
    float x[N], y[N];
    std::uint32_t front[N];
    int uncovered = 0;
    WS_LANES_SUM(uncovered)
    for (int i = 0; i < N; ++i) {
      x[i] = inside_x(scene, run.x[i]);
      y[i] = inside_y(scene, run.y[i]);
      front[i] = winner[i];
      uncovered += front[i] == background() ? 1 : 0;
    }
    if (uncovered == 0) return 0;
    SourceBox box = {x[0], y[0], x[0], y[0]};
    for (int i = 1; i < N; ++i) {
      box = {math::min(box.x0, x[i]), math::min(box.y0, y[i]), math::max(box.x1, x[i]),
             math::max(box.y1, y[i])};
    }
    for (int word = 0; word < kWords && uncovered != 0; ++word) {
      for (std::uint32_t bits = seen[word]; bits != 0 && uncovered != 0; bits &= bits - 1) {
        const Leaf& candidate = leaves[word * 32 + lowest_bit(bits)];
        if (!near<OnPlane>(scene.law, candidate, box)) continue;
        const Leaf leaf = candidate;
        uncovered =
            leaf.kind == Kind::circle
                ? take_pixels<OnPlane>(scene.law, leaf, background(), x, y, front, Leaf::InCircle{})
                : take_pixels<OnPlane>(scene.law, leaf, background(), x, y, front,
                                       Leaf::InPolygon{});
      }
    }
    WS_LANES
    for (int i = 0; i < N; ++i) winner[i] = front[i];
    std::uint64_t open = 0;
    WS_UNROLL(32)
    for (int i = 0; i < N; ++i) {
      open |= static_cast<std::uint64_t>(front[i] == background() ? 1 : 0) << (i / kCell);
    }
    return open;
  }

  /// Offset of `v` from the leaf's centre; on the plane, from its nearest periodic copy.
  template <bool OnPlane>
  WS_INLINE static float from_centre(float v, float centre, float period, float inverse) {
    if constexpr (OnPlane) {
      return v - math::fma(math::round((v - centre) * inverse), period, centre);
    } else {
      return v - centre;
    }
  }

  /// Assigns the leaf to the open pixels that it covers. Returns how many pixels remain open.
  template <bool OnPlane, int N, class Covers>
  WS_INLINE static int take_pixels(const LeafPlaces& law, const Leaf& leaf,
                                   std::uint32_t background, const float (&x)[N],
                                   const float (&y)[N], std::uint32_t (&front)[N],
                                   const Covers& covers) {
    int uncovered = 0;
    WS_LANES_SUM(uncovered)
    for (int i = 0; i < N; ++i) {
      const float dx = from_centre<OnPlane>(x[i], leaf.x, law.period_x, law.inverse_x);
      const float dy = from_centre<OnPlane>(y[i], leaf.y, law.period_y, law.inverse_y);
      const bool hit = covers(leaf, dx, dy);
      const bool open = front[i] == background;
      front[i] = hit & open ? leaf.number : front[i];
      uncovered += open & !hit ? 1 : 0;
    }
    return uncovered;
  }

  struct Rules {
    Kind kind;
    Law law;
    float r_min, r_max, spread;
    int max_leaves;
    Dense dense;
  };
  Rules rules_;
};

}  // namespace wellspring
