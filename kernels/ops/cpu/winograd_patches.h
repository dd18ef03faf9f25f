// Offsets of the pixels that a tile of Winograd's algorithm reads or writes. Called only by
// kernels/ops/cpu/winograd_kernels.h; host only.
#pragma once

#include "kernels/ops/cpu/vector.h"
#include "kernels/ops/cpu/winograd.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops::cpu::WS_VECTORS {

/// Every `step`-th pixel of every `step`-th line of an image, starting at (row, column).
struct Plane {
  explicit Plane(int every = 1, int phase = 0) : step(every), row(phase / 2), column(phase % 2) {}
  int step, row, column;
};

/// Offsets of the pixels in a square around a tile of a plane, and masks of those inside the plane.
/// The square begins `before` pixels before the tile.
template <int kWidth>
struct Patch {
  std::ptrdiff_t offset[kWidth * kWidth];  ///< first channel of a pixel; 0 outside the image
  std::uint16_t inside[kWidth * kWidth];   ///< mask of a vector of channels: all or none

  void find(const WinogradImages& images, Plane plane, int channels, int before,
            std::int64_t index) {
    const std::int64_t line = index / images.tiles_across();
    const int left = 4 * static_cast<int>(index % images.tiles_across()) - before;
    const int top = 4 * static_cast<int>(line % images.tiles_down()) - before;
    const std::ptrdiff_t image = line / images.tiles_down() * images.height;
    const bool exists = index < images.tiles();
    const std::ptrdiff_t across = std::ptrdiff_t{plane.step} * channels;
    for (int i = 0; i < kWidth; ++i) {
      const bool row = exists && top + i >= 0 && top + i < images.height;
      const std::ptrdiff_t down = plane.step * (image + top + i) + plane.row;
      const std::ptrdiff_t begin =
          (down * images.width + left) * across + std::ptrdiff_t{plane.column} * channels;
      for (int j = 0; j < kWidth; ++j) {
        const bool is = row && left + j >= 0 && left + j < images.width;
        inside[i * kWidth + j] = is ? 0xffff : 0;
        offset[i * kWidth + j] = is ? begin + j * across : 0;
      }
    }
  }
  /// Prefetches the last rows and columns; the tiles above and to the left have loaded the rest.
  void ask_for_new(const float* x) const {
#pragma GCC unroll 4
    for (int i = kWidth - 4; i < kWidth; ++i)
#pragma GCC unroll 4
      for (int j = kWidth - 4; j < kWidth; ++j) ask_for(x + offset[i * kWidth + j]);
  }
};

/// Calls body(t, patch of tile t, patch of the next tile) for the tiles of one group.
template <int kWidth, class Body>
inline void each_tile(const WinogradImages& images, Plane plane, int channels, int before,
                      std::int64_t group, Body body) {
  const std::int64_t first = group * images.group();
  Patch<kWidth> patches[2];
  patches[0].find(images, plane, channels, before, first);
  for (int t = 0; t < images.group(); ++t) {
    Patch<kWidth>& next = patches[(t + 1) % 2];
    next.find(images, plane, channels, before, first + t + 1);
    body(t, patches[t % 2], next);
  }
}

}  // namespace wellspring::ops::cpu::WS_VECTORS
