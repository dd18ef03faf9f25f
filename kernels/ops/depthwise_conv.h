// Depthwise 2-D convolution: each channel has its own kernel. Stride 1; zero padding keeps the
// image size. Called by train/network; host only. The functors run on host and device.
//
//   y[n,p,q,c]  = bias[c] + sum over r, s of x[n, p + r - k/2, q + s - k/2, c] w[c,r,s]
//   dw[c,r,s]   = sum over n, p, q of x[n, p + r - k/2, q + s - k/2, c] dy[n,p,q,c]
//
// dx is the convolution of dy with the rotated kernel. A member computes a few neighbouring columns
// of one pack of channels, so that it reads each input and weight once for all of them. Sums are in
// f32, in an order that does not depend on the team's size.
#pragma once

#include "kernels/ops/channel_loop.h"
#include "kernels/random/math.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

/// x, y [batch, height, width, channels]; w [channels, kernel, kernel] in the compute type.
struct DepthwiseConvSpec {
  std::int64_t batch = 1;
  int height = 1, width = 1, channels = 1;
  int kernel = 7;  ///< 3, 5 or 7
  DType compute = DType::f32;
};
/// `bias` [channels] may be null.
void depthwise_conv_forward(Stream& stream, const DepthwiseConvSpec& spec, const void* x,
                            const void* w, const float* bias, void* y);
void depthwise_conv_backward_data(Stream& stream, const DepthwiseConvSpec& spec, const void* dy,
                                  const void* w, void* dx);
/// Computes dw in the compute type and dbias in f32 (may be null). `partials` holds
/// depthwise_conv_partials(spec) floats.
void depthwise_conv_backward_weights(Stream& stream, const DepthwiseConvSpec& spec, const void* x,
                                     const void* dy, void* dw, float* dbias, float* partials);
std::size_t depthwise_conv_partials(const DepthwiseConvSpec& spec);

/// Images and their division into blocks of channels and groups of columns.
struct DepthwiseShape {
  static constexpr int kBlock = 64;   ///< channels per team
  static constexpr int kColumns = 4;  ///< columns that a member computes together

  std::int64_t batch;
  int height, width, channels;

  WS_INLINE constexpr int blocks() const { return (channels + kBlock - 1) / kBlock; }
  WS_INLINE constexpr int groups() const { return (width + kColumns - 1) / kColumns; }
  /// Channels of a block.
  WS_INLINE constexpr int channels_of(int block) const {
    const int left = channels - block * kBlock;
    return left < kBlock ? left : kBlock;
  }
};

/// Calls use(value, column, tap) for the values in an image line that contribute to the kColumns
/// outputs starting at `first`. `line` points to the channels of column 0.
template <int kernel, int n, class T, class Use>
WS_INLINE void meet_columns(const DepthwiseShape& shape, const T* line, int first, Use use) {
  constexpr int kColumns = DepthwiseShape::kColumns;
  WS_UNROLL(10)
  for (int j = 0; j < kernel + kColumns - 1; ++j) {
    const int q = first + j - kernel / 2;
    if (q < 0 || q >= shape.width) continue;
    const Values<n> value = load_values<n>(line + std::int64_t{q} * shape.channels);
    WS_UNROLL(4)
    for (int column = 0; column < kColumns; ++column) {
      if (j >= column && j - column < kernel) use(value, column, j - column);
    }
  }
}

template <int n>
WS_INLINE void add_products(Values<n>& sums, const Values<n>& a, const Values<n>& b) {
  for (int k = 0; k < n; ++k) sums.v[k] = math::fma(a.v[k], b.v[k], sums.v[k]);
}

/// One team computes some rows of one sample for one block of channels.
template <class T, int kernel>
struct DepthwiseConvApply {
  static constexpr int kTaps = kernel * kernel;
  static constexpr std::size_t kScratch = kTaps * DepthwiseShape::kBlock + kPack;  ///< floats

  const T* x;
  const T* w;
  const float* bias;  ///< may be null
  T* y;
  DepthwiseShape shape;
  int rows;      ///< rows per team
  bool rotated;  ///< rotates the kernel by half a turn

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t task) const {
    const int block = static_cast<int>(task % shape.blocks()),
              strips = (shape.height + rows - 1) / rows;
    const std::int64_t strip = task / shape.blocks(), sample = strip / strips;
    const int begin = static_cast<int>(strip % strips) * rows;
    const int height = shape.height - begin < rows ? shape.height - begin : rows;
    const int first = block * DepthwiseShape::kBlock, own = shape.channels_of(block);
    float* weights = team.template scratch<float>(kScratch);  // [taps, kBlock]
    for (int i = team.rank(); i < kTaps * own; i += team.size()) {
      const int tap = rotated ? kTaps - 1 - i % kTaps : i % kTaps;
      weights[tap * DepthwiseShape::kBlock + i / kTaps] =
          static_cast<float>(w[std::int64_t{first} * kTaps + i]);
    }
    team.sync();
    decide(shape.channels % kPack == 0, [&]<class Packed>(Packed) WS_INLINED {
      constexpr int n = Packed::value ? kPack : 1;
      const int units = own / n, line = shape.groups() * units;
      for (int i = team.rank(); i < height * line; i += team.size()) {
        compute<n, LoneTeam<Team>>(weights, weights + kTaps * DepthwiseShape::kBlock, sample,
                                   begin + i / line, i % line / units * DepthwiseShape::kColumns,
                                   first, i % units * n);
      }
    });
  }

 private:
  /// Output columns starting at `column`, for n channels starting at first + k. A lone member also
  /// stores the sums in `staged`: f32 stores let gcc see that the sums fit into vectors.
  template <int n, bool alone>
  WS_INLINE void compute(const float* weights, [[maybe_unused]] float* staged, std::int64_t sample,
                         int row, int column, int first, int k) const {
    constexpr int kColumns = DepthwiseShape::kColumns;
    Values<n> sums[kColumns];
    for (Values<n>& sum : sums)
      sum = bias != nullptr ? load_values<n>(bias + first + k) : Values<n>{};
    const std::int64_t stride = std::int64_t{shape.width} * shape.channels;
    const std::int64_t image = sample * shape.height * stride + first + k;
    for (int r = 0; r < kernel; ++r) {
      const int h = row + r - kernel / 2;
      if (h < 0 || h >= shape.height) continue;
      Values<n> factors[kernel];
      WS_UNROLL(7)
      for (int s = 0; s < kernel; ++s)
        factors[s] = load_values<n>(weights + (r * kernel + s) * DepthwiseShape::kBlock + k);
      meet_columns<kernel, n>(shape, x + image + h * stride, column,
                              [&](const Values<n>& value, int c, int s)
                                  WS_INLINED { add_products(sums[c], value, factors[s]); });
    }
    T* to = y + image + row * stride + std::int64_t{column} * shape.channels;
    WS_UNROLL(4)
    for (int c = 0; c < kColumns; ++c) {
      if (column + c >= shape.width) continue;
      if constexpr (alone) store_values(staged, sums[c]);
      store_values(to + std::int64_t{c} * shape.channels, sums[c]);
    }
  }
};

/// parts [chunks, channels, taps]: the sums for dw over a chunk of the rows of all samples. One
/// team per chunk and block of channels. A member adds one row of taps for every fourth image row.
template <class T, int kernel>
struct DepthwiseConvWeights {
  static constexpr LaunchBound kLaunchBound = {kChunkTeam, 2};  // registers without spills
  static constexpr int kTaps = kernel * kernel, kLanes = 4;
  static constexpr std::size_t kScratch = kLanes * kTaps * DepthwiseShape::kBlock;  ///< floats

  const T* x;
  const T* dy;
  float* parts;
  DepthwiseShape shape;
  std::int64_t rows;  ///< rows per chunk

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t task) const {
    constexpr int kBlock = DepthwiseShape::kBlock;
    const int block = static_cast<int>(task % shape.blocks());
    const std::int64_t chunk = task / shape.blocks(), all = shape.batch * shape.height;
    const std::int64_t begin = chunk * rows, end = begin + rows < all ? begin + rows : all;
    const int first = block * kBlock, own = shape.channels_of(block);
    float* slots = team.template scratch<float>(kScratch);  // [lanes, taps, kBlock]
    decide(shape.channels % kPack == 0, [&]<class Packed>(Packed) WS_INLINED {
      constexpr int n = Packed::value ? kPack : 1;
      const int units = own / n;
      for (int i = team.rank(); i < kLanes * kernel * units; i += team.size()) {
        const int k = i % units * n, r = i / units % kernel, lane = i / units / kernel;
        add_row_of_taps<n>(begin + lane, end, r, first + k,
                           slots + (lane * kTaps + r * kernel) * kBlock + k);
      }
    });
    team.sync();
    for (int i = team.rank(); i < kTaps * own; i += team.size()) {
      const float* from = slots + i % kTaps * kBlock + i / kTaps;
      float sum = from[0];
      for (int lane = 1; lane < kLanes; ++lane) sum += from[lane * kTaps * kBlock];
      parts[(chunk * shape.channels + first) * kTaps + i] = sum;
    }
  }

 private:
  /// Writes the sums of taps (r, 0), (r, 1), ... over the rows begin, begin + kLanes, ...
  template <int n>
  WS_INLINE void add_row_of_taps(std::int64_t begin, std::int64_t end, int r, int channel,
                                 float* to) const {
    constexpr int kColumns = DepthwiseShape::kColumns;
    const std::int64_t stride = std::int64_t{shape.width} * shape.channels;
    Values<n> sums[kernel] = {};
    for (std::int64_t row = begin; row < end; row += kLanes) {
      const int shift = r - kernel / 2, h = static_cast<int>(row % shape.height) + shift;
      if (h < 0 || h >= shape.height) continue;
      const T *arriving = dy + row * stride + channel, *line = x + (row + shift) * stride + channel;
      for (int column = 0; column < shape.width; column += kColumns) {
        Values<n> gradients[kColumns];
        WS_UNROLL(4)
        for (int c = 0; c < kColumns; ++c) {
          gradients[c] = column + c < shape.width
                             ? load_values<n>(arriving + std::int64_t{column + c} * shape.channels)
                             : Values<n>{};
        }
        meet_columns<kernel, n>(shape, line, column,
                                [&](const Values<n>& value, int c, int s)
                                    WS_INLINED { add_products(sums[s], value, gradients[c]); });
      }
    }
    WS_UNROLL(7)
    for (int s = 0; s < kernel; ++s) store_values(to + s * DepthwiseShape::kBlock, sums[s]);
  }
};

}  // namespace wellspring::ops
