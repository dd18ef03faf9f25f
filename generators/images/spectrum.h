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
#include "generators/images/inverse_fft.h"
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
                                          .blocks = 0};  // the compiler chooses, without spills
  static constexpr GeneratorHooks kHooks = {.notes = true};
  static SampleInfo describe(const Params& params);

  /// Range of the periodic grid's side (log2). The grid contains the image.
  static constexpr int kLeastLogSide = 4, kMostLogSide = 10;
  /// Largest absolute value of a normal deviate (24 bits of the radius).
  static constexpr float kFarthest = 5.769f;
  static constexpr int kLeastColours = 3, kMostColours = 22;

  struct Scene {
    SampleRng rng;
    std::int32_t log_side;       ///< side of the grid, log2
    std::int32_t width, height;  ///< image size, pixels
    float power_x, power_y;      ///< s + d, s - d
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
  std::int64_t cells(SampleShape shape) const {
    const std::int32_t side = 1 << log_side_of(shape);
    return std::int64_t{fields()} * side * side + Work::count(side);
  }
  int painters() const { return 1; }

  /// Called by all members of a sample's single team: computes the colours of the whole grid.
  template <class Team>
  WS_INLINE void paint(Team& team, const Scene& scene, ScatterWork, Cell* cells) const {
    const Work work(scene, cells + (fields() << (2 * scene.log_side)));
    make_spectra(team, scene, work, cells);
    fft::inverse(team, cells, fields(), scene.log_side, work.twiddles);
    mix_colours(team, scene, work, cells);
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
    const Cell* const range = cells + (fields() << (2 * scene.log_side));
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
  /// Working memory after the grids; N is their side.
  struct Work {
    Cell* range;   ///< 4 cells: offset and gain that shade() reads; keys of minimum and maximum
    Cell* across;  ///< N/2 + 1: |fx|^(s + d)
    Cell* down;    ///< N/2 + 1: |fy|^(s - d)
    Cell* sums;    ///< N/2 + 1: squared amplitudes of a row; later the first holds the factor that
                   ///< normalises the mean square of a field to 1
    fft::Twiddles twiddles;

    WS_INLINE static std::int64_t count(std::int32_t side) {
      return 4 + 3 * (side / 2 + 1) + fft::Twiddles::count(side);
    }
    WS_INLINE Work(const Scene& scene, Cell* cells)
        : range(cells),
          across(cells + 4),
          down(across + (1 << scene.log_side) / 2 + 1),
          sums(down + (1 << scene.log_side) / 2 + 1),
          twiddles{sums + (1 << scene.log_side) / 2 + 1, 1 << scene.log_side} {}
  };

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

  /// Amplitudes of the three fields at one frequency.
  struct Waves {
    fft::Complex red, green, blue;

    WS_INLINE Waves conjugate() const {
      return {red.conjugate(), green.conjugate(), blue.conjugate()};
    }
  };

  /// Random words of a frequency, ky from -N/2 + 1 to N/2; they are the same in grids of all sizes.
  WS_INLINE static Philox4 words_of(const Scene& scene, std::int32_t ky, std::int32_t kx) {
    return scene.rng.block(Purpose::texture, (static_cast<std::uint32_t>(kx) << 16) |
                                                 (static_cast<std::uint32_t>(ky) & 0xffffu));
  }
  WS_INLINE static fft::Complex wave(float amplitude, std::uint32_t word) {
    const math::SinCos turn = math::sincos_turns(unit_float(word));
    return {amplitude * turn.cosine, amplitude * turn.sine};
  }

  /// Amplitudes at (ky, kx), for ky from 0 to N - 1 and kx between 0 and N/2.
  WS_INLINE static Waves waves(const Scene& scene, const Work& work, std::int32_t ky,
                               std::int32_t kx) {
    const std::int32_t side = 1 << scene.log_side;
    const std::int32_t row = ky > side / 2 ? ky - side : ky;
    const Philox4 words = words_of(scene, row, kx);
    const float amplitude = fft::load(work.sums) / (fft::load(work.across + kx) +
                                                    fft::load(work.down + (row < 0 ? -row : row)));
    return {wave(amplitude, words.word[0]), wave(amplitude, words.word[1]),
            wave(amplitude, words.word[2])};
  }
  /// Amplitudes at kx = 0 and N/2, where the opposite frequency is in the same column, for ky from
  /// 0 to N/2.
  WS_INLINE static Waves edge_waves(const Scene& scene, const Work& work, std::int32_t ky,
                                    std::int32_t kx) {
    const std::int32_t half = 1 << (scene.log_side - 1);
    const Philox4 words = words_of(scene, ky, kx);
    const float power = fft::load(work.across + kx) + fft::load(work.down + ky);
    const float amplitude = kx + ky == 0 ? 0.f : fft::load(work.sums) / power;
    if (ky != 0 && ky != half) {
      return {wave(amplitude, words.word[0]), wave(amplitude, words.word[1]),
              wave(amplitude, words.word[2])};
    }
    const auto real = [&](std::uint32_t word) {  // for a frequency that is its own opposite
      return fft::Complex{(word >> 31) != 0 ? -amplitude : amplitude, 0};
    };
    return {real(words.word[0]), real(words.word[1]), real(words.word[2])};
  }

  /// Input Z of the transform from the amplitudes a at (ky, k) and b at (ky, k + N/2); see
  /// inverse_fft.h.
  WS_INLINE static fft::Complex folded(fft::Complex a, fft::Complex b, fft::Complex w) {
    return a + b + (w * (a - b)).times_i();
  }
  WS_INLINE static Waves folded(const Waves& a, const Waves& b, fft::Complex w) {
    return {folded(a.red, b.red, w), folded(a.green, b.green, w), folded(a.blue, b.blue, w)};
  }
  WS_INLINE void put(const Scene& scene, Cell* cells, std::int32_t ky, std::int32_t k,
                     const Waves& z) const {
    const std::int32_t at = (fft::reversed(ky, scene.log_side) << (scene.log_side - 1)) +
                            fft::reversed(k, scene.log_side - 1);
    const std::int32_t grid = 1 << (2 * scene.log_side);
    const auto set = [&](Cell* cell, fft::Complex value) {
      fft::store(cell + at, value.re);
      fft::store(cell + grid / 2 + at, value.im);
    };
    set(cells, z.red);
    if (fields() == 1) return;
    set(cells + grid, z.green);
    set(cells + 2 * grid, z.blue);
  }

  template <class Team>
  WS_INLINE void make_spectra(Team& team, const Scene& scene, const Work& work, Cell* cells) const {
    const std::int32_t side = 1 << scene.log_side, half = side / 2;
    work.twiddles.make(team);
    for (std::int32_t k = team.rank(); k <= half; k += team.size()) {
      const float f = static_cast<float>(k) / static_cast<float>(side);
      fft::store(work.across + k, math::pow(f, scene.power_x));
      fft::store(work.down + k, math::pow(f, scene.power_y));
    }
    team.sync();
    // The sum of all squared amplitudes; by symmetry, only a quarter of them is computed.
    for (std::int32_t y = team.rank(); y <= half; y += team.size()) {
      const float down = fft::load(work.down + y);
      float sum = 0;
      for (std::int32_t x = 0; x <= half; ++x) {
        const float amplitude = x + y == 0 ? 0.f : 1 / (fft::load(work.across + x) + down);
        const float times = x == 0 || x == half ? 1.f : 2.f;
        sum = math::fma(times * amplitude, amplitude, sum);
      }
      fft::store(work.sums + y, sum);
    }
    team.sync();
    if (team.rank() == 0) {
      float sum = 0;
      for (std::int32_t y = 0; y <= half; ++y) {
        const float times = y == 0 || y == half ? 1.f : 2.f;
        sum = math::fma(times, fft::load(work.sums + y), sum);
      }
      fft::store(work.sums, 1 / math::sqrt(sum));
    }
    team.sync();
    // (ky, k) and (-ky, N/2 - k) provide each other's frequencies beyond N/2.
    const int log_quarter = scene.log_side - 2;
    const std::int32_t quarter = 1 << log_quarter;
    const std::int32_t pairs = side << log_quarter;
    constexpr int kLanes = LoneTeam<Team> ? 16 : 1;
    for (std::int32_t first = team.rank() * kLanes; first < pairs; first += team.size() * kLanes) {
      Waves here[kLanes], there[kLanes];
      WS_LANES
      for (int i = 0; i < kLanes; ++i) {
        const std::int32_t ky = (first + i) >> log_quarter;
        const std::int32_t k = 1 + ((first + i) & (quarter - 1));
        const Waves a = waves(scene, work, ky, k);
        const Waves b = waves(scene, work, (side - ky) & (side - 1), half - k);
        const fft::Complex w = work.twiddles[k];
        here[i] = folded(a, b.conjugate(), w);
        there[i] = folded(b, a.conjugate(), {-w.re, w.im});
      }
      for (int i = 0; i < kLanes; ++i) {
        const std::int32_t ky = (first + i) >> log_quarter;
        const std::int32_t k = 1 + ((first + i) & (quarter - 1));
        if (k == quarter && ky > half) continue;  // already computed as a partner
        put(scene, cells, ky, k, here[i]);
        put(scene, cells, (side - ky) & (side - 1), half - k, there[i]);
      }
    }
    // The partner of column 0 is column N/2. Both contain their own opposite frequencies.
    for (std::int32_t ky = team.rank(); ky <= half; ky += team.size()) {
      const Waves a = edge_waves(scene, work, ky, 0), b = edge_waves(scene, work, ky, half);
      put(scene, cells, ky, 0, folded(a, b, {1, 0}));
      if (ky == 0 || ky == half) continue;
      put(scene, cells, side - ky, 0, folded(a.conjugate(), b.conjugate(), {1, 0}));
    }
    team.sync();
  }

  /// Turns fields into colours in place, and finds the scale that maps the image to [0, 1].
  template <class Team>
  WS_INLINE void mix_colours(Team& team, const Scene& scene, const Work& work, Cell* cells) const {
    const int log_columns = scene.log_side - 1;
    const std::int32_t columns = 1 << log_columns, grid = columns * columns * 4;
    constexpr int kLanes = LoneTeam<Team> ? 8 : 1;
    float least[kLanes], most[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      least[i] = math::kInfinity;
      most[i] = -math::kInfinity;
    }
    for (std::int32_t first = team.rank() * kLanes; first < grid; first += team.size() * kLanes) {
      const std::int32_t odd = first >> (log_columns + scene.log_side);
      const std::int32_t y = (first >> log_columns) & (2 * columns - 1);
      Cell* const at = cells + first;
      float darkest[kLanes], lightest[kLanes];
      if (fields() == 1) {
        WS_LANES
        for (int i = 0; i < kLanes; ++i) darkest[i] = lightest[i] = fft::load(at + i);
      } else {
        WS_LANES
        for (int i = 0; i < kLanes; ++i) {
          const float a = fft::load(at + i), b = fft::load(at + grid + i),
                      c = fft::load(at + 2 * grid + i);
          const float red = math::fma(scene.first.r, a, scene.mean.r);
          const float green = math::fma(scene.gg, b, math::fma(scene.first.g, a, scene.mean.g));
          const float blue = math::fma(
              scene.bb, c, math::fma(scene.gb, b, math::fma(scene.first.b, a, scene.mean.b)));
          fft::store(at + i, red);
          fft::store(at + grid + i, green);
          fft::store(at + 2 * grid + i, blue);
          darkest[i] = math::min(red, math::min(green, blue));
          lightest[i] = math::max(red, math::max(green, blue));
        }
      }
      const std::int32_t x = 2 * (first & (columns - 1)) + odd;
      WS_LANES
      for (int i = 0; i < kLanes; ++i) {
        const bool inside = x + 2 * i < scene.width && y < scene.height;
        least[i] = inside ? math::min(least[i], darkest[i]) : least[i];
        most[i] = inside ? math::max(most[i], lightest[i]) : most[i];
      }
    }
    float low = least[0], high = most[0];
    for (int i = 1; i < kLanes; ++i) {
      low = math::min(low, least[i]);
      high = math::max(high, most[i]);
    }
    // Keys increase with their floats and are above 0, the initial value of cells.
    if (low <= high) {
      team.atomic_max(work.range + 2, ~key_of(low));
      team.atomic_max(work.range + 3, key_of(high));
    }
    team.sync();
    if (team.rank() == 0) {
      const float from = float_of(~work.range[2]), to = float_of(work.range[3]);
      const bool flat = !(to > from);
      fft::store(work.range, flat ? from - 0.5f : from);
      fft::store(work.range + 1, flat ? 1.f : 1 / (to - from));
    }
  }

  WS_INLINE static std::uint32_t key_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return bits ^ ((bits >> 31) != 0 ? 0xffffffffu : 0x80000000u);
  }
  WS_INLINE static float float_of(std::uint32_t key) {
    return std::bit_cast<float>(key ^ ((key >> 31) != 0 ? 0x80000000u : 0xffffffffu));
  }

  WS_INLINE static std::int32_t floor_int(float x) {
    return static_cast<std::int32_t>(math::floor(x));
  }
  /// Cell index of a pixel; the grid is periodic.
  WS_INLINE static std::int32_t place(const Scene& scene, std::int32_t x, std::int32_t y) {
    const std::int32_t last = (1 << scene.log_side) - 1;
    return fft::place(x & last, y & last, scene.log_side);
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
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const std::int32_t at = place(scene, floor_int(run.x[i]), floor_int(run.y[i]));
        set(i, [&](const Cell* from) { return fft::load(from + at); });
      }
      return;
    }
    WS_LANES
    for (int i = 0; i < N; ++i) {  // bilinear between the centres of four pixels
      const float x = run.x[i] - 0.5f, y = run.y[i] - 0.5f;
      const std::int32_t ix = floor_int(x), iy = floor_int(y);
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
