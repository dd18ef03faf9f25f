// 3x3 convolutions by Winograd's minimal filtering F(4x4, 3x3): for each pair of channels, 16
// outputs take 36 multiplications instead of 144 (81 with stride 2). Called by
// kernels/ops/cpu/winograd_conv2d.cpp; host only.
//
// Source: A. Lavin, S. Gray, "Fast algorithms for convolutional neural networks", CVPR 2016,
// section 4. Our points 0, 1, -1, 1/2, -2 give smaller rounding errors than the paper's, which are
// the same except for 2 instead of 1/2 (B. Barabasz et al., "Error analysis and improving the
// accuracy of Winograd convolution for deep neural networks", ACM Transactions on Mathematical
// Software 46(4), 2020). An image is cut into tiles of 4x4 outputs. With d the 6x6 inputs of a
// tile, g a kernel, and B, G, A the matrices of these points,
//
//   forward      y  = A^T [sum over in channels  (G g G^T) * (B^T d B)] A
//   data         dx: like forward, from dy, with kernels rotated by 180 degrees, channels exchanged
//   weights      dg = G^T [sum over tiles  (B^T d B) * (A dy A^T)] G
//
// where * multiplies element by element. These are 36 matrix products, computed in panels of 32
// result columns (of channels for dg), so that a panel's transformed weights fit into the
// cache.
//
// With stride 2, the image is split by even and odd lines and columns into four images, the phases,
// each with a quarter of the pixels. Odd lines use two of the three taps and even lines one, so
// F(4x4, 2x2) is enough: 25 points if both line and column are odd, 20 if only one is odd, 16 if
// both are even.
//
// The kernels are compiled for AVX-512 and for AVX2.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wellspring::ops::cpu {

/// Channels per panel; the numbers of input and output channels are multiples of this.
inline constexpr int kWinogradPanel = 32;

/// The output images. Padding is 1; the sides of the input images are `stride` times larger.
struct WinogradImages {
  std::int64_t batch = 1;
  int height = 4, width = 4;
  int stride = 1;  ///< 1 or 2
  /// Number of phases of the input images; each has the sides of the output images.
  int phases() const { return stride * stride; }
  int tiles_down() const { return (height + 3) / 4; }
  int tiles_across() const { return (width + 3) / 4; }
  std::int64_t tiles() const { return batch * tiles_down() * tiles_across(); }
  /// Number of tiles per group; the last group is padded with zeros.
  int group() const { return tiles() < 32 ? static_cast<int>((tiles() + 7) / 8 * 8) : 32; }
  std::int64_t groups() const { return (tiles() + group() - 1) / group(); }
};

/// Operations after the sum of products.
struct WinogradEnd {
  const float* bias = nullptr;  ///< [output channels], or null
  bool relu = false;
};
/// Maximum number of groups at a time, for the forward pass and the data gradient. Their tiles stay
/// in the L3 cache, and the weights are transformed once for all of them.
inline constexpr int kGroupsAtOnce = 4;
/// Groups [first, end), whose transformed tiles are in memory.
struct TileGroups {
  std::int64_t first = 0, end = 1;
};

/// The functions for one instruction set. `scratch` must be aligned to 64.
struct WinogradKernels {
  /// Floats of one group's transformed tiles.
  std::size_t (*tiles)(const WinogradImages& images, int channels);
  /// Floats of a panel's scratch.
  std::size_t (*scratch)(const WinogradImages& images);

  /// tiles = B^T d B for one group of x, which gives phases() * channels channels, or of dy [batch,
  /// height, width, channels].
  using Transform = void (*)(const WinogradImages& images, int channels, const float* image,
                             std::int64_t group, float* tiles);
  Transform input, arriving;
  /// tiles = A dy A^T for one group of dy [batch, height, width, channels].
  Transform gradient;

  /// Writes a panel of y for the given groups from the transformed x.
  void (*forward)(const WinogradImages& images, int in_channels, int out_channels,
                  TileGroups groups, const float* tiles, const float* w, int panel, WinogradEnd end,
                  float* y, float* scratch);
  /// Writes one panel of dx for the given groups from dy transformed by `arriving`. dx has phases()
  /// * input channels / kWinogradPanel panels.
  void (*backward_data)(const WinogradImages& images, int in_channels, int out_channels,
                        TileGroups groups, const float* tiles, const float* w, int panel, float* dx,
                        float* scratch);
  /// Writes one panel of dw from x and from the dy of all groups, transformed by `gradient`. dw
  /// [out, 3, 3, in] has as many panels as dx; it is overwritten.
  void (*backward_weights)(const WinogradImages& images, int in_channels, int out_channels,
                           const float* x, const float* tiles, int panel, float* dw,
                           float* scratch);
};

}  // namespace wellspring::ops::cpu
