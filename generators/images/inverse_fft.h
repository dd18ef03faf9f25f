// Inverse Fourier transform of spectra of real square grids, computed in place by a team. Uses
// decimation in time with radix 4 and, if needed, one stage of radix 2 (J. Cooley and J. Tukey,
// Math. Comp. 19 (1965) 297). The order of operations does not depend on the team. Used by
// generator `spectrum`; host and device.
//
// A grid of N x N real values c, N = 2^log_side from 2^4 to 2^10, is the transform
//
//     c[y][x] = sum over ky, kx of C[ky][kx] exp(2 pi i (ky y + kx x) / N),  C[-ky][-kx] = conj C.
//
// It is computed as N x N/2 complex numbers z[y][j] = c[y][2 j] + i c[y][2 j + 1], the transform
// over ky and k of
//
//     Z[ky][k] = C[ky][k] + C[ky][k + N/2] + i w^k (C[ky][k] - C[ky][k + N/2]),  w = e^(2 pi i / N)
//
// Before the transform, Z[ky][k] is stored in row reversed(ky) and column reversed(k), which are
// bit-reversed numbers; afterwards, z[y][j] is stored in row y and column j. The 32-bit cells hold
// the bits of floats: N^2/2 real parts, then N^2/2 imaginary parts.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/team.h"

#include <bit>
#include <cstdint>

namespace wellspring::fft {

using Cell = std::uint32_t;

struct Complex {
  float re = 0, im = 0;

  WS_INLINE friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  WS_INLINE friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  WS_INLINE friend Complex operator*(Complex a, Complex b) {
    return {math::fma(a.re, b.re, -(a.im * b.im)), math::fma(a.re, b.im, a.im * b.re)};
  }
  WS_INLINE Complex conjugate() const { return {re, -im}; }
  WS_INLINE Complex times_i() const { return {-im, re}; }
};

WS_INLINE float load(const Cell* cell) {
  return std::bit_cast<float>(*cell);
}
WS_INLINE void store(Cell* cell, float value) {
  *cell = std::bit_cast<Cell>(value);
}

/// `number` with its `bits` bits reversed.
WS_INLINE std::int32_t reversed(std::int32_t number, int bits) {
#if WS_DEVICE_CODE
  return static_cast<std::int32_t>(__brev(static_cast<unsigned>(number)) >> (32 - bits));
#else
  auto v = static_cast<std::uint32_t>(number);
  v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
  v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
  v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
  return static_cast<std::int32_t>(__builtin_bswap32(v) >> (32 - bits));
#endif
}

/// Powers of w over the first three quarters of a turn, in 3/2 N cells aligned to 8 bytes.
struct Twiddles {
  Cell* cells;
  std::int32_t side;

  WS_HD static constexpr std::int32_t count(std::int32_t side) { return side / 2 * 3; }

  template <class Team>
  WS_INLINE void make(Team& team) const {
    for (std::int32_t i = team.rank(); i < side / 4 * 3; i += team.size()) {
      const math::SinCos turn =
          math::sincos_turns(static_cast<float>(i) / static_cast<float>(side));
      store(cells + 2 * i, turn.cosine);
      store(cells + 2 * i + 1, turn.sine);
    }
  }
  WS_INLINE Complex operator[](std::int32_t i) const {
    struct alignas(8) Pair {  // one load
      Cell re, im;
    };
    const Pair pair = reinterpret_cast<const Pair*>(cells)[i];
    return {std::bit_cast<float>(pair.re), std::bit_cast<float>(pair.im)};
  }
};

/// Separate arrays of the real and imaginary parts of complex numbers.
template <class Value>
struct Parts {
  Value* re;
  Value* im;

  WS_INLINE Complex get(std::int32_t i) const {
    return {std::bit_cast<float>(re[i]), std::bit_cast<float>(im[i])};
  }
  WS_INLINE void set(std::int32_t i, Complex z) const {
    re[i] = std::bit_cast<Value>(z.re);
    im[i] = std::bit_cast<Value>(z.im);
  }
};

/// Two radix-2 stages at once, after multiplication by powers of w.
WS_INLINE void combine(Complex& z0, Complex& z1, Complex& z2, Complex& z3) {
  const Complex b0 = z0 + z1, b1 = z0 - z1, b2 = z2 + z3, b3 = (z2 - z3).times_i();
  z0 = b0 + b2;
  z1 = b1 + b3;
  z2 = b0 - b2;
  z3 = b1 - b3;
}
/// Powers of w by which a butterfly multiplies its numbers 1, 2 and 3.
struct Turns {
  Complex w2, w1, w3;

  WS_INLINE Turns(Twiddles twiddles, std::int32_t i)
      : w2(twiddles[2 * i]), w1(twiddles[i]), w3(twiddles[3 * i]) {}
};
/// Two radix-2 stages at once.
WS_INLINE void butterfly(Complex& z0, Complex& z1, Complex& z2, Complex& z3, const Turns& w) {
  z1 = z1 * w.w2;
  z2 = z2 * w.w1;
  z3 = z3 * w.w3;
  combine(z0, z1, z2, z3);
}
/// The same on the numbers i, i + step, i + 2 step and i + 3 step.
template <class Value>
WS_INLINE void butterfly4(Parts<Value> z, std::int32_t i, std::int32_t step, const Turns& w) {
  Complex z0 = z.get(i), z1 = z.get(i + step), z2 = z.get(i + 2 * step), z3 = z.get(i + 3 * step);
  butterfly(z0, z1, z2, z3, w);
  z.set(i, z0);
  z.set(i + step, z1);
  z.set(i + 2 * step, z2);
  z.set(i + 3 * step, z3);
}
/// The first stage if the number of stages is odd.
template <class Value>
WS_INLINE void butterfly2(Parts<Value> z, std::int32_t i, std::int32_t step) {
  const Complex a = z.get(i), b = z.get(i + step);
  z.set(i, a + b);
  z.set(i + step, a - b);
}

/// One member transforms 2^log_length numbers, `step` apart, on each of `lines` adjacent lines.
template <class Value>
WS_INLINE void transform_bundle(Parts<Value> z, int log_length, std::int32_t step,
                                std::int32_t lines, Twiddles twiddles) {
  const std::int32_t length = 1 << log_length;
  std::int32_t half = 1;
  if (log_length % 2 != 0) {
    for (std::int32_t i = 0; i < length; i += 2) {
      WS_LANES
      for (std::int32_t line = 0; line < lines; ++line) butterfly2(z, i * step + line, step);
    }
    half = 2;
  }
  for (; half < length; half *= 4) {
    const std::int32_t turn = twiddles.side / (4 * half);
    for (std::int32_t j = 0; j < half; ++j) {
      const Turns w(twiddles, j * turn);
      for (std::int32_t i = j; i < length; i += 4 * half) {
        WS_LANES
        for (std::int32_t line = 0; line < lines; ++line)
          butterfly4(z, i * step + line, half * step, w);
      }
    }
  }
}

/// A team transforms `lines` lines in each of `grids` grids of `stride` cells. Consecutive numbers
/// of a line are `step` cells apart; consecutive lines are `apart` cells apart.
template <class Team>
WS_INLINE void transform_lines(Team& team, Cell* cells, std::int32_t grids, std::int32_t stride,
                               int log_length, std::int32_t step, int log_lines, std::int32_t apart,
                               Twiddles twiddles) {
  const std::int32_t length = 1 << log_length, lines = 1 << log_lines;
  // Neighbouring members work on neighbouring cells: different lines, or butterflies of the same
  // line.
  const bool lines_first = apart == 1;
  const auto each = [&](int log_butterflies, const auto& work) {
    const std::int32_t butterflies = 1 << log_butterflies;
    const std::int32_t count = grids * butterflies * lines;
    for (std::int32_t t = team.rank(); t < count; t += team.size()) {
      const std::int32_t rest = t >> (log_butterflies + log_lines);
      const std::int32_t line =
          lines_first ? t & (lines - 1) : (t >> log_butterflies) & (lines - 1);
      const std::int32_t b =
          lines_first ? (t >> log_lines) & (butterflies - 1) : t & (butterflies - 1);
      Cell* const re = cells + rest * stride + line * apart;
      work(Parts<Cell>{re, re + stride / 2}, b);
    }
    team.sync();
  };
  std::int32_t half = 1;
  if (log_length % 2 != 0) {
    each(log_length - 1, [&](Parts<Cell> z, std::int32_t b) { butterfly2(z, 2 * b * step, step); });
    half = 2;
  }
  for (; half < length; half *= 4) {
    const std::int32_t turn = twiddles.side / (4 * half);
    each(log_length - 2, [&](Parts<Cell> z, std::int32_t b) {
      const std::int32_t j = b & (half - 1);
      const std::int32_t i = 4 * (b - j) + j;
      butterfly4(z, i * step, half * step, Turns(twiddles, j * turn));
    });
  }
}

/// Called by all members after a barrier: transforms `grids` adjacent grids. Ends with a barrier.
template <class Team>
WS_INLINE void inverse(Team& team, Cell* cells, std::int32_t grids, int log_side,
                       Twiddles twiddles) {
  const std::int32_t side = 1 << log_side, columns = side / 2, stride = side * side;
  if constexpr (LoneTeam<Team>) {
    for (std::int32_t g = 0; g < grids; ++g) {
      Cell* const grid = cells + g * stride;
      transform_bundle(Parts<Cell>{grid, grid + stride / 2}, log_side, columns, columns, twiddles);
      // Transforms eight rows at once, as columns of a block that fits into the L1 cache.
      constexpr std::int32_t kRows = 8;
      float re[512 * kRows], im[512 * kRows];
      for (std::int32_t row = 0; row < side; row += kRows) {
        Cell* const at = grid + row * columns;
        for (std::int32_t j = 0; j < columns; ++j) {
          for (std::int32_t r = 0; r < kRows; ++r) {
            re[j * kRows + r] = load(at + r * columns + j);
            im[j * kRows + r] = load(at + stride / 2 + r * columns + j);
          }
        }
        transform_bundle(Parts<float>{re, im}, log_side - 1, kRows, kRows, twiddles);
        for (std::int32_t r = 0; r < kRows; ++r) {
          for (std::int32_t j = 0; j < columns; ++j) {
            store(at + r * columns + j, re[j * kRows + r]);
            store(at + stride / 2 + r * columns + j, im[j * kRows + r]);
          }
        }
      }
    }
  } else {
    transform_lines(team, cells, grids, stride, log_side, columns, log_side - 1, 1, twiddles);
    transform_lines(team, cells, grids, stride, log_side - 1, 1, log_side, columns, twiddles);
  }
}

/// Index of c[y][x] after the transform.
WS_INLINE std::int32_t place(std::int32_t x, std::int32_t y, int log_side) {
  return ((x & 1) << (2 * log_side - 1)) + (y << (log_side - 1)) + (x >> 1);
}

}  // namespace wellspring::fft
