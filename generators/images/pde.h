// Generator `pde`: a random field on a periodic grid, evolved for a random time by heat conduction,
// advection with diffusion, or waves; class: the equation. The image shows the field before and
// after. Made through the registry; host and device.
//
// Equations and schemes: pde_grid.h. Each sample is a field of its own, and one team takes it
// through all steps, so it is a lattice generator, unlike `gray_scott`, whose samples are frames of
// long chains.
#pragma once

#include "core/config/params.h"
#include "generators/images/pde_grid.h"
#include "generators/images/periodic.h"
#include "generators/sample_info.h"
#include "kernels/emission/lattice.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cstdint>

namespace wellspring {

struct Pde {
  enum class Equation : std::uint8_t { mixed, heat, advection, wave };
  enum class Show : std::uint8_t { pair, last };
  static constexpr int kMostSide = 1024, kMostSteps = 1 << 16, kMostWaves = 16;

  /// Lengths in sides of the grid; the unit of time is arbitrary.
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
    int steps = 0;
    Show show = Show::pair;
  };
  static const ParamTable<Params>& table();

  static constexpr int kLatents = 6, kMeasured = 1;
  static constexpr forms::Lattice kForm = {};
  static SampleInfo describe(const Params& params);
  /// Errors (config): empty ranges, too few cells, unstable steps.
  explicit Pde(const Params& params);

  struct Scene {
    SampleRng rng;
    PdeStep rule;
    std::int32_t side, steps;
  };

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    const Philox4 first = key.rng.block(Purpose::scene, 0);
    const Philox4 second = key.rng.block(Purpose::scene, 1);
    const bool mixed = params_.equation == Equation::mixed;
    truth.label = mixed ? static_cast<std::int32_t>(below(first.word[0], 3)) : 0;
    const std::int32_t kind =
        mixed ? truth.label : static_cast<std::int32_t>(params_.equation) - 1;  // heat: 0
    const float time = between(first.word[1], params_.time_low, params_.time_high);
    truth.latents[0] = time;
    const std::int32_t side = side_for(key.shape), steps = steps_for(side);
    const float cells = static_cast<float>(side), dt = time / static_cast<float>(steps);
    PdeStep rule;
    rule.waves = kind == 2;
    if (rule.waves) {
      const float speed = between(first.word[3], params_.speed_low, params_.speed_high);
      truth.latents[4] = speed;
      const float courant = speed * dt * cells;
      rule.spread = courant * courant;
    } else {
      const float octaves = math::log2(params_.diffusivity_high / params_.diffusivity_low);
      const float kappa =
          math::clamp(params_.diffusivity_low * math::exp2(unit_float(first.word[2]) * octaves),
                      params_.diffusivity_low, params_.diffusivity_high);
      truth.latents[1] = kappa;
      rule.spread = kappa * dt * cells * cells;
    }
    if (kind == 1) {
      const float vx = between(second.word[0], -params_.velocity, params_.velocity);
      const float vy = between(second.word[1], -params_.velocity, params_.velocity);
      truth.latents[2] = vx;
      truth.latents[3] = vy;
      rule.half_x = 0.5f * vx * dt * cells;
      rule.half_y = 0.5f * vy * dt * cells;
    }
    return {key.rng, rule, side, steps};
  }

  /// Errors (config): the grid is too large, or needs too many steps.
  std::int64_t lattice_words(SampleShape shape) const;
  int lattice_members(SampleShape shape) const {
    const int cells = side_for(shape) * side_for(shape) / 2;
    return cells >= 512 ? 512 : (cells + 31) / 32 * 32;
  }

  template <class Team>
  WS_HD void relax(Team& team, const Scene& scene, std::uint32_t* words,
                   float (&measured)[kMeasured]) const {
    const PdeGrid grid = {scene.side};
    const PdeWork work = PdeWork::in(scene.side, params_.waves, words);
    grid.draw_waves(team, work, params_.waves, params_.highest, scene.rng);
    grid.begin(team, work, params_.waves);
    for (std::int32_t step = 1; step <= scene.steps; ++step) {
      grid.advance(team, work, scene.rule, step);
    }
    grid.measure(team, work, scene.steps);
    // Waves may cancel each other completely.
    const double first = static_cast<double>(work.sums[0] > 0 ? work.sums[0] : 1);
    const auto ratio = static_cast<float>(static_cast<double>(work.sums[1]) / first);
    measured[0] = math::min(math::sqrt(ratio), 1.f);
  }

  /// Maps [-1, 1] to [0, 1]; bilinear between the centres of four cells.
  template <int N>
  WS_INLINE void shade(const Scene& scene, const std::uint32_t* fields, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    const std::uint32_t* const last =
        fields + PdeGrid::field_after(scene.steps) * scene.side * scene.side;
    colour.grey = params_.show != Show::pair;
    for (int i = 0; i < N; ++i) {
      const float after = shown(scene.side, last, run.x[i], run.y[i]);
      if (params_.show == Show::pair) {
        colour.set(i, {shown(scene.side, fields, run.x[i], run.y[i]), after, 0.5f});
      } else {
        colour.r[i] = after;
      }
    }
  }

  /// Steps of a sample; with `steps` = 0, one more than the stability of every sample needs.
  WS_INLINE std::int32_t steps_for(std::int32_t side) const {
    return params_.steps > 0 ? params_.steps
                             : static_cast<std::int32_t>(math::ceil(steps_needed(side))) + 1;
  }
  /// Steps that the least stable sample needs: 4 kappa t n^2 for diffusion (r <= 1/4),
  /// (vx^2 + vy^2) t / (2 kappa) for advection that outruns it, sqrt(2) c t n for waves (s <= 1/2),
  /// with n cells per side. A. Hindmarsh, P. Gresho, D. Griffiths, Int. J. Numer. Methods Fluids 4
  /// (1984) 853; Courant, Friedrichs, Lewy, Math. Ann. 100 (1928) 32.
  WS_INLINE float steps_needed(std::int32_t side) const {
    const auto n = static_cast<float>(side);
    return math::max(math::max(diffusion_ * n * n, waves_ * n), advection_);
  }

 private:
  WS_INLINE static float between(std::uint32_t word, float low, float high) {
    return math::min(math::fma(unit_float(word), high - low, low), high);
  }
  WS_INLINE std::int32_t side_for(SampleShape shape) const {
    if (params_.cells > 0) return params_.cells;
    const std::int32_t longer = shape.width > shape.height ? shape.width : shape.height;
    const std::int32_t least = 4 * params_.highest;
    return longer < least ? least : longer;
  }
  void expect_stable(std::int32_t side) const;

  WS_INLINE static float shown(std::int32_t side, const std::uint32_t* field, float x, float y) {
    const float value =
        periodic::bilinear(x, y, 0, 0, side, [&](std::int32_t column, std::int32_t row) {
          return pde::load(field + row * side + column);
        });
    return math::clamp(math::fma(0.5f, value, 0.5f), 0.f, 1.f);
  }

  Params params_;
  float diffusion_ = 0, waves_ = 0, advection_ = 0;  ///< see steps_needed
};

}  // namespace wellspring
