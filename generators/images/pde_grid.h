// Linear equations on a periodic grid, by one team: a field of a few waves, evolved by explicit
// steps. Called by generator `pde`; host and device.
//
//   heat, advection   u_t = kappa lap u - v . grad u     forward Euler, central differences
//   wave              u_tt = c^2 lap u, at rest at 0     leapfrog
//
// Every wave exp(i (a x + b y)), a and b in radians per cell, has a factor per step (J. Strikwerda,
// Finite Difference Schemes and Partial Differential Equations, SIAM 2004, 2.2, 7.2, 8.2):
//
//   1 - 4 r (sin^2(a/2) + sin^2(b/2)) - i (hx sin a + hy sin b),    r = kappa dt / dx^2,
//                                                                  h = v dt / dx
//   cos(n w) after n steps, sin^2(w/2) = s (sin^2(a/2) + sin^2(b/2)),    s = (c dt / dx)^2
#pragma once

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <bit>
#include <cstdint>

namespace wellspring {

namespace pde {

WS_INLINE float load(const std::uint32_t* cell) {
  return std::bit_cast<float>(*cell);
}
WS_INLINE void store(std::uint32_t* cell, float value) {
  *cell = std::bit_cast<std::uint32_t>(value);
}

/// amplitude * cos(2 pi (p x + q y) / side + 2 pi phase), x and y in cells.
struct Wave {
  std::int32_t p = 0, q = 0;
  float amplitude = 0, phase = 0;
};

}  // namespace pde

/// One equation and the numbers of one of its steps.
struct PdeStep {
  bool waves = false;            ///< leapfrog; else Euler
  float spread = 0;              ///< r, or s
  float half_x = 0, half_y = 0;  ///< hx / 2, hy / 2
};

/// Working memory that a team shares: three fields, the initial waves, and a sum.
struct PdeWork {
  std::uint32_t* fields;  ///< [3, side, side] initial; after odd steps; after even steps
  std::uint32_t* waves;   ///< [most waves, 4]
  std::int64_t* sums;     ///< [2] sums of squares, initial and final

  static constexpr float kUnit = 0x1p+30f;
  static WS_INLINE constexpr std::int64_t words_of(std::int32_t side, std::int32_t waves) {
    return std::int64_t{3} * side * side + 4 * waves + 5;
  }
  static WS_INLINE PdeWork in(std::int32_t side, std::int32_t waves, std::uint32_t* words) {
    std::uint32_t* const of_waves = words + 3 * side * side;
    std::uint32_t* end = of_waves + 4 * waves;
    if (reinterpret_cast<std::uintptr_t>(end) % alignof(std::int64_t) != 0) ++end;
    return {words, of_waves, reinterpret_cast<std::int64_t*>(end)};
  }
};

struct PdeGrid {
  std::int32_t side;

  WS_INLINE std::int32_t cells() const { return side * side; }
  /// Index of the field that holds the state after `step` steps.
  WS_INLINE static std::int32_t field_after(std::int32_t step) {
    return step == 0 ? 0 : 2 - step % 2;
  }

  /// Draws `count` waves of at most `highest` periods per side; their amplitudes add up to 1. Words
  /// 0 to 2 of block m are direction, amplitude and phase of wave m.
  template <class Team>
  WS_INLINE void draw_waves(Team& team, const PdeWork& work, std::int32_t count,
                            std::int32_t highest, const SampleRng& rng) const {
    const std::int32_t across = 2 * highest + 1, middle = (across * across - 1) / 2;
    for (std::int32_t m = team.rank(); m < count; m += team.size()) {
      const Philox4 random = rng.block(Purpose::texture, static_cast<std::uint32_t>(m));
      auto k =
          static_cast<std::int32_t>(below(random.word[0], static_cast<std::uint32_t>(2 * middle)));
      if (k >= middle) ++k;  // not the constant
      work.waves[4 * m] = static_cast<std::uint32_t>(k % across - highest);
      work.waves[4 * m + 1] = static_cast<std::uint32_t>(k / across - highest);
      pde::store(work.waves + 4 * m + 2, math::fma(0.75f, unit_float(random.word[1]), 0.25f));
      pde::store(work.waves + 4 * m + 3, unit_float(random.word[2]));
    }
    team.sync();
    if (team.rank() == 0) {
      float sum = 0;
      for (std::int32_t m = 0; m < count; ++m) sum += pde::load(work.waves + 4 * m + 2);
      for (std::int32_t m = 0; m < count; ++m) {
        std::uint32_t* const amplitude = work.waves + 4 * m + 2;
        pde::store(amplitude, pde::load(amplitude) / sum);
      }
    }
    team.sync();
  }
  WS_INLINE static pde::Wave wave(const PdeWork& work, std::int32_t m) {
    const std::uint32_t* const at = work.waves + 4 * m;
    return {static_cast<std::int32_t>(at[0]), static_cast<std::int32_t>(at[1]), pde::load(at + 2),
            pde::load(at + 3)};
  }

  /// Sums the waves into field 0.
  template <class Team>
  WS_INLINE void begin(Team& team, const PdeWork& work, std::int32_t count) const {
    const float inverse = 1 / static_cast<float>(side);
    for (std::int32_t i = team.rank(); i < cells(); i += team.size()) {
      const std::int32_t y = i / side, x = i - y * side;
      float sum = 0;
      for (std::int32_t m = 0; m < count; ++m) {
        const pde::Wave at = wave(work, m);
        const std::int32_t whole = (at.p * x + at.q * y) % side;  // modulo the side: exact turns
        const float turns = math::fma(static_cast<float>(whole), inverse, at.phase);
        sum = math::fma(at.amplitude, math::cos_turns(turns), sum);
      }
      pde::store(work.fields + i, sum);
    }
    team.sync();
  }

  /// Step number `step`, from 1: computes field_after(step).
  template <class Team>
  WS_INLINE void advance(Team& team, const PdeWork& work, const PdeStep& rule,
                         std::int32_t step) const {
    const std::uint32_t* const from = work.fields + field_after(step - 1) * cells();
    std::uint32_t* const to = work.fields + field_after(step) * cells();
    if (!rule.waves) {
      sweep(team, from,
            [&](std::int32_t i, float here, float left, float right, float up, float down) {
              const float carried =
                  math::fma(-rule.half_y, down - up, math::fma(-rule.half_x, right - left, here));
              const float around = (up + down) + (left + right);
              pde::store(to + i, math::fma(rule.spread, math::fma(-4.f, here, around), carried));
            });
    } else if (step == 1) {
      // At rest: u(-dt) = u(dt).
      const float half = 0.5f * rule.spread;
      sweep(team, from,
            [&](std::int32_t i, float here, float left, float right, float up, float down) {
              const float around = (up + down) + (left + right);
              pde::store(to + i, math::fma(half, math::fma(-4.f, here, around), here));
            });
    } else {
      // The previous field is stored where the new one goes, except for the second step.
      const std::uint32_t* const before = step == 2 ? work.fields : to;
      sweep(team, from,
            [&](std::int32_t i, float here, float left, float right, float up, float down) {
              const float around = (up + down) + (left + right);
              const float coasting = math::fma(2.f, here, -pde::load(before + i));
              pde::store(to + i, math::fma(rule.spread, math::fma(-4.f, here, around), coasting));
            });
    }
    team.sync();
  }

  /// Sums of squares of the initial field and after `steps` steps.
  template <class Team>
  WS_INLINE void measure(Team& team, const PdeWork& work, std::int32_t steps) const {
    if (team.rank() == 0) work.sums[0] = work.sums[1] = 0;
    team.sync();
    const std::uint32_t* const last = work.fields + field_after(steps) * cells();
    std::int64_t first_sum = 0, last_sum = 0;
    for (std::int32_t i = team.rank(); i < cells(); i += team.size()) {
      first_sum += square(pde::load(work.fields + i));
      last_sum += square(pde::load(last + i));
    }
    team.atomic_add(work.sums, first_sum);
    team.atomic_add(work.sums + 1, last_sum);
    team.sync();
  }

 private:
  WS_INLINE static std::int64_t square(float value) {
    return static_cast<std::int64_t>(math::round(value * value * PdeWork::kUnit));
  }

  /// Calls set(i, here, left, right, up, down) for all cells.
  template <class Team, class Set>
  WS_INLINE void sweep(Team& team, const std::uint32_t* from, const Set& set) const {
    const auto cell = [&](std::int32_t row, std::int32_t up, std::int32_t down, std::int32_t x,
                          std::int32_t left, std::int32_t right) {
      set(row + x, pde::load(from + row + x), pde::load(from + row + left),
          pde::load(from + row + right), pde::load(from + up + x), pde::load(from + down + x));
    };
    const std::int32_t last = side - 1;
#if WS_DEVICE_CODE
    for (std::int32_t i = team.rank(); i < cells(); i += team.size()) {
      const std::int32_t y = i / side, x = i - y * side;
      cell(y * side, (y == 0 ? last : y - 1) * side, (y == last ? 0 : y + 1) * side, x,
           x == 0 ? last : x - 1, x == last ? 0 : x + 1);
    }
#else
    for (std::int32_t y = team.rank(); y < side; y += team.size()) {
      const std::int32_t row = y * side;
      const std::int32_t up = (y == 0 ? last : y - 1) * side, down = (y == last ? 0 : y + 1) * side;
      cell(row, up, down, 0, last, 1);
#pragma omp simd
      for (std::int32_t x = 1; x < last; ++x) cell(row, up, down, x, x - 1, x + 1);
      cell(row, up, down, last, last - 1, 0);
    }
#endif
  }
};

}  // namespace wellspring
