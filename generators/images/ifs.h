// Generator `ifs`: attractors of iterated function systems, drawn by the chaos game. The class is a
// system of affine maps; the mode says which:
//
// fractaldb      2 to 7 random maps whose attractor fills enough of the image, in 25 weight
//                variations and four flips, with a random 3x3 patch at every point. H. Kataoka et
//                al., "Pre-training without natural images", ACCV 2020.
// svd            contractions built from singular values, in jittered windows. The hue shows the
//                points per pixel; background: plasma (ifs_counts.h). C. Anderson, R. Farrell,
//                "Improving fractal pre-training", WACV 2022.
// one_parameter  small perturbations of one such system, drawn as in mode fractaldb. R. Nakamura et
//                al., "Scaling backwards: minimal synthetic pre-training?", ECCV 2024.
//
// Differences from the papers and their programs: systems are our own (ifs_categories.h, ifs_svd.h)
// unless FractalDB's (ifs_official.h) or files of systems (ifs_class_files.h) are requested; many
// walkers that start on the attractor draw each sample's points; patches are centred on their
// points; variations that diverge or show almost nothing are redrawn. Called through the registry;
// host and device.
#pragma once

#include "core/config/params.h"
#include "core/error.h"
#include "generators/images/diamond_square.h"
#include "generators/images/ifs_categories.h"
#include "generators/images/ifs_class_files.h"
#include "generators/images/ifs_counts.h"
#include "generators/images/ifs_svd.h"
#include "generators/images/ifs_system.h"
#include "generators/sample_info.h"
#include "generators/table_cache.h"
#include "kernels/emission/canvas.h"
#include "kernels/emission/resample.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {
class Generator;
struct GeneratorEntry;
class Progress;

struct Ifs {
  enum class Mode : std::uint8_t { fractaldb, svd, one_parameter };
  enum class Stamp : std::uint8_t { patch, point };
  enum class Palette : std::uint8_t { grey, colour };
  enum class Background : std::uint8_t { black, plasma };
  enum class Box : std::uint8_t { survey, points };

  /// The parameters that samples read on the device.
  struct Settings {
    Mode mode = Mode::fractaldb;
    int categories = 60;
    std::int64_t category_seed = 1;
    double rate = 0.2;
    float weight_step = 0.4f;
    bool keep_degenerate = false;
    double least_fill = 0.02;
    int patches = 0;
    Stamp stamp = Stamp::patch;
    Palette palette = Palette::grey;
    int points = 0;
    float picture = 1;
    float margin = 6.0f / 362;
    int walkers = 256;
    int burn_in = 32;
    int maps_low = 2, maps_high = 4;
    int jitters = 24;
    float shift = 0.2f;
    float zoom_low = 0.5f, zoom_high = 2;
    Background background = Background::plasma;
    double sigma = 4;
    double perturbation = 0.1;
    ifs::Search search = ifs::Search::own;
    int render = 0;
    Box box = Box::survey;
  };
  struct Params : Settings {
    std::vector<std::string> class_file;
    std::string class_hash;  ///< SHA-256 of the class files; set by instead()
  };
  static const ParamTable<Params>& table();

  static constexpr int kLatents = 16;
  static constexpr forms::Canvas kForm = {.settles = true};
  static constexpr GeneratorHooks kHooks = {.instead = true, .tables = true};
  /// Number of latents of modes fractaldb and one_parameter; mode svd has all.
  static constexpr int kFewLatents = 6;
  /// Published density of points per pixel of the picture; kDensities lists it for each mode.
  static constexpr float kDensity = 200000.0f / (362.0f * 362.0f);
  static constexpr float kDensities[] = {kDensity, 100000.0f / (224 * 224),
                                         100000.0f / (512 * 512)};
  /// Grey level of the points in the published pictures.
  static constexpr float kGrey = 127.0f / 255;

  static SampleInfo describe(const Params& params);
  /// With class files: the same generator, with their hash in its parameters.
  static std::unique_ptr<Generator> instead(Params params, SampleShape shape,
                                            const std::vector<GeneratorEntry>& others);

  /// Tables of categories that the device reads.
  struct Rows {
    const ifs::Category* category = nullptr;
    const ifs::Window* window = nullptr;  ///< ifs::kVariations per category
    const ifs::Jitter* jitter = nullptr;  ///< ifs::kVariations per category, mode svd only
  };

  /// The categories and their windows, computed once and cached on disk.
  class Tables {
   public:
    explicit Tables(const Params& params);
    std::vector<std::string> prepare(TableCache& cache);
    void plan(MemoryPlan& memory);
    void load(Stream& stream);
    void bind(Ifs& functor) const { functor.read(rows()); }
    Rows rows() const { return {category_.data(), window_.data(), jitter_.data()}; }

   private:
    TableKey key() const;
    ifs::CategoryTable make(Progress* progress) const;

    Params params_;
    ifs::ClassFiles files_;  ///< empty without class_file
    ifs::CategoryTable table_;
    Planned<ifs::Category> category_;
    Planned<ifs::Window> window_;
    Planned<ifs::Jitter> jitter_;
  };
  void read(const Rows& rows) { rows_ = rows; }

  struct Scene {
    ifs::System system;
    ifs::Walk walk;
    ifs::Placing placing;
    SampleRng rng;
    std::int32_t width, height;
    float part_x, part_y;
    std::uint32_t flips;
    ifs::CountStyle style;  ///< this and the members below are only used in mode svd
    ifs::GroundStyle ground;
    SampleRng own;  ///< random numbers of the background
  };

  /// Throws a config error if parameters contradict each other.
  explicit Ifs(const Params& params);

  // Canvas: the image's pixels and a border of one cell, because patches of points there reach into
  // the image. In mode svd, the largest count and the background heights follow; with box points,
  // the four sides of the box.
  using Cell = std::uint32_t;
  static constexpr int kBorder = 1;
  /// Largest side of a canvas: point numbers have 23 bits.
  static constexpr int kMostSide = 2048;
  /// Throws a config error if the image is too large for the published density of points.
  std::int64_t cells(SampleShape shape) const;
  /// One team moves 512 walkers at once.
  int painters() const { return (params_.walkers + 511) / 512; }

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    RngStream draw(key.rng, Purpose::label);
    const auto k = static_cast<int>(draw.integer(static_cast<std::uint32_t>(params_.categories)));
    const std::uint32_t which = draw.next();
    const std::uint32_t patch = draw.next();
    const std::uint32_t flips = draw.integer(4);
    const float part_x = draw.uniform(), part_y = draw.uniform();

    const ifs::Category& category = rows_.category[k];
    const int variation = params_.keep_degenerate
                              ? static_cast<int>(below(which, ifs::kVariations))
                              : category.variation[below(which, category.usable)];
    const auto drawing =
        params_.patches == 0 ? 0u : below(patch, static_cast<std::uint32_t>(params_.patches));

    Scene scene;
    scene.width = key.shape.width;
    scene.height = key.shape.height;
    // A numbered drawing is the same in all samples with its number.
    scene.rng = params_.patches == 0 ? key.rng
                                     : SampleRng{static_cast<std::uint64_t>(params_.category_seed),
                                                 ifs::kDrawings + drawing};
    scene.system = category.system;
    ifs::Window window = rows_.window[k * ifs::kVariations + variation];
    scene.style = {};
    scene.ground = {};
    scene.own = key.rng;
    if (params_.mode == Mode::svd) {
      const ifs::Jitter jitter = rows_.jitter[k * ifs::kVariations + variation];
      window = draw_counts(key.rng, jitter, window, scene, truth);
    } else {
      WS_UNROLL(7)
      for (int i = 0; i < ifs::kMaxMaps; ++i) {
        scene.system.map[i] = ifs::vary(category.system.map[i], variation, params_.weight_step);
      }
    }
    const std::int32_t count = points(key.shape);
    scene.walk = {ifs::walkers_for(params_.walkers, count), params_.burn_in, count, window.point_x,
                  window.point_y};
    scene.part_x = part_x;
    scene.part_y = part_y;
    scene.flips = flips;
    scene.placing = placing_in(scene, window.x0, window.x1, window.y0, window.y1);

    truth.label = k;
    truth.latents[0] = static_cast<float>(variation);
    truth.latents[1] = static_cast<float>(drawing);
    truth.latents[2] = (flips & 1u) != 0 ? 1.0f : 0.0f;
    truth.latents[3] = (flips & 2u) != 0 ? 1.0f : 0.0f;
    truth.latents[4] = params_.picture > 1 ? part_x : 0.0f;
    truth.latents[5] = params_.picture > 1 ? part_y : 0.0f;
    return scene;
  }

  template <class Team>
  WS_INLINE void paint(Team& team, const Scene& scene, ScatterWork work, Cell* cells) const {
    const bool counts = params_.mode == Mode::svd;
    ifs::Placing placing = scene.placing;
    if (params_.box == Box::points) {
      const ifs::PointBox box =
          ifs::point_box(team, scene.system, scene.walk, scene.rng, cells + largest_at(scene));
      placing = placing_in(scene, box.x0, box.x1, box.y0, box.y1);
    }
    ifs::walk(work.first, work.stride, scene.system, scene.walk, placing, scene.width + 2 * kBorder,
              scene.height + 2 * kBorder, scene.rng, [&](std::int32_t cell, Cell value) {
                if (counts) {
                  team.atomic_add(&cells[cell], Cell{1});
                } else {
                  team.atomic_max(&cells[cell], value);
                }
              });
  }

  WS_INLINE bool settles() const { return params_.mode == Mode::svd || params_.render > 0; }
  template <class Team>
  WS_INLINE void settle(Team& team, const Scene& scene, Cell* cells) const {
    if (params_.mode == Mode::svd) {
      Cell* const largest = cells + largest_at(scene);
      ifs::find_largest(team, cells, scene.width, scene.height, scene.style.mask, largest);
      if (params_.background == Background::plasma)
        diamond_square::make(team, scene.own, scene.ground.decay, ground_levels(scene),
                             largest + 1);
    }
    if (params_.render > 0) settle_colours(team, scene, cells);
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const Cell* cells, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    if (params_.render > 0) {
      const auto pixel = [&](int x, int y) WS_INLINED { return texel(scene, cells, x, y); };
      for (int i = 0; i < N; ++i) colour.set(i, resample(run, i, pixel));
      return;
    }
    const float x0 = run.x[0] - 0.5f, y0 = run.y[0] - 0.5f;
    int straight = 1, on_grid = 1;
    for (int i = 0; i < N; ++i) {
      const float x = run.x[i] - 0.5f, y = run.y[i] - 0.5f;
      on_grid &= static_cast<int>(x == math::floor(x)) & static_cast<int>(y == math::floor(y));
      straight &= static_cast<int>(x - x0 == static_cast<float>(i)) & static_cast<int>(y == y0);
    }
    const int column = static_cast<int>(x0), row = static_cast<int>(y0);
    const bool inside = column >= 0 && column + N <= scene.width && row >= 0 && row < scene.height;
    if ((straight & on_grid) != 0 && inside && x0 >= 0 && y0 >= 0) {
      std::uint32_t point[N];
      const Cell* const first = cells + cell_of(scene, column, row);
      WS_LANES
      for (int i = 0; i < N; ++i) point[i] = seen(scene, first + i);
      for (int i = 0; i < N; ++i) {
        colour.set(i, colour_of(scene, cells, point[i], column + i, row));
      }
    } else if (on_grid != 0) {
      for (int i = 0; i < N; ++i) {
        colour.set(i, texel(scene, cells, floor_int(run.x[i]), floor_int(run.y[i])));
      }
    } else {
      for (int i = 0; i < N; ++i) colour.set(i, bilinear(scene, cells, run.x[i], run.y[i]));
    }
  }

  /// The colour of a pixel; black outside the image.
  WS_INLINE Rgb texel(const Scene& scene, const Cell* cells, int x, int y) const {
    if (x < 0 || x >= scene.width || y < 0 || y >= scene.height) return {};
    if (params_.render > 0) return unpack_rgb(cells[settled_at(scene, x, y)]);
    return colour_of(scene, cells, seen(scene, cells + cell_of(scene, x, y)), x, y);
  }

  /// Colour of point number t: 128 hues around the HSV circle with value and saturation of 3/4, in
  /// whole steps of 1/255, as in the published program (including its swap of red and blue).
  WS_INLINE static Rgb hue_of(std::uint32_t t) {
    const std::uint32_t turn = (t % 128) * 6;
    const std::uint32_t sextant = turn / 128;
    const float along = static_cast<float>(static_cast<std::int32_t>(turn % 128)) / 128;
    constexpr float kValue = 0.75f * 255, kSaturation = 0.75f;
    const float high = math::floor(kValue) / 255;
    const float low = math::floor(kValue * (1 - kSaturation)) / 255;
    const float falling = math::floor(kValue * (1 - kSaturation * along)) / 255;
    const float rising = math::floor(kValue * (1 - kSaturation * (1 - along))) / 255;
    switch (sextant) {
      case 0:
        return {low, rising, high};
      case 1:
        return {low, high, falling};
      case 2:
        return {rising, high, low};
      case 3:
        return {high, falling, low};
      case 4:
        return {high, low, rising};
      default:
        return {falling, low, high};
    }
  }

  /// Number of points of a square picture at the published density. `side`: number of visible
  /// pixels per side.
  WS_INLINE static std::int32_t points_by_size(int side, float picture, float density = kDensity) {
    const float across = static_cast<float>(side) * picture;
    const float count = math::floor(math::fma(density * across, across, 0.5f));
    return count < static_cast<float>(ifs::kMostPoints) ? static_cast<std::int32_t>(count)
                                                        : ifs::kMostPoints;
  }

 private:
  WS_INLINE std::int32_t points(SampleShape shape) const {
    if (params_.points > 0) return params_.points;
    return points_by_size(shape.height > shape.width ? shape.height : shape.width, params_.picture,
                          density_);
  }

  WS_INLINE static std::int32_t cell_of(const Scene& scene, int x, int y) {
    return (y + kBorder) * (scene.width + 2 * kBorder) + x + kBorder;
  }

  /// Cell of a pixel's settled colour: the cell of its upper left neighbour.
  WS_INLINE static std::int32_t settled_at(const Scene& scene, int x, int y) {
    return y * (scene.width + 2 * kBorder) + x;
  }
  /// Called by all members: replaces the points by the pixels' 8-bit colours, as the published
  /// programs store them. A colour replaces a cell that no later pixel needs.
  template <class Team>
  WS_INLINE void settle_colours(Team& team, const Scene& scene, Cell* cells) const {
    team.sync();
    for (int y = 0; y < scene.height; ++y) {
      for (int first = 0; first < scene.width; first += team.size()) {
        const int x = first + team.rank();
        Cell colour = 0;
        if (x < scene.width) {
          const std::uint32_t point = seen(scene, cells + cell_of(scene, x, y));
          colour = pack_rgb(colour_of(scene, cells, point, x, y));
        }
        team.sync();
        if (x < scene.width) cells[settled_at(scene, x, y)] = colour;
        team.sync();
      }
    }
  }

  WS_INLINE static std::int32_t largest_at(const Scene& scene) {
    return (scene.height + 2 * kBorder) * (scene.width + 2 * kBorder);
  }
  WS_INLINE static int ground_levels(const Scene& scene) {
    return diamond_square::levels_for(scene.height > scene.width ? scene.height : scene.width);
  }

  /// Draws the parts that only mode svd has: the window, and the scene's jittered system, patch and
  /// colours.
  WS_INLINE ifs::Window draw_counts(const SampleRng& rng, const ifs::Jitter& jitter,
                                    const ifs::Window& box, Scene& scene,
                                    Truth<kLatents>& truth) const {
    RngStream draw(rng, Purpose::scene);
    const bool transposed = draw.next() >> 31 != 0;
    const float shift_x = draw.uniform(-params_.shift, params_.shift);
    const float shift_y = draw.uniform(-params_.shift, params_.shift);
    const float zoom_x = draw.uniform(params_.zoom_low, params_.zoom_high);
    const float zoom_y = draw.uniform(params_.zoom_low, params_.zoom_high);
    RngStream draw_colours(rng, Purpose::colour);
    scene.style = ifs::draw_counts(draw_colours);
    scene.ground = ifs::draw_ground(draw_colours);
    if (params_.stamp == Stamp::point) scene.style.mask = ifs::kPointMask;

    ifs::jitter_maps(scene.system, jitter, transposed);
    const float width = box.x1 - box.x0, height = box.y1 - box.y0;
    const float x = math::fma(0.5f + shift_x, width, box.x0), half_x = 0.5f * zoom_x * width;
    const float y = math::fma(0.5f + shift_y, height, box.y0), half_y = 0.5f * zoom_y * height;
    const ifs::Window window = {x - half_x, x + half_x,  y - half_y,
                                y + half_y, box.point_x, box.point_y};

    const float latents[kLatents - kFewLatents] = {transposed ? 1.0f : 0.0f,
                                                   shift_x,
                                                   shift_y,
                                                   zoom_x,
                                                   zoom_y,
                                                   static_cast<float>(scene.style.mask),
                                                   scene.style.hue,
                                                   scene.style.saturation,
                                                   scene.style.value,
                                                   scene.ground.decay};
    WS_UNROLL(10)
    for (int i = kFewLatents; i < kLatents; ++i) truth.latents[i] = latents[i - kFewLatents];
    return transposed ? ifs::transposed(window) : window;
  }

  /// 1 + index of the point visible in the pixel of a cell; in mode svd, the number of points that
  /// cover it. 0: none.
  WS_INLINE std::uint32_t seen(const Scene& scene, const Cell* centre) const {
    const int stride = scene.width + 2 * kBorder;
    if (params_.mode == Mode::svd) return ifs::covering(centre, stride, scene.style.mask);
    if (params_.stamp == Stamp::point) return *centre >> ifs::kMaskBits;
    return ifs::seen_patch(centre, stride);
  }
  /// Colour of a pixel, from a result of seen().
  WS_INLINE Rgb colour_of(const Scene& scene, const Cell* cells, std::uint32_t point, int x,
                          int y) const {
    if (params_.mode == Mode::svd) return count_colour(scene, cells, point, x, y);
    if (point == 0) return {};
    if (params_.palette == Palette::grey) return {kGrey, kGrey, kGrey};
    return hue_of(point - 1);
  }
  WS_INLINE Rgb count_colour(const Scene& scene, const Cell* cells, std::uint32_t count, int x,
                             int y) const {
    const Cell* const largest = cells + largest_at(scene);
    if (count == 0) {
      if (params_.background == Background::black) return {};
      const int side = diamond_square::points_for(ground_levels(scene));
      return ifs::background(scene.ground, std::bit_cast<float>(largest[1 + y * side + x]));
    }
    const float share = static_cast<float>(count) / static_cast<float>(*largest);
    if (params_.palette == Palette::grey) return {share, share, share};
    return ifs::count_colour(scene.style, share);
  }

  WS_INLINE Rgb bilinear(const Scene& scene, const Cell* cells, float x, float y) const {
    return between_pixels(x, y, [&](int ix, int iy) { return texel(scene, cells, ix, iy); });
  }
  WS_INLINE static int floor_int(float x) { return static_cast<int>(math::floor(x)); }

  /// Scale and offset, in cells, along one axis; the window fills the picture except for its
  /// margin.
  WS_INLINE void place(float side, float low, float high, float part, bool flipped, float& scale,
                       float& offset) const {
    const float whole = side * params_.picture;
    ifs::place(static_cast<float>(kBorder) - part * (whole - side), whole, whole * params_.margin,
               low, high, flipped, scale, offset);
  }
  /// Both axes; the y axis points up.
  WS_INLINE ifs::Placing placing_in(const Scene& scene, float x0, float x1, float y0,
                                    float y1) const {
    ifs::Placing placing;
    place(static_cast<float>(scene.width), x0, x1, scene.part_x, (scene.flips & 1u) != 0,
          placing.sx, placing.ox);
    place(static_cast<float>(scene.height), y0, y1, scene.part_y, (scene.flips & 2u) == 0,
          placing.sy, placing.oy);
    return placing;
  }

  Settings params_;
  float density_ = kDensity;  ///< points per pixel of the picture
  Rows rows_;
};

}  // namespace wellspring
