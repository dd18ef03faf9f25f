// Normal parameters observed through a linear map and noise, and their posterior variances. Used by
// generators `gaussian_linear` and `sbi`; host and device, but posterior_variances is host only.
#pragma once

#include "kernels/batch/sample.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace wellspring {

/// theta ~ N(0, prior^2 I), x = A theta + noise N(0, I), with A_ij = mixing^(i - j) for j <= i and
/// 0 otherwise. Each measurement is one parameter plus an exponentially decaying sum of the earlier
/// ones.
struct GaussianMap {
  float mixing, noise, prior;

  /// Draws N parameters and measurements (N even) from scene blocks block(0), block(1), ... Calls
  /// theta(i, value), which returns the parameter to use, and x(i, {value i, value i + 1}). Each
  /// block's words give pairs of normal deviates: first for the parameters, then, in new blocks, for the noise.
  template <int N, class Block, class Theta, class X>
  WS_INLINE void draw(const Block& block, const Theta& theta, const X& x) const {
    static_assert(N % 2 == 0);
    constexpr unsigned kBlocks = (N + 3) / 4;  // four words per block, one number per word
    Philox4 scene{}, errors{};
    float seen = 0;  // measurement before noise
    WS_UNROLL(5)
    for (int pair = 0; pair < N / 2; ++pair) {
      const int word = pair % 2 * 2;
      if (word == 0) {
        const auto number = static_cast<unsigned>(pair) / 2;
        scene = block(number);
        errors = block(kBlocks + number);
      }
      const math::NormalPair drawn = math::box_muller(scene.word[word], scene.word[word + 1]);
      const math::NormalPair error = math::box_muller(errors.word[word], errors.word[word + 1]);
      const float first = theta(2 * pair, prior * drawn.first);
      const float second = theta(2 * pair + 1, prior * drawn.second);
      seen = mixing * seen + first;
      const float x1 = seen + noise * error.first;
      seen = mixing * seen + second;
      x(2 * pair, {x1, seen + noise * error.second});
    }
  }
};

/// S_ii of the normal posterior
///
///     covariance S = (I / prior^2 + A^T A / noise^2)^-1,   mean m(x) = S A^T x / noise^2
///
/// (C. Bishop, Pattern Recognition and Machine Learning, 2006, equations 2.116 and 2.117). No
/// predictor of theta_i has a smaller mean squared error.
template <std::size_t N>
std::array<double, N> posterior_variances(double mixing, double noise, double prior) {
  // The matrix augmented with the identity, which Gauss-Jordan elimination turns into the inverse.
  // The matrix is symmetric with eigenvalues of at least 1 / prior^2, so no pivot is small.
  std::array<std::array<double, 2 * N>, N> rows{};
  for (std::size_t i = 0; i < N; ++i) {
    rows[i][i] = 1 / (prior * prior);
    rows[i][N + i] = 1;
    for (std::size_t j = 0; j < N; ++j)
      for (std::size_t k = std::max(i, j); k < N; ++k)
        rows[i][j] += std::pow(mixing, static_cast<double>(2 * k - i - j)) / (noise * noise);
  }
  for (std::size_t pivot = 0; pivot < N; ++pivot) {
    const double scale = 1 / rows[pivot][pivot];
    for (double& value : rows[pivot]) value *= scale;
    for (std::size_t row = 0; row < N; ++row) {
      const double factor = rows[row][pivot];
      for (std::size_t c = 0; row != pivot && c < 2 * N; ++c)
        rows[row][c] -= factor * rows[pivot][c];
    }
  }
  std::array<double, N> variance{};
  for (std::size_t i = 0; i < N; ++i) variance[i] = rows[i][N + i];
  return variance;
}

}  // namespace wellspring
