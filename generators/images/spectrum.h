// Generator `spectrum`: noise with amplitudes that fall as a power of the frequency, in correlated
// colours. The class determines the exponent and its difference between the axes. Called through
// the registry; host and device.
//
// Source: M. Baradad, J. Wulff, T. Wang, P. Isola, A. Torralba, "Learning to see by looking at
// noise", NeurIPS 2021: amplitudes 1 / (|fx|^(s + d) + |fy|^(s - d)), phases of white noise. Here
// the phases are drawn directly, so that one inverse transform per channel is enough and the
// amplitudes are exact. docs/generators/algorithms/spectrum.md lists the other differences.
#pragma once

#include "core/config/params.h"
#include "generators/images/fft_tiles.h"
#include "generators/images/inverse_fft.h"
#include "generators/images/periodic.h"
#include "generators/images/spectrum_waves.h"
#include "generators/sample_info.h"
#include "kernels/emission/canvas.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

struct Spectrum {
  enum class Palette : std::uint8_t { correlated, independent, grey };

  struct Params {
    float slope_low = 0.5f, slope_high = 3.5f;
    int slope_cells = 6;
    float tilt = 0.05f;
    int tilt_cells = 2;
    Palette palette = Palette::correlated;
  };
  static const ParamTable<Params>& table();

  static constexpr int kLatents = 2;
  static constexpr forms::Canvas kForm = {.draw = forms::Draw::seen,
                                          .whole = true,
                                          .blocks = 0};  // the compiler chooses, without spills
  static constexpr GeneratorHooks kHooks = {.notes = true};
  static SampleInfo describe(const Params& params);

  /// Range of the periodic grid's side (log2). The grid contains the image.
  static constexpr int kLeastLogSide = 4, kMostLogSide = 10;
  /// Largest absolute value of a normal deviate (24 bits of the radius).
  static constexpr float kFarthest = 5.769f;
  static constexpr int kLeastColours = 3, kMostColours = 22;

  struct Scene : spectrum::Law {
    std::int32_t width, height;  ///< image size, pixels
    Rgb mean;
    Rgb first;     ///< contribution of the first field to red, green and blue
    float gg, gb;  ///< contribution of the second field to green and blue
    float bb;      ///< contribution of the third field to blue
    bool on_grid;
  };

  /// Throws config errors for a lower slope above the upper one, a tilt that could change a slope's
  /// sign, or identical classes.
  explicit Spectrum(const Params& params);

  std::vector<std::string> notes(SampleShape shape) const;

  WS_INLINE std::uint32_t classes() const {
    return static_cast<std::uint32_t>(params_.slope_cells * params_.tilt_cells);
  }

  WS_INLINE Scene draw(const SampleKey& key, const Augmentation& view,
                       Truth<kLatents>& truth) const {
    const std::uint32_t cell = RngStream(key.rng, Purpose::label).integer(classes());
    const std::uint32_t tilts = static_cast<std::uint32_t>(params_.tilt_cells);
    const auto slope_cell = static_cast<std::int32_t>(cell / tilts);
    RngStream draw(key.rng, Purpose::scene);
    const float share =
        (static_cast<float>(slope_cell) + draw.uniform()) / static_cast<float>(params_.slope_cells);
    const float slope =
        math::clamp(math::fma(params_.slope_high - params_.slope_low, share, params_.slope_low),
                    params_.slope_low, params_.slope_high);
    const std::uint32_t radius = draw.next(), angle = draw.next();
    float tilt = params_.tilt * math::box_muller(radius, angle).first;
    if (tilts > 1) tilt = cell % tilts == 0 ? -math::abs(tilt) : math::abs(tilt);
    const std::uint32_t colours = kLeastColours + draw.integer(kMostColours - kLeastColours + 1);

    Scene scene;
    scene.rng = key.rng;
    scene.log_side = log_side_of(key.shape);
    scene.width = key.shape.width < 1 << scene.log_side ? key.shape.width : 1 << scene.log_side;
    scene.height = key.shape.height < 1 << scene.log_side ? key.shape.height : 1 << scene.log_side;
    scene.power_x = slope + tilt;
    scene.power_y = slope - tilt;
    scene.on_grid = view.on_grid;
    scene.mean = {};
    scene.first = {1, 0, 0};
    scene.gg = scene.bb = 1;
    scene.gb = 0;
    if (params_.palette == Palette::correlated) {
      correlate(RngStream(key.rng, Purpose::colour), colours, scene);
    }
    truth.label = static_cast<std::int32_t>(cell);
    truth.latents[0] = slope;
    truth.latents[1] = tilt;
    return scene;
  }

  using Cell = fft::Cell;
  /// Size of the grids, of offset and gain for shade(), and of the tables; a multiple of 32 bytes.
  std::int64_t cells(SampleShape shape) const {
    const std::int32_t side = 1 << log_side_of(shape);
    return (std::int64_t{fields()} * side * side + kRange + spectrum::Tables::count(side) + 7) / 8 *
           8;
  }
  std::size_t paint_scratch(SampleShape shape) const {
    const int log_side = log_side_of(shape);
    return fft::Tiles::of(fields(), log_side, kMostScratch / sizeof(Cell) - tables_of(log_side))
                   .cells() *
               sizeof(Cell) +
           tables_of(log_side) * sizeof(Cell);
  }

  /// Called by all members of a sample's single team: computes the colours of the whole grid.
  template <class Team>
  WS_INLINE void paint(Team& team, const Scene& scene, std::size_t scratch_bytes,
                       Cell* cells) const {
    if constexpr (!LoneTeam<Team>) {
      const auto own = static_cast<std::int32_t>(scratch_bytes / sizeof(Cell));
      const auto tiles = fft::Tiles::of(fields(), scene.log_side, own - tables_of(scene.log_side));
      if (scratch_bytes > 0 && tiles.log_columns > 0) {
        paint_tiles(team, scene, tiles, team.template scratch<fft::FourCells>(own / 4)->cell,
                    cells);
        return;
      }
    }
    Cell* const range = range_of(scene, cells);
    const spectrum::Tables tables(scene, range + kRange);
    tables.make(team, scene, cells);
    make_spectra(team, scene, tables, cells);
    fft::inverse(team, cells, fields(), scene.log_side, tables.twiddles);
    mix_colours(team, scene, tables, cells);
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const Cell* cells, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    colour.grey = fields() == 1;
    if (colour.grey) {
      read<1>(scene, cells, run, colour);
    } else {
      read<3>(scene, cells, run, colour);
    }
    const Cell* const range = range_of(scene, cells);
    const float low = fft::load(range), gain = fft::load(range + 1);
    const auto stretch = [&](float(&channel)[N]) {
      WS_LANES
      for (int i = 0; i < N; ++i) channel[i] = math::clamp(gain * (channel[i] - low), 0, 1);
    };
    stretch(colour.r);
    if (colour.grey) return;
    stretch(colour.g);
    stretch(colour.b);
  }

  /// Number of grids per sample.
  WS_INLINE std::int32_t fields() const { return params_.palette == Palette::grey ? 1 : 3; }

  /// Side of the smallest grid that contains the image; larger images repeat the largest grid.
  WS_INLINE static std::int32_t log_side_of(SampleShape shape) {
    std::int32_t log_side = kLeastLogSide;
    while (log_side < kMostLogSide &&
           (shape.width > 1 << log_side || shape.height > 1 << log_side)) {
      ++log_side;
    }
    return log_side;
  }

 private:
  /// Scratch bytes per team. Two teams with their scenes fit into a multiprocessor of compute
  /// capability 9.0, which has 228 KiB; each block takes 1 KiB of this.
  static constexpr std::int32_t kMostScratch = 115200;
  /// Cells between the grids and the tables.
  static constexpr std::int32_t kRange = 4;

  template <class AnyCell>
  WS_INLINE AnyCell* range_of(const Scene& scene, AnyCell* cells) const {
    return cells + (fields() << (2 * scene.log_side));
  }
  /// Cells of the tables in scratch, a multiple of 16 bytes.
  WS_HD static constexpr std::int32_t tables_of(int log_side) {
    return (spectrum::Tables::count(1 << log_side) + 3) / 4 * 4;
  }

  /// Mean and Cholesky factor (lower triangle) of the covariance of a mixture of `colours` random
  /// colours with equal weights.
  WS_INLINE static void correlate(RngStream draw, std::uint32_t colours, Scene& scene) {
    Rgb sum;
    float rr = 0, rg = 0, rb = 0, gg = 0, gb = 0, bb = 0;
    for (std::uint32_t k = 0; k < colours; ++k) {
      // Values relative to the middle have smaller rounding errors in the products.
      const float r = draw.uniform() - 0.5f, g = draw.uniform() - 0.5f, b = draw.uniform() - 0.5f;
      sum = {sum.r + r, sum.g + g, sum.b + b};
      rr = math::fma(r, r, rr);
      rg = math::fma(r, g, rg);
      rb = math::fma(r, b, rb);
      gg = math::fma(g, g, gg);
      gb = math::fma(g, b, gb);
      bb = math::fma(b, b, bb);
    }
    const float share = 1 / static_cast<float>(static_cast<std::int32_t>(colours));
    const Rgb mean = {sum.r * share, sum.g * share, sum.b * share};
    const auto root = [](float square) { return math::sqrt(math::max(square, 1e-8f)); };
    const auto covariance = [&](float product, float a, float b) {
      return math::fma(-a, b, product * share);
    };
    const float l0 = root(covariance(rr, mean.r, mean.r));
    const float l1 = covariance(rg, mean.r, mean.g) / l0, l2 = covariance(rb, mean.r, mean.b) / l0;
    scene.first = {l0, l1, l2};
    scene.gg = root(math::fma(-l1, l1, covariance(gg, mean.g, mean.g)));
    scene.gb = math::fma(-l1, l2, covariance(gb, mean.g, mean.b)) / scene.gg;
    scene.bb =
        root(math::fma(-scene.gb, scene.gb, math::fma(-l2, l2, covariance(bb, mean.b, mean.b))));
    scene.mean = {mean.r + 0.5f, mean.g + 0.5f, mean.b + 0.5f};
  }

  /// Stores the inputs of a transform: real parts at `at`, imaginary parts `imaginary` cells
  /// later. Fields are `grid` cells apart.
  WS_INLINE void put(Cell* at, std::int32_t imaginary, std::int32_t grid,
                     const spectrum::Waves& z) const {
    const auto set = [&](Cell* cell, fft::Complex value) {
      fft::store(cell, value.re);
      fft::store(cell + imaginary, value.im);
    };
    set(at, z.red);
    if (fields() == 1) return;
    set(at + grid, z.green);
    set(at + 2 * grid, z.blue);
  }

  template <class Team>
  WS_INLINE void make_spectra(Team& team, const Scene& scene, const spectrum::Tables& tables,
                              Cell* cells) const {
    using spectrum::Pair;
    const std::int32_t side = scene.side(), half = side / 2, grid = side * side;
    const auto put_at = [&](std::int32_t ky, std::int32_t k, const spectrum::Waves& z) {
      put(cells + (fft::reversed(ky, scene.log_side) << (scene.log_side - 1)) +
              fft::reversed(k, scene.log_side - 1),
          grid / 2, grid, z);
    };
    const int log_quarter = scene.log_side - 2;
    const std::int32_t quarter = 1 << log_quarter;
    const std::int32_t pairs = side << log_quarter;
    constexpr int kLanes = LoneTeam<Team> ? 16 : 1;
    for (std::int32_t first = team.rank() * kLanes; first < pairs; first += team.size() * kLanes) {
      Pair pair[kLanes];
      WS_LANES
      for (int i = 0; i < kLanes; ++i) {
        pair[i] =
            Pair::at(scene, tables, (first + i) >> log_quarter, 1 + ((first + i) & (quarter - 1)));
      }
      for (int i = 0; i < kLanes; ++i) {
        const std::int32_t ky = (first + i) >> log_quarter;
        const std::int32_t k = 1 + ((first + i) & (quarter - 1));
        if (Pair::repeats(scene, ky, k)) continue;
        put_at(ky, k, pair[i].here);
        put_at((side - ky) & (side - 1), half - k, pair[i].there);
      }
    }
    spectrum::put_edge(team, scene, tables, put_at);
    team.sync();
  }

  /// The same result through tiles in `scratch`, which begins with the tables.
  template <class Team>
  WS_INLINE void paint_tiles(Team& team, const Scene& scene, const fft::Tiles& tiles, Cell* scratch,
                             Cell* cells) const {
    const spectrum::Tables tables(scene, scratch);
    Cell* const tile = scratch + tables_of(scene.log_side);
    tables.make(team, scene, tile);
    for (std::int32_t t = 0; t < tiles.column_tiles(); ++t) {
      make_columns(team, scene, tables, tiles, t, tile);
      tiles.transform_columns(team, tables.twiddles, t, tile, cells);
    }
    Extent<1> extent;
    const int log_columns = scene.log_side - 1;
    const std::int32_t grid = scene.side() * scene.side();
    const fft::Lines lines = tiles.rows(tile);
    for (std::int32_t row = 0; row < scene.side(); row += 1 << tiles.log_rows) {
      tiles.transform_rows(team, tables.twiddles, row, cells, tile);
      for (std::int32_t t = team.rank(); t < 1 << (tiles.log_rows + log_columns);
           t += team.size()) {
        const std::int32_t y = t >> log_columns, x = t & ((1 << log_columns) - 1);
        const Cell* from = lines.at(y, 0) + lines.offset(x);
        Cell* to = cells + (row << log_columns) + t;
        mix<1>(scene, from, lines.group << tiles.log_rows, 2 * x, row + y, to, grid, extent);
        mix<1>(scene, from + lines.imaginary, lines.group << tiles.log_rows, 2 * x + 1, row + y,
               to + grid / 2, grid, extent);
      }
      team.sync();
    }
    write_range(team, tables, extent, range_of(scene, cells));
  }

  /// Makes the inputs of a tile of columns.
  template <class Team>
  WS_INLINE void make_columns(Team& team, const Scene& scene, const spectrum::Tables& tables,
                              const fft::Tiles& tiles, std::int32_t t, Cell* tile) const {
    using spectrum::Pair;
    const std::int32_t side = scene.side(), half = side / 2;
    const fft::Lines lines = tiles.columns(tile);
    const auto put_at = [&](std::int32_t ky, std::int32_t k, const spectrum::Waves& z) {
      put(lines.at(0, tiles.column_of(t, k)) + lines.offset(fft::reversed(ky, scene.log_side)),
          lines.imaginary, lines.group, z);
    };
    for (std::int32_t i = team.rank(); i < side << tiles.log_columns; i += team.size()) {
      const std::int32_t ky = fft::reversed(i >> tiles.log_columns, scene.log_side);
      const std::int32_t k = tiles.number_of(t, i & ((1 << tiles.log_columns) - 1));
      const Pair pair = Pair::at(scene, tables, ky, k);
      if (Pair::repeats(scene, ky, k)) continue;
      put_at(ky, k, pair.here);
      put_at((side - ky) & (side - 1), half - k, pair.there);
    }
    if (t == 0) spectrum::put_edge(team, scene, tables, put_at);
    team.sync();
  }

  /// Range of colours.
  template <int N>
  struct Extent {
    float least[N], most[N];

    WS_INLINE Extent() {
      for (int i = 0; i < N; ++i) {
        least[i] = math::kInfinity;
        most[i] = -math::kInfinity;
      }
    }
  };
  /// Turns fields into the colours of N pixels, at x, x + 2, ... in row y. Fields are `from_field`
  /// cells apart in the input, and `to_field` cells apart in the output.
  template <int N>
  WS_INLINE void mix(const Scene& scene, const Cell* from, std::int32_t from_field, std::int32_t x,
                     std::int32_t y, Cell* to, std::int32_t to_field, Extent<N>& extent) const {
    float darkest[N], lightest[N];
    if (fields() == 1) {
      WS_LANES
      for (int i = 0; i < N; ++i) {
        darkest[i] = lightest[i] = fft::load(from + i);
        to[i] = from[i];
      }
    } else {
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const float a = fft::load(from + i), b = fft::load(from + from_field + i),
                    c = fft::load(from + 2 * from_field + i);
        const float red = math::fma(scene.first.r, a, scene.mean.r);
        const float green = math::fma(scene.gg, b, math::fma(scene.first.g, a, scene.mean.g));
        const float blue = math::fma(
            scene.bb, c, math::fma(scene.gb, b, math::fma(scene.first.b, a, scene.mean.b)));
        fft::store(to + i, red);
        fft::store(to + to_field + i, green);
        fft::store(to + 2 * to_field + i, blue);
        darkest[i] = math::min(red, math::min(green, blue));
        lightest[i] = math::max(red, math::max(green, blue));
      }
    }
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const bool inside = x + 2 * i < scene.width && y < scene.height;
      extent.least[i] = inside ? math::min(extent.least[i], darkest[i]) : extent.least[i];
      extent.most[i] = inside ? math::max(extent.most[i], lightest[i]) : extent.most[i];
    }
  }

  /// Turns fields into colours in place, and finds the scale that maps the image to [0, 1].
  template <class Team>
  WS_INLINE void mix_colours(Team& team, const Scene& scene, const spectrum::Tables& tables,
                             Cell* cells) const {
    const int log_columns = scene.log_side - 1;
    const std::int32_t columns = 1 << log_columns, grid = columns * columns * 4;
    constexpr int kLanes = LoneTeam<Team> ? 8 : 1;
    Extent<kLanes> extent;
    for (std::int32_t first = team.rank() * kLanes; first < grid; first += team.size() * kLanes) {
      const std::int32_t odd = first >> (log_columns + scene.log_side);
      const std::int32_t y = (first >> log_columns) & (2 * columns - 1);
      const std::int32_t x = 2 * (first & (columns - 1)) + odd;
      mix<kLanes>(scene, cells + first, grid, x, y, cells + first, grid, extent);
    }
    write_range(team, tables, extent, range_of(scene, cells));
  }

  /// Called by all members: finds the offset and the gain of the sample.
  template <class Team, int N>
  WS_INLINE void write_range(Team& team, const spectrum::Tables& tables, const Extent<N>& extent,
                             Cell* range) const {
    float low = extent.least[0], high = extent.most[0];
    for (int i = 1; i < N; ++i) {
      low = math::min(low, extent.least[i]);
      high = math::max(high, extent.most[i]);
    }
    // Keys increase with their floats and are above 0, their initial value.
    if (low <= high) {
      team.atomic_max(tables.keys, ~key_of(low));
      team.atomic_max(tables.keys + 1, key_of(high));
    }
    team.sync();
    if (team.rank() == 0) {
      const float from = float_of(~tables.keys[0]), to = float_of(tables.keys[1]);
      const bool flat = !(to > from);
      fft::store(range, flat ? from - 0.5f : from);
      fft::store(range + 1, flat ? 1.f : 1 / (to - from));
    }
  }

  WS_INLINE static std::uint32_t key_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return bits ^ ((bits >> 31) != 0 ? 0xffffffffu : 0x80000000u);
  }
  WS_INLINE static float float_of(std::uint32_t key) {
    return std::bit_cast<float>(key ^ ((key >> 31) != 0 ? 0x80000000u : 0xffffffffu));
  }

  /// Cell index of a pixel; the grid is periodic.
  WS_INLINE static std::int32_t place(const Scene& scene, std::int32_t x, std::int32_t y) {
    const std::int32_t last = (1 << scene.log_side) - 1;
    return fft::place(x & last, y & last, scene.log_side);
  }
  /// The values of four even columns, starting at `at`, and of the odd column after
  /// each, which is `odd` cells further on.
  WS_INLINE static void read_eight(const Cell* at, std::int32_t odd, float (&value)[8]) {
    const fft::FourCells evens = *reinterpret_cast<const fft::FourCells*>(at);
    const fft::FourCells odds = *reinterpret_cast<const fft::FourCells*>(at + odd);
    WS_LANES
    for (int i = 0; i < 4; ++i) {
      value[2 * i] = fft::load(evens.cell + i);
      value[2 * i + 1] = fft::load(odds.cell + i);
    }
  }
  /// The colours of a run before the scaling to [0, 1].
  template <int kFields, int N>
  WS_INLINE static void read(const Scene& scene, const Cell* cells, const PixelRun<N>& run,
                             ColourRun<N>& colour) {
    const std::int32_t grid = 1 << (2 * scene.log_side);
    const auto set = [&](int i, const auto& value) {
      colour.r[i] = value(cells);
      if constexpr (kFields == 1) return;
      colour.g[i] = value(cells + grid);
      colour.b[i] = value(cells + 2 * grid);
    };
    if (scene.on_grid) {
      if constexpr (N == 8) {
        // Eight pixels starting at a multiple of eight: four even and four odd columns.
        const std::int32_t x = periodic::floor_int(run.x[0]);
        if (run.in_step && x % 8 == 0) {
          const std::int32_t at = place(scene, x, periodic::floor_int(run.y[0]));
          read_eight(cells + at, grid / 2, colour.r);
          if constexpr (kFields == 1) return;
          read_eight(cells + grid + at, grid / 2, colour.g);
          read_eight(cells + 2 * grid + at, grid / 2, colour.b);
          return;
        }
      }
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const std::int32_t at =
            place(scene, periodic::floor_int(run.x[i]), periodic::floor_int(run.y[i]));
        set(i, [&](const Cell* from) { return fft::load(from + at); });
      }
      return;
    }
    WS_LANES
    for (int i = 0; i < N; ++i) {  // bilinear between the centres of four pixels
      const float x = run.x[i] - 0.5f, y = run.y[i] - 0.5f;
      const std::int32_t ix = periodic::floor_int(x), iy = periodic::floor_int(y);
      const float u = x - math::floor(x), v = y - math::floor(y);
      const std::int32_t here = place(scene, ix, iy), right = place(scene, ix + 1, iy);
      const std::int32_t below = place(scene, ix, iy + 1), across = place(scene, ix + 1, iy + 1);
      set(i, [&](const Cell* from) {
        const float top = math::lerp(fft::load(from + here), fft::load(from + right), u);
        const float bottom = math::lerp(fft::load(from + below), fft::load(from + across), u);
        return math::lerp(top, bottom, v);
      });
    }
  }

  Params params_;
};

}  // namespace wellspring
