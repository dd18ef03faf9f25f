// The waves of generator `spectrum`: amplitudes that fall as a power of the frequency, with random
// phases, and the input of the inverse transform that follows from them. Host and device.
#pragma once

#include "generators/images/inverse_fft.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::spectrum {

using fft::Cell;

/// Random words, size and power law of a sample's waves.
struct Law {
  SampleRng rng;
  std::int32_t log_side;   ///< side of the grid, log2
  float power_x, power_y;  ///< exponents s + d, s - d

  WS_INLINE std::int32_t side() const { return 1 << log_side; }
};

/// Tables of a sample in its team's memory; N is the side of the grids.
struct Tables {
  fft::Twiddles twiddles;
  Cell* across;  ///< N/2 + 1: |fx|^(s + d)
  Cell* down;    ///< N/2 + 1: |fy|^(s - d)
  Cell* factor;  ///< normalises the mean square of a field to 1
  Cell* keys;    ///< 2: keys of minimum and maximum

  WS_HD static constexpr std::int32_t count(std::int32_t side) {
    return fft::Twiddles::count(side) + 2 * (side / 2 + 1) + 3;
  }
  /// `cells`: count() cells at a multiple of 8 bytes.
  WS_INLINE Tables(const Law& law, Cell* cells)
      : twiddles{cells, law.side()},
        across(cells + fft::Twiddles::count(law.side())),
        down(across + law.side() / 2 + 1),
        factor(down + law.side() / 2 + 1),
        keys(factor + 1) {}

  /// Called by all members: fills the tables. `sums`: N/2 + 1 cells. Ends with a barrier.
  template <class Team>
  WS_INLINE void make(Team& team, const Law& law, Cell* sums) const {
    const std::int32_t side = law.side(), half = side / 2;
    twiddles.make(team);
    for (std::int32_t k = team.rank(); k <= half; k += team.size()) {
      const float f = static_cast<float>(k) / static_cast<float>(side);
      fft::store(across + k, math::pow(f, law.power_x));
      fft::store(down + k, math::pow(f, law.power_y));
    }
    team.sync();
    // The sum of all squared amplitudes; by symmetry, only a quarter of them is computed.
    for (std::int32_t y = team.rank(); y <= half; y += team.size()) {
      const float power = fft::load(down + y);
      float sum = 0;
      for (std::int32_t x = 0; x <= half; ++x) {
        const float amplitude = x + y == 0 ? 0.f : 1 / (fft::load(across + x) + power);
        const float times = x == 0 || x == half ? 1.f : 2.f;
        sum = math::fma(times * amplitude, amplitude, sum);
      }
      fft::store(sums + y, sum);
    }
    team.sync();
    if (team.rank() == 0) {
      float sum = 0;
      for (std::int32_t y = 0; y <= half; ++y) {
        const float times = y == 0 || y == half ? 1.f : 2.f;
        sum = math::fma(times, fft::load(sums + y), sum);
      }
      fft::store(factor, 1 / math::sqrt(sum));
      keys[0] = keys[1] = 0;
    }
    team.sync();
  }
};

/// Amplitudes of the three fields at one frequency.
struct Waves {
  fft::Complex red, green, blue;

  WS_INLINE Waves conjugate() const {
    return {red.conjugate(), green.conjugate(), blue.conjugate()};
  }
};

/// Random words of a frequency, ky from -N/2 + 1 to N/2; they are the same in grids of all sizes.
WS_INLINE Philox4 words_of(const Law& law, std::int32_t ky, std::int32_t kx) {
  return law.rng.block(Purpose::texture, (static_cast<std::uint32_t>(kx) << 16) |
                                             (static_cast<std::uint32_t>(ky) & 0xffffu));
}
WS_INLINE fft::Complex wave(float amplitude, std::uint32_t word) {
  const math::SinCos turn = math::sincos_turns(unit_float(word));
  return {amplitude * turn.cosine, amplitude * turn.sine};
}

/// Amplitudes at (ky, kx), for ky from 0 to N - 1 and kx between 0 and N/2.
WS_INLINE Waves waves(const Law& law, const Tables& tables, std::int32_t ky, std::int32_t kx) {
  const std::int32_t side = law.side();
  const std::int32_t row = ky > side / 2 ? ky - side : ky;
  const Philox4 words = words_of(law, row, kx);
  const float amplitude =
      fft::load(tables.factor) /
      (fft::load(tables.across + kx) + fft::load(tables.down + (row < 0 ? -row : row)));
  return {wave(amplitude, words.word[0]), wave(amplitude, words.word[1]),
          wave(amplitude, words.word[2])};
}
/// Amplitudes at kx = 0 and N/2, where the opposite frequency is in the same column, for ky from 0
/// to N/2.
WS_INLINE Waves edge_waves(const Law& law, const Tables& tables, std::int32_t ky, std::int32_t kx) {
  const std::int32_t half = law.side() / 2;
  const Philox4 words = words_of(law, ky, kx);
  const float power = fft::load(tables.across + kx) + fft::load(tables.down + ky);
  const float amplitude = kx + ky == 0 ? 0.f : fft::load(tables.factor) / power;
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
WS_INLINE fft::Complex folded(fft::Complex a, fft::Complex b, fft::Complex w) {
  return a + b + (w * (a - b)).times_i();
}
WS_INLINE Waves folded(const Waves& a, const Waves& b, fft::Complex w) {
  return {folded(a.red, b.red, w), folded(a.green, b.green, w), folded(a.blue, b.blue, w)};
}

/// Inputs at (ky, k) and (-ky, N/2 - k), for k from 1 to N/4. They provide each other's frequencies
/// beyond N/2.
struct Pair {
  Waves here, there;

  WS_INLINE static Pair at(const Law& law, const Tables& tables, std::int32_t ky, std::int32_t k) {
    const std::int32_t side = law.side();
    const Waves a = waves(law, tables, ky, k);
    const Waves b = waves(law, tables, (side - ky) & (side - 1), side / 2 - k);
    const fft::Complex w = tables.twiddles[k];
    return {folded(a, b.conjugate(), w), folded(b, a.conjugate(), {-w.re, w.im})};
  }
  /// True if another ky has the same pair.
  WS_INLINE static bool repeats(const Law& law, std::int32_t ky, std::int32_t k) {
    return k == law.side() / 4 && ky > law.side() / 2;
  }
};

/// Calls put(ky, 0, waves) for the inputs of column 0, whose partner is column N/2. Both contain
/// their own opposite frequencies.
template <class Team, class Put>
WS_INLINE void put_edge(Team& team, const Law& law, const Tables& tables, const Put& put) {
  const std::int32_t side = law.side(), half = side / 2;
  for (std::int32_t ky = team.rank(); ky <= half; ky += team.size()) {
    const Waves a = edge_waves(law, tables, ky, 0), b = edge_waves(law, tables, ky, half);
    put(ky, 0, folded(a, b, {1, 0}));
    if (ky == 0 || ky == half) continue;
    put(side - ky, 0, folded(a.conjugate(), b.conjugate(), {1, 0}));
  }
}

}  // namespace wellspring::spectrum
