// Nearest-neighbour upsampling by 2: [N,H,W,C] -> [N,2H,2W,C]. Called by train/network; host only.
// The functors run on host and device.
#pragma once

#include "kernels/ops/channel_loop.h"
#include "kernels/ops/ops.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/stream.h"

#include <cstdint>

namespace wellspring::ops {

/// Copies each pixel to a square of four. `spec` describes x; its window is ignored.
void upsample_forward(Stream& stream, const PoolSpec& spec, const void* x, void* y);
/// Sums the gradients of the four pixels in f32, row by row.
void upsample_backward(Stream& stream, const PoolSpec& spec, const void* dy, void* dx);

/// Index of channel k of a pixel of the small image, and of the first of its four copies.
struct UpsampleIndices {
  std::int64_t small, large, line;  ///< line: channels in a row of the large image
  WS_INLINE UpsampleIndices(const ImageRows& in, std::int64_t sample, int row, int column, int k)
      : line(std::int64_t{2} * in.columns * in.channels) {
    const std::int64_t above = sample * in.height + row;
    small = (above * in.columns + column) * in.channels + k;
    large = 2 * above * line + std::int64_t{2} * column * in.channels + k;
  }
};

/// A team reads some rows of the small image.
template <class T>
struct UpsampleForward {
  const T* x;
  T* y;
  ImageRows in;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const UpsampleForward self = *this;
    in.visit(team, index,
             [=]<int n>(Width<n>, std::int64_t sample, int row, int column, int k) WS_INLINED {
               const UpsampleIndices at(self.in, sample, row, column, k);
               const Values<n> value = load_values<n>(self.x + at.small);
               T* above = self.y + at.large;
               T* below = above + at.line;
               store_values(above, value);
               store_values(above + self.in.channels, value);
               store_values(below, value);
               store_values(below + self.in.channels, value);
             });
  }
};

/// A team writes some rows of the small image's gradient.
template <class T>
struct UpsampleBackward {
  const T* dy;
  T* dx;
  ImageRows in;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const UpsampleBackward self = *this;
    in.visit(team, index,
             [=]<int n>(Width<n>, std::int64_t sample, int row, int column, int k) WS_INLINED {
               const UpsampleIndices at(self.in, sample, row, column, k);
               const T* above = self.dy + at.large;
               const T* below = above + at.line;
               const Values<n> four[] = {
                   load_values<n>(above), load_values<n>(above + self.in.channels),
                   load_values<n>(below), load_values<n>(below + self.in.channels)};
               Values<n> sum;
               for_values<n>([&](int j) WS_INLINED {
                 sum.v[j] = four[0].v[j] + four[1].v[j] + four[2].v[j] + four[3].v[j];
               });
               store_values(self.dx + at.small, sum);
             });
  }
};

}  // namespace wellspring::ops
