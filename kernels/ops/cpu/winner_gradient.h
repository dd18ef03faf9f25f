// Gradients of a 3x3 convolution before 2x2 max pooling, from the pooled gradient and the winners.
// Three quarters of the convolution's gradient are 0, so this takes a quarter of the
// multiplications of the dense method. Called by kernels/ops/cpu/conv_pool2d.cpp; host only.
//
// Both gradients reduce to one loop. Winner (p, q) of output channel k with gradient g gives
//
//   dw[k][r][s][c] += g x [p + r][q + s][c]        dx[p + r][q + s][c] += g w[k][r][s][c]
//
// (x and dx have a border of one zero pixel). For each r, the 3 * channels values over (s, c) are
// contiguous in all four arrays. So a row of 3 * channels stays in registers while scaled rows are
// added to it: for dw, the rows at all winners of one k; for dx, the rows of all k whose winner is
// at one position.
//
// The kernels are compiled for AVX-512 and for AVX2.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wellspring::ops::cpu {

/// A convolution with padding 1 and stride 1; pooled sides are half of these, rounded down.
struct WinnerShape {
  int height = 0, width = 0;  ///< image, pixels
  int in_channels = 0;        ///< up to 3, or a multiple of 16
  int out_channels = 0;       ///< a multiple of 16
  int pooled_height() const { return height / 2; }
  int pooled_width() const { return width / 2; }
  int windows() const { return pooled_height() * pooled_width(); }
  bool narrow() const { return in_channels <= 3; }
  /// Elements from one output channel's weights to the next in the partial sums. Narrow
  /// convolutions pad the 9 * channels values to two vectors.
  int weight_stride() const { return narrow() ? 32 : 9 * in_channels; }
};

/// Output channels per call of add_weight_gradient.
inline constexpr int kWinnerBlock = 16;

/// The functions for one instruction set.
struct WinnerKernels {
  /// Bytes of scratch for either function, aligned to 64.
  std::size_t (*scratch)(const WinnerShape& shape);
  /// Adds the sample's weight gradient for output channels [first, first + kWinnerBlock) to dw[(k -
  /// first) * weight_stride()], and their bias gradient to dbias[k - first].
  void (*add_weight_gradient)(const WinnerShape& shape, const float* x, const float* dy,
                              const std::uint8_t* winner, int first, float* dw, float* dbias,
                              void* scratch);
  /// Writes the sample's gradient of x. Not for narrow convolutions.
  void (*write_data_gradient)(const WinnerShape& shape, const float* w, const float* dy,
                              const std::uint8_t* winner, float* dx, void* scratch);
};

}  // namespace wellspring::ops::cpu
