// Generator `textures`: noise on the plane, coloured by a gradient of four colours. The class
// combines the kind of noise, scale, number of octaves and warp. Each pixel is a function of its
// position, so geometric augmentation costs nothing and blurs nothing. Called through the registry;
// host and device.
//
// The noises of lattice_noise.h are summed over octaves (B. Mandelbrot and J. Van Ness, SIAM Review
// 10 (1968) 422; F. K. Musgrave in Ebert et al., "Texturing and modeling", 1994). A second
// noise displaces the point of evaluation (the domain warp of Perlin 1985).
#pragma once

#include "core/config/params.h"
#include "generators/images/lattice_noise.h"
#include "generators/sample_info.h"
#include "kernels/emission/pixels.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cstdint>

namespace wellspring {

struct Textures {
  enum class Kind : std::uint8_t { perlin, simplex, worley_f1, worley_f2, worley_edges, any };
  static constexpr int kKinds = 5;
  enum class Palette : std::uint8_t { colour, grey };
  static constexpr int kMostOctaves = 8;

  struct Params {
    Kind kind = Kind::any;
    float frequency_low = 2, frequency_high = 16;
    int scale_cells = 2;
    int octaves_low = 1, octaves_high = 6;
    int octave_cells = 2;
    float warp_low = 0, warp_high = 1;
    int warp_cells = 2;
    float gain_low = 0.4f, gain_high = 0.65f;
    float lacunarity_low = 1.8f, lacunarity_high = 2.2f;
    Palette palette = Palette::colour;
  };
  static const ParamTable<Params>& table();

  static constexpr int kStops = 4;  ///< colours of the gradient
  static constexpr int kLatents = 7 + 3 * kStops;
  static constexpr forms::Pixels kForm = {.tells_cost = true, .blocks = 2};  // needs 128 registers
  static SampleInfo describe(const Params& params);

  struct Scene {
    lattice::Key key;
    Kind kind;
    std::int32_t octaves;
    float across, down;        ///< lattice cells per source pixel, along and across the first axis
    float offset_x, offset_y;  ///< position of the image's corner, lattice cells
    float period;              ///< side of a lattice cell, source pixels
    float gain, lacunarity;
    float warp;   ///< displacement, lattice cells
    float level;  ///< converts the sum of octaves to a position on the gradient
    Rgb colour[kStops];
  };

  /// Throws config errors for a lower limit above its upper limit, or for more octave classes than
  /// numbers of octaves.
  explicit Textures(const Params& params);

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    std::uint32_t cell = RngStream(key.rng, Purpose::label).integer(classes());
    truth.label = static_cast<std::int32_t>(cell);
    const std::uint32_t warp_cell = next_cell(cell, params_.warp_cells);
    const std::uint32_t octave_cell = next_cell(cell, params_.octave_cells);
    const std::uint32_t scale_cell = next_cell(cell, params_.scale_cells);
    const float side =
        static_cast<float>(key.shape.width < key.shape.height ? key.shape.width : key.shape.height);

    RngStream draw(key.rng, Purpose::scene);
    Scene scene;
    scene.kind = params_.kind == Kind::any ? static_cast<Kind>(cell) : params_.kind;
    scene.key.column = draw.next();
    scene.key.row = draw.next();
    const float octaves_per_range = math::log2(params_.frequency_high / params_.frequency_low);
    const float frequency =
        math::clamp(params_.frequency_low *
                        math::exp2(octaves_per_range *
                                   in_cell(scale_cell, params_.scale_cells, draw.uniform())),
                    params_.frequency_low, params_.frequency_high);
    scene.octaves = octaves_in(octave_cell, draw.next());
    scene.gain = draw.uniform(params_.gain_low, params_.gain_high);
    scene.lacunarity = draw.uniform(params_.lacunarity_low, params_.lacunarity_high);
    scene.warp = math::clamp(
        math::fma(params_.warp_high - params_.warp_low,
                  in_cell(warp_cell, params_.warp_cells, draw.uniform()), params_.warp_low),
        params_.warp_low, params_.warp_high);
    const float turns = draw.uniform();
    const math::SinCos axis = math::sincos_turns(turns);
    scene.across = axis.cosine * (frequency / side);
    scene.down = axis.sine * (frequency / side);
    scene.offset_x = draw.uniform();
    scene.offset_y = draw.uniform();
    scene.period = side / frequency;
    scene.level = level_of(scene);
    draw_colours(RngStream(key.rng, Purpose::colour), scene);

    truth.latents[0] = static_cast<float>(scene.kind);
    truth.latents[1] = 1 / frequency;
    truth.latents[2] = static_cast<float>(scene.octaves);
    truth.latents[3] = scene.gain;
    truth.latents[4] = scene.lacunarity;
    truth.latents[5] = scene.warp;
    truth.latents[6] = turns * 6.2831855f;
    WS_UNROLL(4)
    for (int i = 0; i < kStops; ++i) {
      truth.latents[7 + 3 * i] = scene.colour[i].r;
      truth.latents[8 + 3 * i] = scene.colour[i].g;
      truth.latents[9 + 3 * i] = scene.colour[i].b;
    }
    return scene;
  }

  /// Cost in octaves of Perlin noise, including the warp; an octave of Worley noise counts as 3.
  static float cost(const Scene& scene) {
    std::int32_t octaves = 1;
    for (float cell = scene.period / scene.lacunarity; octaves < scene.octaves && cell > 1;
         cell /= scene.lacunarity) {
      ++octaves;
    }
    const bool lattice = scene.kind == Kind::perlin || scene.kind == Kind::simplex;
    return static_cast<float>((lattice ? 1 : 3) * octaves + (scene.warp > 0 ? 1 : 0));
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    WS_READ_AGAIN();
    float value[N];
    field(scene, run, value);
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const float place = 3 * math::clamp(math::fma(scene.level, value[i], 0.5f), 0, 1);
      const float first = math::min(place, 1), second = math::clamp(place - 1, 0, 1),
                  third = math::max(place - 2, 0);
      const Rgb* const c = scene.colour;
      colour.set(i, lerp(lerp(lerp(c[0], c[1], first), c[2], second), c[3], third));
    }
  }

  /// Sum of the octaves at a run of pixels, after subtracting each octave's mean; the input to the
  /// colour gradient.
  template <int N>
  WS_INLINE void field(const Scene& scene, const PixelRun<N>& run, float (&value)[N]) const {
    switch (scene.kind) {
      case Kind::perlin:
        sum_octaves<Lattice::squares>(scene, run, value);
        break;
      case Kind::simplex:
        sum_octaves<Lattice::triangles>(scene, run, value);
        break;
      default:
        sum_octaves<Lattice::features>(scene, run, value);
    }
  }

  /// Mean and standard deviation of one octave.
  struct Law {
    float mean, deviation;
  };
  WS_INLINE static constexpr Law law_of(Kind kind) {
    switch (kind) {
      case Kind::perlin:
        return {0, lattice::kGradientDeviation};
      case Kind::simplex:
        return {0, lattice::kSimplexDeviation};
      case Kind::worley_f1:
        return {lattice::kF1Mean, lattice::kF1Deviation};
      case Kind::worley_f2:
        return {lattice::kF2Mean, lattice::kF2Deviation};
      default:
        return {lattice::kEdgeMean, lattice::kEdgeDeviation};
    }
  }

  WS_INLINE std::uint32_t classes() const {
    return static_cast<std::uint32_t>((params_.kind == Kind::any ? kKinds : 1) *
                                      params_.scale_cells * params_.octave_cells *
                                      params_.warp_cells);
  }
  /// Smallest number of octaves of a cell. For the cell after the
  /// last one: the largest number plus one.
  static constexpr std::int32_t octaves_from(const Params& params, std::int32_t cell) {
    return params.octaves_low +
           cell * (params.octaves_high - params.octaves_low + 1) / params.octave_cells;
  }

 private:
  /// Removes the last base-`cells` digit from a class number and returns it.
  WS_INLINE static std::uint32_t next_cell(std::uint32_t& number, int cells) {
    const auto base = static_cast<std::uint32_t>(cells);
    const std::uint32_t digit = number % base;
    number /= base;
    return digit;
  }
  /// Position in a range that is divided into equal cells: at the fraction `u` of this cell. The
  /// result is in [0, 1].
  WS_INLINE static float in_cell(std::uint32_t cell, int cells, float u) {
    return (static_cast<float>(static_cast<std::int32_t>(cell)) + u) / static_cast<float>(cells);
  }
  WS_INLINE std::int32_t octaves_in(std::uint32_t cell, std::uint32_t word) const {
    const auto c = static_cast<std::int32_t>(cell);
    const std::int32_t from = octaves_from(params_, c), end = octaves_from(params_, c + 1);
    return from + static_cast<std::int32_t>(below(word, static_cast<std::uint32_t>(end - from)));
  }
  /// Scales the sum so that each half of the gradient spans 2.5 of its standard deviations.
  WS_INLINE static float level_of(const Scene& scene) {
    float variance = 0, weight = 1;
    for (std::int32_t o = 0; o < scene.octaves; ++o) {
      variance = math::fma(weight, weight, variance);
      weight *= scene.gain;
    }
    return 0.2f / (law_of(scene.kind).deviation * math::sqrt(variance));
  }

  WS_INLINE void draw_colours(RngStream draw, Scene& scene) const {
    WS_UNROLL(4)
    for (int i = 0; i < kStops; ++i) {
      scene.colour[i].r = draw.uniform();
      scene.colour[i].g = draw.uniform();
      scene.colour[i].b = draw.uniform();
      if (params_.palette == Palette::grey) {
        const float grey = static_cast<float>(i) / (kStops - 1);
        scene.colour[i] = {grey, grey, grey};
      }
    }
  }

  /// The lattice that a kind of noise is computed on.
  enum class Lattice : std::uint8_t { squares, triangles, features };

  template <Lattice kLattice, int N>
  WS_INLINE static void sum_octaves(const Scene& scene, const PixelRun<N>& run, float (&sum)[N]) {
    float x[N], y[N];
    WS_LANES
    for (int i = 0; i < N; ++i) {
      x[i] = math::fma(scene.across, run.x[i], math::fma(-scene.down, run.y[i], scene.offset_x));
      y[i] = math::fma(scene.down, run.x[i], math::fma(scene.across, run.y[i], scene.offset_y));
      sum[i] = 0;
    }
    if (scene.warp > 0) {
      const lattice::Key key = scene.key.next(kMostOctaves);
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const lattice::Two moved = lattice::gradient_noises(key, 0.5f * x[i], 0.5f * y[i]);
        x[i] = math::fma(scene.warp, moved.first, x[i]);
        y[i] = math::fma(scene.warp, moved.second, y[i]);
      }
    }
    const float mean = law_of(scene.kind).mean;
    float weight = 1, cell = scene.period / run.footprint;  // cell side in output pixels
    for (std::int32_t o = 0; o < scene.octaves; ++o) {
      // Octaves after the first fade out as their cells shrink from two
      // pixels to one, where they would alias.
      const float seen = o == 0 ? 1.f : math::clamp(cell - 1, 0, 1);
      if (seen == 0) break;
      const lattice::Key key = scene.key.next(static_cast<std::uint32_t>(o));
      float value[N];
      noise<kLattice>(scene.kind, key, x, y, value);
      const float share = weight * seen;
      WS_LANES
      for (int i = 0; i < N; ++i) sum[i] = math::fma(share, value[i] - mean, sum[i]);
      weight *= scene.gain;
      cell /= scene.lacunarity;
      // The next lattice is finer, rotated by the smaller acute angle of the 3-4-5 triangle and
      // shifted, so that lattice points of different octaves do not coincide.
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const float turned_x = math::fma(0.8f, x[i], -0.6f * y[i]);
        const float turned_y = math::fma(0.6f, x[i], 0.8f * y[i]);
        x[i] = math::fma(scene.lacunarity, turned_x, 0.3125f);
        y[i] = math::fma(scene.lacunarity, turned_y, 0.6875f);
      }
    }
  }

  template <Lattice kLattice, int N>
  WS_INLINE static void noise(Kind kind, lattice::Key key, const float (&x)[N], const float (&y)[N],
                              float (&value)[N]) {
    if constexpr (kLattice == Lattice::squares) {
      WS_LANES
      for (int i = 0; i < N; ++i) value[i] = lattice::gradient_noise(key, x[i], y[i]);
    } else if constexpr (kLattice == Lattice::triangles) {
      WS_LANES
      for (int i = 0; i < N; ++i) value[i] = lattice::simplex_noise(key, x[i], y[i]);
    } else {
      float f2[N];
      lattice::feature_distances(key, x, y, value, f2);
      if (kind == Kind::worley_f1) return;
      const bool edges = kind == Kind::worley_edges;
      WS_LANES
      for (int i = 0; i < N; ++i) value[i] = edges ? f2[i] - value[i] : f2[i];
    }
  }

  Params params_;
};

}  // namespace wellspring
