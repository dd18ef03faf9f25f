// Generator `ifs_multi`: several fractals on a plasma, with multi-hot labels of their classes.
// Called through the registry; host and device.
//
// The multi-instance task of C. Anderson, R. Farrell, "Improving fractal pre-training", WACV 2022,
// section 4, and of its program. Generator `ifs` has the same systems in mode `svd` (ifs_svd.h);
// colours and patches are described in ifs_counts.h. Each fractal is drawn on a grid of half the
// image's side, stretched bilinearly to its own square, and hides the fractals below it.
#pragma once

#include "core/config/params.h"
#include "generators/images/ifs.h"
#include "generators/sample_info.h"
#include "kernels/emission/canvas.h"

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

struct IfsMulti {
  static constexpr int kMostInstances = 8;

  struct Params {
    int categories = 60;
    std::int64_t category_seed = 1;
    int maps_low = 2, maps_high = 4;
    int jitters = 24;
    int instances_low = 1, instances_high = 5;
    float size_low = 0.15f, size_high = 0.6f;
    int points = 0;
    int walkers = 256;
    int burn_in = 32;
    Ifs::Background background = Ifs::Background::plasma;
  };
  static const ParamTable<Params>& table();

  static constexpr int kLabels = kMostInstances;
  /// Number of latents per image and per instance.
  static constexpr int kImageLatents = 2, kInstanceLatents = 6;
  static constexpr int kLatents = kImageLatents + kInstanceLatents * kMostInstances;
  static constexpr forms::Canvas kForm = {.draw = forms::Draw::in_place, .settles = true};
  static constexpr GeneratorHooks kHooks = {.tables = true};
  /// Published density of points: 100,000 on a grid of 112x112.
  static constexpr float kDensity = 100000.0f / (112 * 112);

  static SampleInfo describe(const Params& params);

  /// The systems of mode `svd` of generator `ifs`.
  class Tables {
   public:
    explicit Tables(const Params& params);
    std::vector<std::string> prepare(TableCache& cache) { return systems_.prepare(cache); }
    void plan(MemoryPlan& memory) { systems_.plan(memory); }
    void load(Stream& stream) { systems_.load(stream); }
    void bind(IfsMulti& functor) const { functor.read(systems_.rows()); }

   private:
    Ifs::Tables systems_;
  };
  void read(const Ifs::Rows& rows) { rows_ = rows; }

  /// One fractal, in a square of the image.
  struct Instance {
    ifs::System system;
    ifs::Placing placing;    ///< placing on the instance's grid
    float start_x, start_y;  ///< start of its walkers
    std::int32_t left, top;  ///< corner of the square, pixels; may be outside
    std::int32_t side;       ///< pixels
    ifs::CountStyle style;
  };
  struct Scene {
    Instance instance[kMostInstances];  ///< the first `count` are used, from back to front
    std::int32_t count;
    std::int32_t width, height;
    std::int32_t grid;  ///< side of the instances' grids, cells
    std::int32_t points, walkers;
    ifs::GroundStyle ground;
    SampleRng rng;
  };

  /// Throws a config error if a lower limit is above its upper limit.
  explicit IfsMulti(const Params& params);

  // Canvas: one grid per instance, with a border of one cell, then the largest count of each grid,
  // then the background heights.
  using Cell = std::uint32_t;
  static constexpr int kBorder = 1;
  std::int64_t cells(SampleShape shape) const;
  /// One team moves 512 walkers at once.
  int painters() const { return (params_.instances_high * params_.walkers + 511) / 512; }

  WS_INLINE void draw(const SampleKey& key, Scene& scene, TruthOf<IfsMulti>& truth) const {
    scene.width = key.shape.width;
    scene.height = key.shape.height;
    scene.rng = key.rng;
    const int side = side_of(scene.width, scene.height);
    scene.grid = grid_of(side);
    scene.points = points(scene.grid);
    scene.walkers = ifs::walkers_for(params_.walkers, scene.points);
    RngStream ground(key.rng, Purpose::scene);
    scene.ground = ifs::draw_ground(ground);

    RngStream draw(key.rng, Purpose::label), colours(key.rng, Purpose::colour);
    scene.count = params_.instances_low + static_cast<int>(draw.integer(static_cast<std::uint32_t>(
                                              params_.instances_high - params_.instances_low + 1)));
    truth.labels = scene.count;
    truth.latents[0] = static_cast<float>(scene.count);
    truth.latents[1] = scene.ground.decay;
    for (int i = 0; i < scene.count; ++i) {
      truth.present[i] = draw_instance(draw, colours, key.shape, scene.grid, scene.instance[i],
                                       truth.latents + kImageLatents + i * kInstanceLatents);
    }
    // The frontmost fractal is fully visible.
    truth.label = truth.present[scene.count - 1];
  }

  template <class Team>
  WS_INLINE void paint(Team& team, const Scene& scene, ScatterWork work, Cell* cells) const {
    const int pieces = (scene.walkers + WS_WALKERS - 1) / WS_WALKERS;
    const std::int32_t steps = params_.burn_in + (scene.points + scene.walkers - 1) / scene.walkers;
    for (std::int64_t piece = work.first; piece < std::int64_t{pieces} * scene.count;
         piece += work.stride) {
      const auto i = static_cast<int>(piece / pieces);
      const Instance& one = scene.instance[i];
      // One block of random numbers serves four steps of a walker.
      const auto first_block = static_cast<std::uint32_t>(i * ((steps + 3) / 4) * scene.walkers);
      const ifs::Walk walk = {scene.walkers, params_.burn_in, scene.points,
                              one.start_x,   one.start_y,     first_block};
      Cell* const grid = cells + grid_at(scene, i);
      ifs::walk(piece % pieces, pieces, one.system, walk, one.placing, scene.grid + 2 * kBorder,
                scene.grid + 2 * kBorder, scene.rng,
                [&](std::int32_t cell, Cell) { team.atomic_add(&grid[cell], Cell{1}); });
    }
  }

  WS_INLINE bool settles() const { return true; }
  template <class Team>
  WS_INLINE void settle(Team& team, const Scene& scene, Cell* cells) const {
    Cell* const largest = cells + largest_at(scene);
    for (int i = 0; i < scene.count; ++i) {
      ifs::find_largest(team, cells + grid_at(scene, i), scene.grid, scene.grid,
                        scene.instance[i].style.mask, &largest[i]);
    }
    if (params_.background == Ifs::Background::black) return;
    diamond_square::make(team, scene.rng, scene.ground.decay,
                         diamond_square::levels_for(longer_of(scene.width, scene.height)),
                         largest + params_.instances_high);
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const Cell* cells, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    for (int i = 0; i < N; ++i) {
      WS_READ_AGAIN();
      const float x = math::floor(run.x[i]), y = math::floor(run.y[i]);
      const bool on_grid = run.x[i] == x + 0.5f && run.y[i] == y + 0.5f;
      colour.set(i, on_grid ? texel(scene, cells, static_cast<int>(x), static_cast<int>(y))
                            : between_pixels(run.x[i], run.y[i], [&](int column, int row) {
                                return texel(scene, cells, column, row);
                              }));
    }
  }

  /// The colour of a pixel; black outside the image.
  WS_INLINE Rgb texel(const Scene& scene, const Cell* cells, int x, int y) const {
    if (x < 0 || x >= scene.width || y < 0 || y >= scene.height) return {};
    for (int i = scene.count - 1; i >= 0; --i) {
      const Instance& one = scene.instance[i];
      const int column = x - one.left, row = y - one.top;
      if (column < 0 || column >= one.side || row < 0 || row >= one.side) continue;
      const Rgb colour = stretched(scene, cells, i, column, row);
      // A colour hides the rest unless it rounds to black as bytes.
      if (math::max(colour.r, math::max(colour.g, colour.b)) >= 0.5f / 255) return colour;
    }
    if (params_.background == Ifs::Background::black) return {};
    const int levels = diamond_square::levels_for(longer_of(scene.width, scene.height));
    const Cell height = cells[largest_at(scene) + params_.instances_high +
                              y * diamond_square::points_for(levels) + x];
    return ifs::background(scene.ground, std::bit_cast<float>(height));
  }

 private:
  WS_INLINE static constexpr int side_of(int width, int height) {
    return width < height ? width : height;
  }
  WS_INLINE static constexpr int longer_of(int width, int height) {
    return width > height ? width : height;
  }
  WS_INLINE static constexpr int grid_of(int side) { return side < 2 ? 1 : side / 2; }
  WS_INLINE static std::int32_t grid_at(const Scene& scene, int instance) {
    return instance * (scene.grid + 2 * kBorder) * (scene.grid + 2 * kBorder);
  }
  WS_INLINE std::int32_t largest_at(const Scene& scene) const {
    return grid_at(scene, params_.instances_high);
  }

  WS_INLINE std::int32_t points(int grid) const {
    return params_.points > 0 ? params_.points : Ifs::points_by_size(grid, 1, kDensity);
  }

  /// Draws an instance from six words of `draw` and four of `colours`; returns its class.
  WS_INLINE std::int32_t draw_instance(RngStream& draw, RngStream& colours, SampleShape shape,
                                       int grid, Instance& one, float* latents) const {
    const int side = side_of(shape.width, shape.height);
    const auto k = static_cast<int>(draw.integer(static_cast<std::uint32_t>(params_.categories)));
    const ifs::Category& category = rows_.category[k];
    const int variation = category.variation[draw.integer(category.usable)];
    const float size = draw.uniform(params_.size_low, params_.size_high);
    one.side = static_cast<std::int32_t>(size * static_cast<float>(side));
    if (one.side < 1) one.side = 1;
    const int left = (shape.width - side) / 2, top = (shape.height - side) / 2;
    one.left =
        left + static_cast<int>(draw.integer(static_cast<std::uint32_t>(side))) - one.side / 2;
    one.top = top + static_cast<int>(draw.integer(static_cast<std::uint32_t>(side))) - one.side / 2;
    const std::uint32_t turns = draw.integer(8);
    const bool transposed = (turns & 4u) != 0;
    one.style = ifs::draw_counts(colours);

    ifs::System system = category.system;
    ifs::jitter_maps(system, rows_.jitter[k * ifs::kVariations + variation], transposed);
    one.system = system;
    ifs::Window window = rows_.window[k * ifs::kVariations + variation];
    if (transposed) window = ifs::transposed(window);
    one.start_x = window.point_x;
    one.start_y = window.point_y;
    const auto cells = static_cast<float>(grid);
    ifs::place(kBorder, cells, 0, window.x0, window.x1, (turns & 1u) != 0, one.placing.sx,
               one.placing.ox);
    // The image's y axis points up.
    ifs::place(kBorder, cells, 0, window.y0, window.y1, (turns & 2u) == 0, one.placing.sy,
               one.placing.oy);

    const float half = 0.5f * static_cast<float>(one.side), whole = static_cast<float>(side);
    latents[0] = static_cast<float>(k);
    latents[1] = static_cast<float>(variation);
    const auto from_square = [whole](int corner, float centre, int extent) {
      return ((static_cast<float>(corner) + centre) - 0.5f * (static_cast<float>(extent) - whole)) /
             whole;
    };
    latents[2] = from_square(one.left, half, shape.width);
    latents[3] = from_square(one.top, half, shape.height);
    latents[4] = size;
    latents[5] = one.style.hue;
    return k;
  }

  /// An instance's colour at a pixel of its square: interpolated bilinearly between the cells of
  /// its grid; black where no patch covers them.
  WS_INLINE Rgb stretched(const Scene& scene, const Cell* cells, int instance, int column,
                          int row) const {
    const Instance& one = scene.instance[instance];
    const Cell* const grid = cells + grid_at(scene, instance);
    const auto largest = static_cast<float>(cells[largest_at(scene) + instance]);
    const int stride = scene.grid + 2 * kBorder, last = scene.grid - 1;
    const float scale = static_cast<float>(scene.grid) / static_cast<float>(one.side);
    return between_pixels(
        (static_cast<float>(column) + 0.5f) * scale, (static_cast<float>(row) + 0.5f) * scale,
        [&](int x, int y) -> Rgb {
          // Beyond the grid's edge, repeats the outermost cells.
          x = x < 0 ? 0 : x > last ? last : x;
          y = y < 0 ? 0 : y > last ? last : y;
          const std::uint32_t count =
              ifs::covering(grid + (y + kBorder) * stride + x + kBorder, stride, one.style.mask);
          if (count == 0) return {};
          return ifs::count_colour(one.style, static_cast<float>(count) / largest);
        });
  }

  Params params_;
  Ifs::Rows rows_;
};

}  // namespace wellspring
