// Generator `pde`: a random field on a periodic square, at time 0 and after a random time of heat
// conduction, advection with diffusion, or wave motion. The class is the equation. Created through
// the registry; host and device.
//
//   heat, advection   u_t = kappa lap u - v . grad u
//   wave              u_tt = c^2 lap u, at rest at 0
//
// The field is a sum of plane waves, so the solution is exact at any time. A wave with p and q
// periods per side has k = 2 pi sqrt(p^2 + q^2). It is multiplied by exp(-kappa k^2 t) and moves by
// v t, or it is multiplied by cos(c k t) (L. Evans, Partial Differential Equations, 2010, chapter
// 2).
#pragma once

#include "core/config/params.h"
#include "generators/images/periodic.h"
#include "generators/sample_info.h"
#include "kernels/emission/pixels.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cstdint>

namespace wellspring {

struct Pde {
  enum class Equation : std::uint8_t { mixed, heat, advection, wave };
  enum class Show : std::uint8_t { pair, last };
  static constexpr int kMostSide = 1024, kMostWaves = 16;

  /// Lengths are in side lengths of the square; the unit of time is arbitrary.
  struct Params {
    Equation equation = Equation::mixed;
    int cells = 0;
    int waves = 5;
    int highest = 4;
    float time_low = 0.25f;
    float time_high = 1;
    float diffusivity_low = 0.001f;
    float diffusivity_high = 0.01f;
    float velocity = 0.5f;
    float speed_low = 0.25f;
    float speed_high = 1;
    Show show = Show::pair;
  };
  static const ParamTable<Params>& table();

  static constexpr int kLatents = 6;
  static constexpr forms::Pixels kForm = {.draw = forms::Draw::in_place};
  static SampleInfo describe(const Params& params);
  /// Throws config errors for an empty range or too few cells.
  explicit Pde(const Params& params);

  /// A plane wave: initially amplitude * cos(w), finally cosine * cos(w) + sine * sin(w),
  /// where w = 2 pi (p x + q y + phase), and x and y are in side lengths.
  struct Wave {
    float p, q;
    float phase;
    float amplitude, cosine, sine;
  };
  struct Scene {
    float per_cell;  ///< side lengths of the square per cell
    Wave waves[kMostWaves];
  };

  WS_INLINE void draw(const SampleKey& key, Scene& scene, Truth<kLatents>& truth) const {
    const Philox4 first = key.rng.block(Purpose::scene, 0);
    const Philox4 second = key.rng.block(Purpose::scene, 1);
    const bool mixed = params_.equation == Equation::mixed;
    truth.label = mixed ? static_cast<std::int32_t>(below(first.word[0], 3)) : 0;
    const std::int32_t kind =
        mixed ? truth.label : static_cast<std::int32_t>(params_.equation) - 1;  // 0 means heat
    const float time = between(first.word[1], params_.time_low, params_.time_high);
    Change change{};
    change.oscillates = kind == 2;
    truth.latents[0] = time;
    if (kind == 2) {
      truth.latents[4] = between(first.word[3], params_.speed_low, params_.speed_high);
      change.way = double{truth.latents[4]} * double{time};
    } else {
      const float octaves = math::log2(params_.diffusivity_high / params_.diffusivity_low);
      const float kappa =
          math::clamp(params_.diffusivity_low * math::exp2(unit_float(first.word[2]) * octaves),
                      params_.diffusivity_low, params_.diffusivity_high);
      truth.latents[1] = kappa;
      change.decay = double{kappa} * double{time};
    }
    if (kind == 1) {
      truth.latents[2] = between(second.word[0], -params_.velocity, params_.velocity);
      truth.latents[3] = between(second.word[1], -params_.velocity, params_.velocity);
      change.right = double{truth.latents[2]} * double{time};
      change.down = double{truth.latents[3]} * double{time};
    }
    scene.per_cell = 1 / static_cast<float>(side_for(key.shape));
    draw_waves(key.rng, scene);
    truth.latents[5] = evolve(change, scene);
  }

  /// Maps [-1, 1] to [0, 1].
  template <int N>
  WS_INLINE void shade(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    float x[N], y[N], before[N], after[N];
    WS_LANES
    for (int i = 0; i < N; ++i) {
      x[i] = place(run.x[i], scene.per_cell);
      y[i] = place(run.y[i], scene.per_cell);
      before[i] = after[i] = 0;
    }
    for (int m = 0; m < params_.waves; ++m) {
      const Wave wave = scene.waves[m];
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const math::SinCos turn =
            math::sincos_turns(math::fma(wave.p, x[i], math::fma(wave.q, y[i], wave.phase)));
        before[i] = math::fma(wave.amplitude, turn.cosine, before[i]);
        after[i] = math::fma(wave.cosine, turn.cosine, math::fma(wave.sine, turn.sine, after[i]));
      }
    }
    colour.grey = params_.show != Show::pair;
    const bool grey = colour.grey;
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const float last = shown(after[i]);
      colour.set(i, {grey ? last : shown(before[i]), last, 0.5f});
    }
  }

 private:
  /// Products of time and the constants of the equation.
  struct Change {
    bool oscillates;     ///< true: wave equation
    double decay;        ///< kappa t
    double right, down;  ///< v t
    double way;          ///< c t
  };

  WS_INLINE static float between(std::uint32_t word, float low, float high) {
    return math::min(math::fma(unit_float(word), high - low, low), high);
  }
  WS_INLINE std::int32_t side_for(SampleShape shape) const {
    if (params_.cells > 0) return params_.cells;
    const std::int32_t longer = shape.width > shape.height ? shape.width : shape.height;
    const std::int32_t least = 4 * params_.highest;
    return longer < least ? least : longer;
  }

  /// Draws waves with at most `highest` periods per side and amplitudes that add up to 1. Words 0
  /// to 2 of block m give direction, amplitude and phase of wave m.
  WS_INLINE void draw_waves(const SampleRng& rng, Scene& scene) const {
    const std::int32_t highest = params_.highest, across = 2 * highest + 1;
    const std::int32_t middle = (across * across - 1) / 2;
    float sum = 0;
    for (int m = 0; m < params_.waves; ++m) {
      const Philox4 random = rng.block(Purpose::texture, static_cast<std::uint32_t>(m));
      auto k =
          static_cast<std::int32_t>(below(random.word[0], static_cast<std::uint32_t>(2 * middle)));
      if (k >= middle) ++k;  // skips the constant
      Wave& wave = scene.waves[m];
      wave.p = static_cast<float>(k % across - highest);
      wave.q = static_cast<float>(k / across - highest);
      wave.amplitude = math::fma(0.75f, unit_float(random.word[1]), 0.25f);
      wave.phase = unit_float(random.word[2]);
      sum += wave.amplitude;
    }
    for (int m = 0; m < params_.waves; ++m) scene.waves[m].amplitude /= sum;
  }

  /// Sets the final waves. Returns the RMS of the final field divided by the RMS of the initial
  /// field.
  WS_INLINE float evolve(const Change& change, Scene& scene) const {
    constexpr double kSquare = 39.478417604357434;  // (2 pi)^2
    float first = 0, last = 0;  // twice the mean squares of the initial and final fields
    for (int m = 0; m < params_.waves; ++m) {
      Wave& wave = scene.waves[m];
      const double square = double{wave.p * wave.p + wave.q * wave.q};
      const float factor = change.oscillates
                               ? math::cos_turns(part_of_turn(change.way * math::sqrt(square)))
                               : math::exp(-static_cast<float>(kSquare * change.decay * square));
      const math::SinCos moved = math::sincos_turns(
          part_of_turn(change.right * double{wave.p} + change.down * double{wave.q}));
      wave.cosine = wave.amplitude * factor * moved.cosine;
      wave.sine = wave.amplitude * factor * moved.sine;
      const float mean = mean_product(scene, m);
      first += mean;
      last = math::fma(factor * factor, mean, last);
    }
    // Waves may cancel each other completely.
    return first > 0 ? math::sqrt(math::clamp(last / first, 0, 1)) : 0;
  }

  /// Twice the mean, over the square, of (initial wave m)^2 plus twice its products with
  /// the earlier waves. Only waves with the same direction correlate, and these have the same
  /// factor.
  WS_INLINE static float mean_product(const Scene& scene, int m) {
    const Wave& wave = scene.waves[m];
    float sum = wave.amplitude * wave.amplitude;
    for (int l = 0; l < m; ++l) {
      const Wave& other = scene.waves[l];
      const float sign = other.p == wave.p && other.q == wave.q ? -1.f : 1.f;
      if (other.p + sign * wave.p != 0 || other.q + sign * wave.q != 0) continue;
      sum += 2 * wave.amplitude * other.amplitude *
             math::cos_turns(math::fma(sign, wave.phase, other.phase));
    }
    return sum;
  }

  /// The fractional part of a number of turns.
  WS_INLINE static float part_of_turn(double turns) {
    return static_cast<float>(turns - static_cast<double>(static_cast<std::int64_t>(turns)));
  }

  /// A coordinate in sides of the square, modulo 1; the centre of pixel 0 is at 0.
  WS_INLINE static float place(float at, float per_cell) {
    return math::fract((periodic::near(at) - 0.5f) * per_cell);
  }
  WS_INLINE static float shown(float value) {
    return math::clamp(math::fma(0.5f, value, 0.5f), 0.f, 1.f);
  }

  Params params_;
};

}  // namespace wellspring
