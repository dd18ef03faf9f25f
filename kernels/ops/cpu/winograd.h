// 3x3 convolutions by Winograd's minimal filtering F(4x4, 3x3): per pair of channels 36
// multiplications for 16 outputs instead of 144; 81 with stride 2. Called by
// kernels/ops/cpu/winograd_conv2d.cpp; host only.
//
// Source: A. Lavin, S. Gray, "Fast algorithms for convolutional neural networks", CVPR 2016,
// section 4. Our points 0, 1, -1, 1/2, -2 have smaller rounding errors than theirs, with 2 instead
// of 1/2 (B. Barabasz et al., "Error analysis and improving the accuracy of Winograd convolution
// for deep neural networks", ACM Transactions on Mathematical Software 46(4), 2020). An image is
// cut into tiles of 4x4 outputs. With d the 6x6 inputs of a tile, g a kernel and matrices B, G, A
// of the points,
//
//   forward      y  = A^T [sum over in channels  (G g G^T) * (B^T d B)] A
//   data         dx: as forward, from dy, kernels turned by 180 degrees, channels exchanged
//   weights      dg = G^T [sum over tiles  (B^T d B) * (A dy A^T)] G
//
// where * multiplies element by element: 36 matrix products, in panels of 32 columns of the result
// (for dg: in channels), so that a panel's transformed weights stay in a cache.
//
// With stride 2, even and odd lines and columns of the image separate into four images with a
// quarter of the pixels, the phases. Odd lines meet two of the three taps, even ones one, so F(4x4,
// 2x2) suffices: 25 points if lines and columns are odd, 20 if one of them is, 16 if both are even.
//
// Functions here are compiled for AVX-512; call them only if winograd_available().
#pragma once

#include <cstddef>
#include <cstdint>

namespace wellspring::ops::cpu {

bool winograd_available();

/// Channels per panel; in and out channels are multiples of it.
inline constexpr int kWinogradPanel = 32;

/// The images of the result. Padding is 1; the sides of the input images are `stride` times larger.
struct WinogradImages {
  std::int64_t batch = 1;
  int height = 4, width = 4;
  int stride = 1;  ///< or 2
  /// Phases of the input images; each has the sides of the result.
  int phases() const { return stride * stride; }
  int tiles_down() const { return (height + 3) / 4; }
  int tiles_across() const { return (width + 3) / 4; }
  std::int64_t tiles() const { return batch * tiles_down() * tiles_across(); }
  /// Tiles per group; the last group is padded with zeros.
  int group() const { return tiles() < 32 ? static_cast<int>((tiles() + 7) / 8 * 8) : 32; }
  std::int64_t groups() const { return (tiles() + group() - 1) / group(); }
};

/// Floats of the transformed tiles of one group, and of a panel's scratch.
std::size_t winograd_tiles(const WinogradImages& images, int channels);
std::size_t winograd_scratch(const WinogradImages& images);

/// tiles = B^T d B of one group: of x, with phases() * channels; or of dy [batch, height, width,
/// channels].
void winograd_input(const WinogradImages& images, int channels, const float* x, std::int64_t group,
                    float* tiles);
void winograd_arriving(const WinogradImages& images, int channels, const float* dy,
                       std::int64_t group, float* tiles);
/// tiles = A dy A^T of one group of dy [batch, height, width, channels].
void winograd_gradient(const WinogradImages& images, int channels, const float* dy,
                       std::int64_t group, float* tiles);

/// Operations after the sum of products.
struct WinogradEnd {
  const float* bias = nullptr;  ///< [out channels], or null
  bool relu = false;
};
/// Largest number of groups at a time, forward and for the data gradient: their tiles stay in the
/// L3 cache, and weights are transformed once for all of them.
inline constexpr int kGroupsAtOnce = 4;
/// Groups [first, end) with transformed tiles in memory.
struct TileGroups {
  std::int64_t first = 0, end = 1;
};
/// Writes a panel of y for the given groups from the transformed x. `scratch` is aligned to 64.
void winograd_forward(const WinogradImages& images, int in_channels, int out_channels,
                      TileGroups groups, const float* tiles, const float* w, int panel,
                      WinogradEnd end, float* y, float* scratch);
/// Writes one of phases() * in channels / panel panels of dx for the given groups, from dy
/// transformed by winograd_arriving.
void winograd_backward_data(const WinogradImages& images, int in_channels, int out_channels,
                            TileGroups groups, const float* tiles, const float* w, int panel,
                            float* dx, float* scratch);
/// Writes one of the same number of panels of dw from x and dy of all groups, transformed by
/// winograd_gradient. dw [out, 3, 3, in] is overwritten.
void winograd_backward_weights(const WinogradImages& images, int in_channels, int out_channels,
                               const float* x, const float* tiles, int panel, float* dw,
                               float* scratch);

}  // namespace wellspring::ops::cpu
