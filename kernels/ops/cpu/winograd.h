// 3x3 convolutions by Winograd's minimal filtering F(4x4, 3x3): 36 multiplications for 16 outputs
// of a pair of channels in place of 144, and 81 with a stride of 2. Called by
// kernels/ops/cpu/winograd_conv2d.cpp; host only.
//
// Source: A. Lavin, S. Gray, "Fast algorithms for convolutional neural networks", CVPR 2016,
// section 4; the points 0, 1, -1, 1/2, -2 round less than their 2 in place of 1/2 (B. Barabasz et
// al., "Error analysis and improving the accuracy of Winograd convolution for deep neural
// networks", ACM Transactions on Mathematical Software 46(4), 2020). An image is cut into tiles of
// 4x4 outputs. With d the 6x6 inputs of a tile, g a kernel and matrices B, G, A of the points,
//
//   forward      y  = A^T [sum over in channels  (G g G^T) * (B^T d B)] A
//   data         dx = the same of dy with the kernels turned by 180 degrees, channels exchanged
//   weights      dg = G^T [sum over tiles  (B^T d B) * (A dy A^T)] G
//
// where * multiplies element by element: 36 matrix products, in panels of 32 output columns (those
// of y, dx and, for dg, in channels), so that a panel's transformed weights stay in a cache.
//
// With a stride of 2, outputs take even and odd lines and columns of the image by themselves: four
// images with a quarter of its pixels, its phases. The odd ones meet two of the three taps, the
// even ones one, so F(4x4, 2x2) does: 25 points where both are odd, 20 where one is, 16 where none
// is.
//
// Functions here are compiled for AVX-512; call them only where winograd_available().
#pragma once

#include <cstddef>
#include <cstdint>

namespace wellspring::ops::cpu {

bool winograd_available();

/// Channels of a panel; channels in and out are multiples of it.
inline constexpr int kWinogradPanel = 32;

/// Of results; padding is 1, and the images that come in have `stride` times their sides.
struct WinogradImages {
  std::int64_t batch = 1;
  int height = 4, width = 4;
  int stride = 1;  ///< or 2
  /// Into how many the images that come in are taken apart: every one has the results' sides.
  int phases() const { return stride * stride; }
  int tiles_down() const { return (height + 3) / 4; }
  int tiles_across() const { return (width + 3) / 4; }
  std::int64_t tiles() const { return batch * tiles_down() * tiles_across(); }
  /// Tiles are taken in groups of so many, the last being filled up with zeros.
  int group() const { return tiles() < 32 ? static_cast<int>((tiles() + 7) / 8 * 8) : 32; }
  std::int64_t groups() const { return (tiles() + group() - 1) / group(); }
};

/// Floats of the transformed tiles of one group, and of what a panel needs beside them.
std::size_t winograd_tiles(const WinogradImages& images, int channels);
std::size_t winograd_scratch(const WinogradImages& images);

/// tiles = B^T d B of one group of x, of phases() * channels; and of dy [batch, height, width,
/// channels].
void winograd_input(const WinogradImages& images, int channels, const float* x, std::int64_t group,
                    float* tiles);
void winograd_arriving(const WinogradImages& images, int channels, const float* dy,
                       std::int64_t group, float* tiles);
/// tiles = A dy A^T of one group of dy [batch, height, width, channels].
void winograd_gradient(const WinogradImages& images, int channels, const float* dy,
                       std::int64_t group, float* tiles);

/// What lies behind the sum of products.
struct WinogradEnd {
  const float* bias = nullptr;  ///< [out channels], or null
  bool relu = false;
};
/// Most groups at a time, forward and to the data: their tiles stay in the third-level cache, and
/// weights are transformed once for all of them.
inline constexpr int kGroupsAtOnce = 4;
/// Groups [first, end) whose transformed tiles lie in memory.
struct TileGroups {
  std::int64_t first = 0, end = 1;
};
/// A panel of y, as far as the groups go, from the transformed x. `scratch` is aligned to 64.
void winograd_forward(const WinogradImages& images, int in_channels, int out_channels,
                      TileGroups groups, const float* tiles, const float* w, int panel,
                      WinogradEnd end, float* y, float* scratch);
/// One of phases() * in channels / panel panels of dx, as far as the groups go, from dy transformed
/// by winograd_arriving.
void winograd_backward_data(const WinogradImages& images, int in_channels, int out_channels,
                            TileGroups groups, const float* tiles, const float* w, int panel,
                            float* dx, float* scratch);
/// One of as many panels of dw from x and the transformed dy of all groups, as of
/// winograd_gradient. dw [out, 3, 3, in] is overwritten.
void winograd_backward_weights(const WinogradImages& images, int in_channels, int out_channels,
                               const float* x, const float* tiles, int panel, float* dw,
                               float* scratch);

}  // namespace wellspring::ops::cpu
