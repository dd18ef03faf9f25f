// Generator `ifs`: attractors of iterated function systems, drawn by the chaos game. Mode
// `fractaldb`: a class is a random system of 2 to 7 affine maps that fills enough of a picture; its
// samples are 25 variations of the coefficients, in four flips, with a random 3x3 patch at every
// point. Called through the registry; host and device.
//
// After H. Kataoka et al., "Pre-training without natural images", ACCV 2020 (FractalDB), and the
// program published with it. What differs: categories are our own (ifs_categories.h); points come
// from many walkers that begin on the attractor instead of one that begins at the origin, and each
// sample draws its own; patches are centred on their points; variations that diverge or leave
// almost nothing to see are drawn again.
#pragma once

#include "core/error.h"
#include "core/params.h"
#include "generators/images/ifs_categories.h"
#include "generators/images/ifs_system.h"
#include "generators/sample_info.h"
#include "generators/table_cache.h"
#include "kernels/emission/canvas.h"
#include "kernels/memory_plan.h"
#include "kernels/stream.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {

struct Ifs {
  enum class Mode : std::uint8_t { fractaldb };
  enum class Stamp : std::uint8_t { patch, point };
  enum class Palette : std::uint8_t { grey, colour };

  struct Params {
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
  };
  using Settings = std::vector<std::pair<std::string, std::string>>;
  /// 200,000 points on 362x362 pixels, of which 224x224 are seen, at any size.
  static Settings fractaldb(std::string categories) {
    return {{"categories", std::move(categories)}, {"weight_step", "0.4"}, {"patches", "10"},
            {"keep_degenerate", "true"},           {"points", "200000"},   {"picture", "1.616"}};
  }
  static constexpr const char* kAsPublished =
      "25 variations, 10 drawings, 4 flips; Kataoka et al., ACCV 2020, but for the categories";
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("ifs")
            .choice("mode", &Params::mode, {{"fractaldb", Mode::fractaldb}},
                    "family of systems: random affine maps, chosen by how much they fill")
            .integer("categories", &Params::categories, {1, 100000}, "",
                     "number of classes; class k does not depend on it",
                     "FractalDB-60, -1k and -10k: 60, 1000, 10000")
            .integer("category_seed", &Params::category_seed, {0}, "",
                     "of the random systems; the same classes under every seed of samples")
            .real("rate", &Params::rate, {0.01, 0.25}, "share of pixels",
                  "filling rate that a class needs, of 512x512 pixels by 100,000 points",
                  "FractalDB: 0.2")
            .real("weight_step", &Params::weight_step, {0, 0.5}, "",
                  "variations multiply a coefficient by 1 - 2w, 1 - w, 1 + w, 1 + 2w",
                  "FractalDB: 0.4 (0.1 where its program is not told)")
            .flag("keep_degenerate", &Params::keep_degenerate,
                  "keep variations that diverge or leave almost nothing to see", "FractalDB: true")
            .real("least_fill", &Params::least_fill, {0, 0.2}, "share of pixels",
                  "filling rate below which a variation counts as degenerate")
            .integer("patches", &Params::patches, {0, 1000000}, "",
                     "drawings of each variation: their points and patches; 0: fresh every sample",
                     "FractalDB: 10, whose points are the same in all")
            .choice("stamp", &Params::stamp, {{"patch", Stamp::patch}, {"point", Stamp::point}},
                    "what is drawn at a point: a random 3x3 patch, which hides what lies below, or "
                    "its pixel",
                    "FractalDB: patch")
            .choice("palette", &Params::palette,
                    {{"grey", Palette::grey}, {"colour", Palette::colour}},
                    "grey: 127 of 255; colour: a hue by the point's number", "FractalDB: grey")
            .integer("points", &Params::points, {0, ifs::kMostPoints}, "",
                     "0: as densely as published, 200,000 on 362x362 pixels of the picture",
                     "FractalDB: 200,000 at 362 pixels")
            .real("picture", &Params::picture, {1, 4}, "image side",
                  "side of the whole picture; above 1 a random part of it is seen",
                  "FractalDB is trained on 224 of 362 pixels: 1.616")
            .real("margin", &Params::margin, {0, 0.25}, "picture side",
                  "left free around the points", "FractalDB: 6 of 362 pixels")
            .integer("walkers", &Params::walkers, {1, 65536}, "",
                     "points that wander at the same time, at most one for four that are drawn")
            .integer("burn_in", &Params::burn_in, {0, 4096}, "",
                     "steps of each walker that are not drawn")
            .preset("fractaldb-60", fractaldb("60"), kAsPublished)
            .preset("fractaldb-1k", fractaldb("1000"), kAsPublished)
            .preset("fractaldb-10k", fractaldb("10000"), kAsPublished);
    return rows;
  }

  static constexpr int kLatents = 6;
  /// Published density of points, per pixel of the picture.
  static constexpr float kDensity = 200000.0f / (362.0f * 362.0f);
  /// The grey of the published pictures, of 255.
  static constexpr float kGrey = 127.0f / 255;

  /// Numbered drawings have ids of their own under the categories' seed, beyond all categories.
  static constexpr std::uint64_t kDrawings = std::uint64_t{1} << 63;

  static SampleInfo describe(const Params& params);

  /// The categories and their windows, found once and kept on disk.
  class Tables {
   public:
    explicit Tables(const Params& params);
    std::vector<std::string> prepare(TableCache& cache);
    void plan(MemoryPlan& memory);
    void load(Stream& stream);
    void bind(Ifs& functor) const { functor.read({category_.data(), window_.data()}); }

   private:
    ifs::CategorySpec spec_;
    std::int64_t count_;
    ifs::CategoryTable table_;
    Planned<ifs::Category> category_;
    Planned<ifs::Window> window_;
  };
  /// What of them the device reads.
  struct Rows {
    const ifs::Category* category = nullptr;
    const ifs::Window* window = nullptr;  ///< ifs::kVariations of each category
  };
  void read(const Rows& rows) { rows_ = rows; }

  struct Scene {
    ifs::System system;
    ifs::Walk walk;
    ifs::Placing placing;
    SampleRng rng;
    std::int32_t width, height;
  };

  explicit Ifs(const Params& params) : params_(params) {}

  // The canvas: the image's pixels and a border of one cell, whose patches reach into the image.
  using Cell = std::uint32_t;
  static constexpr int kBorder = 1;
  /// Error (config) where the image is too large for the published density of points.
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
    const ifs::Window& window = rows_.window[k * ifs::kVariations + variation];
    const auto drawing =
        params_.patches == 0 ? 0u : below(patch, static_cast<std::uint32_t>(params_.patches));

    Scene scene;
    scene.width = key.shape.width;
    scene.height = key.shape.height;
    // A numbered drawing is the same for every sample that has its number.
    scene.rng = params_.patches == 0 ? key.rng
                                     : SampleRng{static_cast<std::uint64_t>(params_.category_seed),
                                                 kDrawings + drawing};
    scene.system = category.system;
    WS_UNROLL(7)
    for (int i = 0; i < ifs::kMaxMaps; ++i) {
      scene.system.map[i] = ifs::vary(category.system.map[i], variation, params_.weight_step);
    }
    const std::int32_t count = points(key.shape);
    scene.walk = {walkers_for(count), params_.burn_in, count, window.point_x, window.point_y};
    const bool flip_x = (flips & 1u) != 0, flip_y = (flips & 2u) != 0;
    scene.placing = {};
    place(static_cast<float>(scene.width), window.x0, window.x1, part_x, flip_x, scene.placing.sx,
          scene.placing.ox);
    // The y axis points up.
    place(static_cast<float>(scene.height), window.y0, window.y1, part_y, !flip_y, scene.placing.sy,
          scene.placing.oy);

    truth.label = k;
    truth.latents[0] = static_cast<float>(variation);
    truth.latents[1] = static_cast<float>(drawing);
    truth.latents[2] = flip_x ? 1.0f : 0.0f;
    truth.latents[3] = flip_y ? 1.0f : 0.0f;
    truth.latents[4] = params_.picture > 1 ? part_x : 0.0f;
    truth.latents[5] = params_.picture > 1 ? part_y : 0.0f;
    return scene;
  }

  template <class Team>
  WS_INLINE void paint(Team& team, const Scene& scene, ScatterWork work, Cell* cells) const {
    ifs::walk(work.first, work.stride, scene.system, scene.walk, scene.placing,
              scene.width + 2 * kBorder, scene.height + 2 * kBorder, scene.rng,
              [&](std::int32_t cell, Cell value) { team.atomic_max(&cells[cell], value); });
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const Cell* cells, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
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
      for (int i = 0; i < N; ++i) colour.set(i, colour_of(point[i]));
    } else if (on_grid != 0) {
      for (int i = 0; i < N; ++i) {
        colour.set(i, texel(scene, cells, floor_int(run.x[i]), floor_int(run.y[i])));
      }
    } else {
      for (int i = 0; i < N; ++i) colour.set(i, bilinear(scene, cells, run.x[i], run.y[i]));
    }
  }

  /// The colour of a pixel; black beyond the image.
  WS_INLINE Rgb texel(const Scene& scene, const Cell* cells, int x, int y) const {
    if (x < 0 || x >= scene.width || y < 0 || y >= scene.height) return {};
    return colour_of(seen(scene, cells + cell_of(scene, x, y)));
  }

  /// The colour of point number t: 128 hues around the circle of HSV with value and saturation of
  /// 3/4, in whole steps of 1/255, as published (red and blue included, which change places there).
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

  /// Points of a square picture of which `side` pixels are seen, as densely as published.
  WS_INLINE static std::int32_t points_by_size(int side, float picture) {
    const float across = static_cast<float>(side) * picture;
    const float count = math::floor(math::fma(kDensity * across, across, 0.5f));
    return count < static_cast<float>(ifs::kMostPoints) ? static_cast<std::int32_t>(count)
                                                        : ifs::kMostPoints;
  }

 private:
  WS_INLINE std::int32_t points(SampleShape shape) const {
    if (params_.points > 0) return params_.points;
    return points_by_size(shape.height > shape.width ? shape.height : shape.width, params_.picture);
  }

  /// No more than can draw four points each.
  WS_INLINE std::int32_t walkers_for(std::int32_t count) const {
    const std::int32_t most = count < 8 ? 1 : count / 4;
    return params_.walkers < most ? params_.walkers : most;
  }

  WS_INLINE static std::int32_t cell_of(const Scene& scene, int x, int y) {
    return (y + kBorder) * (scene.width + 2 * kBorder) + x + kBorder;
  }

  /// The number + 1 of the point that is seen in the pixel of a cell, 0 for none.
  WS_INLINE std::uint32_t seen(const Scene& scene, const Cell* centre) const {
    if (params_.stamp == Stamp::point) return *centre >> ifs::kMaskBits;
    // The latest of the nine points whose patches cover the pixel decides, by its patch's bit for
    // the place of the pixel in it, which is moved to the lowest one.
    const int stride = scene.width + 2 * kBorder;
    std::uint32_t latest = 0;
    WS_UNROLL(9)
    for (int i = 0; i < 9; ++i) {
      const Cell cell = centre[(i / 3 - 1) * stride + i % 3 - 1];
      const std::uint32_t number = cell >> ifs::kMaskBits << ifs::kMaskBits;
      const std::uint32_t candidate = number | (cell >> (8 - i) & 1u);
      latest = candidate > latest ? candidate : latest;
    }
    return (latest & 1u) != 0 ? latest >> ifs::kMaskBits : 0u;
  }
  WS_INLINE Rgb colour_of(std::uint32_t point) const {
    if (point == 0) return {};
    if (params_.palette == Palette::grey) return {kGrey, kGrey, kGrey};
    return hue_of(point - 1);
  }

  /// Between the four nearest pixels.
  WS_INLINE Rgb bilinear(const Scene& scene, const Cell* cells, float x, float y) const {
    const int ix = floor_int(x - 0.5f), iy = floor_int(y - 0.5f);
    const float u = math::fract(x - 0.5f), v = math::fract(y - 0.5f);
    const Rgb top = lerp(texel(scene, cells, ix, iy), texel(scene, cells, ix + 1, iy), u);
    const Rgb low = lerp(texel(scene, cells, ix, iy + 1), texel(scene, cells, ix + 1, iy + 1), u);
    return lerp(top, low, v);
  }
  WS_INLINE static int floor_int(float x) { return static_cast<int>(math::floor(x)); }

  /// Scale and offset, in cells, of one axis: the window fills the picture but for its margin.
  WS_INLINE void place(float side, float low, float high, float part, bool flipped, float& scale,
                       float& offset) const {
    const float whole = side * params_.picture;
    const float margin = whole * params_.margin;
    const float width = high - low;
    // A window without width shows nothing; only degenerate ones that are kept have one.
    const float stretch = width > 0 ? (whole - 2 * margin) / width : 0.0f;
    const float begin = static_cast<float>(kBorder) - part * (whole - side);
    if (flipped) {
      scale = -stretch;
      offset = begin + (whole - margin) + stretch * low;
    } else {
      scale = stretch;
      offset = begin + margin - stretch * low;
    }
  }

  Params params_;
  Rows rows_;
};

}  // namespace wellspring
