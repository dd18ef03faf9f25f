// Matrices of Winograd's algorithm for 3x3 convolutions with stride 1 and 2. Called only by
// kernels/ops/cpu/winograd_kernels.h; host only.
//
// An output y_i = sum_j d_(i+j) g_j is A^T [(G g) * (B^T d)]. G and A evaluate polynomials at the
// points; B^T is the transposed inverse of the matrix that evaluates a polynomial of degree kSide -
// 1. Source: kernels/ops/cpu/winograd.h.
#pragma once

#include "kernels/ops/cpu/vector.h"

namespace wellspring::ops::cpu::WS_VECTORS {

/// A matrix [rows][columns] known at compile time, so that products with 0 are omitted.
template <int kRows, int kColumns>
struct Matrix {
  float at[kRows][kColumns];
  constexpr Matrix<kColumns, kRows> transposed() const {
    Matrix<kColumns, kRows> result{};
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kColumns; ++c) result.at[c][r] = at[r][c];
    return result;
  }
};

template <int kStride>
struct Form;

constexpr float k3 = 1.0f / 3, k6 = 1.0f / 6, k15 = 1.0f / 15, k30 = 1.0f / 30;

/// Points 0, 1, -1, 1/2, -2 and infinity.
template <>
struct Form<1> {
  static constexpr int kTaps = 3, kSide = 6, kPoints = kSide * kSide, kPhases = 1;
  static constexpr int kBefore = 1;  ///< pixels of a patch of dy before its tile
  static constexpr Matrix<6, 3> kG = {
      {{1, 0, 0}, {1, 1, 1}, {1, -1, 1}, {1, 0.5f, 0.25f}, {1, -2, 4}, {0, 0, 1}}};
  static constexpr Matrix<4, 6> kAT = {{{1, 1, 1, 1, 1, 0},
                                        {0, 1, -1, 0.5f, -2, 0},
                                        {0, 1, 1, 0.25f, 4, 0},
                                        {0, 1, -1, 0.125f, -8, 1}}};
  static constexpr Matrix<6, 6> kBT = {{{1, -1.5f, -2, 1.5f, 1, 0},
                                        {0, -k3, k6, 5 * k6, k3, 0},
                                        {0, -k3, 5 * k6, -k6, -k3, 0},
                                        {0, 32 * k15, 16 * k15, -32 * k15, -16 * k15, 0},
                                        {0, k30, -k15, -k30, k15, 0},
                                        {0, 1, -1.5f, -2, 1.5f, 1}}};
  /// Line (0 to 2) of tap k of a kernel.
  static constexpr int line(int /*phase*/, int k) { return k; }
  static constexpr bool vanishes(int /*phase*/, int /*p*/, int /*zero*/) { return false; }
};

/// Points 0, 1, -1, -2 and infinity, for the four phases of an image. Odd lines and columns use two
/// taps, (g0, g2). Even lines and columns use (0, g1), which is 0 at the point 0 or, for rotated
/// kernels, at infinity.
template <>
struct Form<2> {
  static constexpr int kTaps = 2, kSide = 5, kPoints = kSide * kSide, kPhases = 4;
  static constexpr int kBefore = 0;
  static constexpr Matrix<5, 2> kG = {{{1, 0}, {1, 1}, {1, -1}, {1, -2}, {0, 1}}};
  static constexpr Matrix<4, 5> kAT = {
      {{1, 1, 1, 1, 0}, {0, 1, -1, -2, 0}, {0, 1, 1, 4, 0}, {0, 1, -1, -8, 1}}};
  static constexpr Matrix<5, 5> kBT = {{{1, 0.5f, -1, -0.5f, 0},
                                        {0, k3, 0.5f, k6, 0},
                                        {0, -1, 0.5f, 0.5f, 0},
                                        {0, k6, 0, -k6, 0},
                                        {0, -2, -1, 2, 1}}};
  /// Line of tap k for odd or even lines; -1: none.
  static constexpr int line(int odd, int k) { return odd != 0 ? 2 * k : k == 0 ? -1 : 1; }
  /// True if the kernels of a phase vanish at point p. Kernels of even lines vanish at point
  /// `zero`.
  static constexpr bool vanishes(int phase, int p, int zero) {
    return (phase / 2 == 0 && p / kSide == zero) || (phase % 2 == 0 && p % kSide == zero);
  }
};

/// Index of tap t of a phase among the nine taps of a kernel, or -1.
template <class F>
constexpr int tap_of(int phase, int t) {
  const int row = F::line(phase / 2, t / F::kTaps), column = F::line(phase % 2, t % F::kTaps);
  return row < 0 || column < 0 ? -1 : 3 * row + column;
}

}  // namespace wellspring::ops::cpu::WS_VECTORS
