// Convolution of images with few channels by direct sums: the first layer of a network on a GPU.
// Matrix units multiply blocks of at least 8 channels, so cuDNN first pads such an image and
// converts it, which takes several times longer than the sums. Called by kernels/ops/conv2d.cpp.
// The functors run on host and device.
//
//   y[n,p,q,k]  = bias[k] + sum over r, s, c of x[n, p stride + r - padding, ..., c] w[k,r,s,c]
//   dw[k,r,s,c] = sum over n, p, q of x[n, p stride + r - padding, ..., c] dy[n,p,q,k]
//
// A team copies the input of some output rows to scratch, in f32 and with zeros around the image,
// so that threads wait for memory once and need no bounds checks. Sums are in f32; their order does
// not depend on the team's size.
#pragma once

#include "kernels/ops/ops.h"
#include "kernels/random/math.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"

#include <cstdint>
#include <memory>

namespace wellspring::ops {

/// True for a first layer (no gradient of the input) with at most 4 input channels, 3x3 weights,
/// stride 1, and 8 to 64 output channels, in multiples of 8.
bool direct_conv_applies(const Conv2dSpec& spec);
/// Plans a convolution for which direct_conv_applies() is true.
std::unique_ptr<Conv2d> plan_direct_conv(const Conv2dSpec& spec);

/// Shape of a direct convolution.
struct DirectConvShape {
  int height, width, channels;
  int out_height, out_width, outputs;  ///< outputs: channels of y
  int padding;
  int rows;       ///< output rows per team
  int tile_rows;  ///< output rows whose input a team holds at once

  static constexpr int kKernel = 3;
  static constexpr int kColumns = 4;  ///< output columns that a thread computes together
  /// Weights per output channel; weight (r, s, c) has the index (3 r + s) channels + c.
  WS_INLINE constexpr int taps() const { return kKernel * kKernel * channels; }
  WS_INLINE constexpr int packs() const { return outputs / kPack; }
  WS_INLINE constexpr int column_groups() const { return (out_width + kColumns - 1) / kColumns; }
  WS_INLINE constexpr int blocks() const { return (out_height + rows - 1) / rows; }
  /// Floats per row of a tile.
  WS_INLINE constexpr int tile_line() const {
    return (column_groups() * kColumns + kKernel - 1) * channels;
  }
  WS_INLINE constexpr int tile_floats() const { return (tile_rows + kKernel - 1) * tile_line(); }
};

/// The output rows [begin, end) of one sample that team `task` takes.
struct DirectConvRows {
  WS_INLINE DirectConvRows(const DirectConvShape& shape, std::int64_t task)
      : sample(task / shape.blocks()),
        begin(static_cast<int>(task % shape.blocks()) * shape.rows),
        end(begin + shape.rows < shape.out_height ? begin + shape.rows : shape.out_height) {}
  std::int64_t sample;
  int begin, end;
};

/// Fills the tile for the output rows that begin with `row`. All members call it.
template <class Team, class T>
WS_HD void load_tile(Team& team, const DirectConvShape& shape, const T* x, std::int64_t sample,
                     int row, float* tile) {
  const int line = shape.tile_line(), image_line = shape.width * shape.channels;
  const T* image = x + sample * shape.height * image_line;
  WS_UNROLL_LOADS
  for (int i = team.rank(); i < shape.tile_floats(); i += team.size()) {
    const int h = row + i / line - shape.padding, at = i % line - shape.padding * shape.channels;
    const bool inside = (h >= 0) & (h < shape.height) & (at >= 0) & (at < image_line);
    tile[i] = inside ? static_cast<float>(image[h * image_line + at]) : 0.0f;
  }
  team.sync();
}

/// Adds value * factors to the sums.
WS_INLINE void add_product(Pack& sums, float value, const Pack& factors) {
  for (int k = 0; k < kPack; ++k) sums.v[k] = math::fma(value, factors.v[k], sums.v[k]);
}

/// A thread computes a pack of output channels for kColumns neighbouring pixels.
template <class T>
struct DirectConvForward {
  DirectConvShape shape;
  const T* x;
  const T* w;
  const float* bias;  ///< may be null
  T* y;
  Activation activation;

  static constexpr LaunchBound kLaunchBound = {128, 4};
  static constexpr std::size_t scratch_packs(const DirectConvShape& shape) {
    return static_cast<std::size_t>((shape.taps() * shape.outputs + shape.tile_floats()) / kPack +
                                    1);
  }

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t task) const {
    const int outputs = shape.outputs, taps = shape.taps(), packs = shape.packs();
    Pack* scratch = team.template scratch<Pack>(scratch_packs(shape));
    auto* weights = reinterpret_cast<float*>(scratch);  // [taps, outputs]
    float* tile = weights + taps * outputs;
    for (int i = team.rank(); i < taps * outputs; i += team.size()) {
      weights[i % taps * outputs + i / taps] = static_cast<float>(w[i]);
    }
    const DirectConvRows own(shape, task);
    load_tile(team, shape, x, own.sample, own.begin, tile);
    const int line = shape.column_groups() * packs;
    for (int i = team.rank(); i < (own.end - own.begin) * line; i += team.size()) {
      const int row = i / line, column = i % line / packs * shape.kColumns, pack = i % packs;
      Pack sums[DirectConvShape::kColumns];
      const Pack first = bias != nullptr ? load_pack(bias + pack * kPack) : Pack{};
      for (Pack& sum : sums) sum = first;
      add_windows(sums, tile + row * shape.tile_line() + column * shape.channels,
                  weights + pack * kPack);
      const std::int64_t pixel =
          (own.sample * shape.out_height + own.begin + row) * shape.out_width + column;
      store(sums, y + pixel * outputs + pack * kPack, shape.out_width - column);
    }
  }

 private:
  WS_INLINE void add_windows(Pack* sums, const float* tile, const float* weights) const {
    constexpr int kColumns = DirectConvShape::kColumns, kKernel = DirectConvShape::kKernel;
    const int c = shape.channels, outputs = shape.outputs;
    for (int r = 0; r < kKernel; ++r) {
      for (int k = 0; k < c; ++k) {
        float value[kColumns + kKernel - 1];
        for (int i = 0; i < kColumns + kKernel - 1; ++i) {
          value[i] = tile[r * shape.tile_line() + i * c + k];
        }
        for (int s = 0; s < kKernel; ++s) {
          const Pack weight = load_pack(weights + ((r * kKernel + s) * c + k) * outputs);
          for (int i = 0; i < kColumns; ++i) add_product(sums[i], value[i + s], weight);
        }
      }
    }
  }

  /// Writes the first `count` sums.
  WS_INLINE void store(Pack* sums, T* to, int count) const {
    for (int i = 0; i < DirectConvShape::kColumns; ++i) {
      if (activation == Activation::relu) {
        // Written so that NaN propagates and is detected.
        for (float& sum : sums[i].v) sum = sum < 0 ? 0.0f : sum;
      }
      if (i < count) store_pack(to + i * shape.outputs, sums[i]);
    }
  }
};

/// partials [tasks, taps, packs]: the gradient of the weights over the rows of each team. A unit is
/// (r, c, pack) and has three sums, one per s. The lanes of a unit share the columns of a tile.
template <class T>
struct DirectConvWeightRows {
  DirectConvShape shape;
  const T* x;
  const T* dy;
  Pack* partials;

  static constexpr LaunchBound kLaunchBound = {256, 2};
  static constexpr int kMembers = 256;
  static constexpr int kSegment = 8;  ///< columns that a lane takes at a time

  static constexpr int units(const DirectConvShape& shape) {
    return shape.kKernel * shape.channels * shape.packs();
  }
  static constexpr int lanes(const DirectConvShape& shape) {
    return units(shape) < kMembers ? kMembers / units(shape) : 1;
  }
  static constexpr std::size_t scratch_packs(const DirectConvShape& shape) {
    return static_cast<std::size_t>(lanes(shape) * units(shape) * shape.kKernel +
                                    shape.tile_floats() / kPack + 1);
  }

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t task) const {
    constexpr int kKernel = DirectConvShape::kKernel;
    const int units = DirectConvWeightRows::units(shape),
              lanes = DirectConvWeightRows::lanes(shape);
    Pack* sums = team.template scratch<Pack>(scratch_packs(shape));  // [lanes, units, s]
    auto* tile = reinterpret_cast<float*>(sums + lanes * units * kKernel);
    for (int i = team.rank(); i < lanes * units * kKernel; i += team.size()) sums[i] = {};
    const DirectConvRows own(shape, task);
    for (int row = own.begin; row < own.end; row += shape.tile_rows) {
      team.sync();  // all members have read the previous tile
      load_tile(team, shape, x, own.sample, row, tile);
      const int rows = own.end - row < shape.tile_rows ? own.end - row : shape.tile_rows;
      for (int i = team.rank(); i < lanes * units; i += team.size()) {
        add_tile(sums + i * kKernel, tile, own.sample, row, rows, i % units, i / units, lanes);
      }
    }
    team.sync();
    // Slot (tap, pack) of the result belongs to unit (r, c, pack) and s.
    const int packs = shape.packs(), slots = shape.taps() * packs;
    Pack* to = partials + task * slots;
    for (int slot = team.rank(); slot < slots; slot += team.size()) {
      const int tap = slot / packs, c = tap % shape.channels, s = tap / shape.channels % kKernel,
                r = tap / shape.channels / kKernel;
      const int from = ((r * shape.channels + c) * packs + slot % packs) * kKernel + s;
      Pack sum = sums[from];
      for (int lane = 1; lane < lanes; ++lane) sum = sum + sums[lane * units * kKernel + from];
      to[slot] = sum;
    }
  }

 private:
  WS_INLINE void add_tile(Pack* sums, const float* tile, std::int64_t sample, int first_row,
                          int rows, int unit, int lane, int lanes) const {
    const int channels = shape.channels, packs = shape.packs(), outputs = shape.outputs;
    const int c = unit / packs % channels, r = unit / packs / channels;
    const int segments = (shape.out_width + kSegment - 1) / kSegment;
    Pack sum0 = sums[0], sum1 = sums[1], sum2 = sums[2];
    for (int i = lane; i < rows * segments; i += lanes) {
      const int row = i / segments, column = i % segments * kSegment;
      const int left = shape.out_width - column, count = left < kSegment ? left : kSegment;
      const float* line = tile + (row + r) * shape.tile_line() + column * channels + c;
      const T* gradient =
          dy +
          ((sample * shape.out_height + first_row + row) * shape.out_width + column) * outputs +
          unit % packs * kPack;
      float value0 = line[0], value1 = line[channels];
      WS_UNROLL_LOADS
      for (int k = 0; k < count; ++k) {
        const float value2 = line[(k + 2) * channels];
        const Pack factors = load_pack(gradient + k * outputs);
        add_product(sum0, value0, factors);
        add_product(sum1, value1, factors);
        add_product(sum2, value2, factors);
        value0 = value1;
        value1 = value2;
      }
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
  }
};

}  // namespace wellspring::ops
