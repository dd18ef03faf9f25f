// Plasma by midpoint displacement (diamond-square): a grid of 2^n + 1 points per side with random
// corners. Every other point is the mean of four known points plus a displacement that shrinks from
// level to level. A team makes the grid in 32-bit cells. Used for backgrounds of generator `ifs`;
// host and device.
//
// A. Fournier, D. Fussell, L. Carpenter, "Computer rendering of stochastic models", CACM 25 (1982),
// p. 371. Amplitudes and edges follow the program of C. Anderson, R. Farrell, "Improving fractal
// pre-training", WACV 2022: 1/2 exp(decay (1 - k)) at level k = 1, 2, ..., and periodic edges.
#pragma once

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <bit>
#include <cstdint>

namespace wellspring::diamond_square {

/// Smallest n with 2^n >= side.
WS_INLINE constexpr int levels_for(int side) {
  int levels = 0;
  while ((1 << levels) < side) ++levels;
  return levels;
}
/// Points per side.
WS_INLINE constexpr int points_for(int levels) {
  return (1 << levels) + 1;
}
/// Points of level k are displaced by a number uniform in [-m, m); returns m.
WS_INLINE float amplitude(float decay, int level) {
  return 0.5f * math::exp(decay * static_cast<float>(1 - level));
}

/// Called by all members: computes the heights, row by row, as f32 bits. Point (row, column) uses
/// word p % 4 of rng.block(Purpose::noise, p / 4), p = row * points + column. Ends with a barrier.
template <class Team>
WS_INLINE void make(Team& team, const SampleRng& rng, float decay, int levels,
                    std::uint32_t* cells) {
  const int side = points_for(levels), last = side - 1, count = side * side;
#if WS_DEVICE_CODE
  constexpr int kBlocks = 1;
#else
  constexpr int kBlocks = 16;
#endif
  // The cells first hold random words. Each word is read once, by the member that replaces it with
  // a height.
  for (int piece = team.rank(); 4 * kBlocks * piece < count; piece += team.size()) {
    std::uint32_t words[4][kBlocks];
#if !WS_DEVICE_CODE && !defined(__CUDACC__)
#pragma omp simd
#endif
    for (int l = 0; l < kBlocks; ++l) {
      const Philox4 drawn =
          rng.block(Purpose::noise, static_cast<std::uint32_t>(piece * kBlocks + l));
      WS_UNROLL(4)
      for (int k = 0; k < 4; ++k) words[k][l] = drawn.word[k];
    }
    WS_UNROLL(4)
    for (int l = 0; l < kBlocks; ++l) {
      WS_UNROLL(4)
      for (int k = 0; k < 4; ++k) {
        const int p = 4 * (piece * kBlocks + l) + k;
        if (p < count) cells[p] = words[k][l];
      }
    }
  }
  team.sync();
  for (int corner = team.rank(); corner < 4; corner += team.size()) {
    std::uint32_t& cell = cells[(corner / 2 * side + corner % 2) * last];
    cell = std::bit_cast<std::uint32_t>(unit_float(cell));
  }
  team.sync();

  const auto height = [&](int row, int column) {
    return std::bit_cast<float>(cells[row * side + column]);
  };
  for (int level = 1; level <= levels; ++level) {
    const int step = 1 << (levels - level), across = 1 << level;
    const float most = amplitude(decay, level);
    const auto displace = [&](int row, int column, float sum) {
      std::uint32_t& cell = cells[row * side + column];
      const float u = math::fma(2.0f, unit_float(cell), -1.0f);
      cell = std::bit_cast<std::uint32_t>(math::fma(u, most, 0.25f * sum));
    };
    // First the centres of squares, then the midpoints of their edges.
    const int half = across / 2;
    for (int i = team.rank(); i < half * half; i += team.size()) {
      const int row = (2 * (i / half) + 1) * step, column = (2 * (i % half) + 1) * step;
      displace(row, column,
               (height(row - step, column - step) + height(row - step, column + step)) +
                   (height(row + step, column - step) + height(row + step, column + step)));
    }
    team.sync();
    // Every other one of the (across + 1)^2 points, whose number is odd.
    const int width = across + 1;
    for (int i = team.rank(); i < (width * width - 1) / 2; i += team.size()) {
      const int p = 2 * i + 1, row = p / width * step, column = p % width * step;
      const int above = row > 0 ? row - step : last - step, below = row < last ? row + step : step;
      const int left = column > 0 ? column - step : last - step;
      const int right = column < last ? column + step : step;
      displace(row, column,
               (height(above, column) + height(below, column)) +
                   (height(row, left) + height(row, right)));
    }
    team.sync();
  }
}

}  // namespace wellspring::diamond_square
