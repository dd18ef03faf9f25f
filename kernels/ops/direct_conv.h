// Convolution of images with few channels by direct sums: the first layer of a network on a GPU.
// Matrix units multiply blocks of at least 8 channels, so cuDNN first pads such an image and
// converts it, which takes several times longer than the sums. Called by kernels/ops/conv2d.cpp;
// functors for host and device.
//
//   y[n,p,q,k]  = bias[k] + sum over r, s, c of x[n, p stride + r - padding, ..., c] w[k,r,s,c]
//   dw[k,r,s,c] = sum over n, p, q of x[n, p stride + r - padding, ..., c] dy[n,p,q,k]
//
// A thread computes a pack of output channels (kernels/runtime/pack.h). Sums are in f32, in an
// order that does not depend on the team's size.
#pragma once

#include "kernels/ops/ops.h"
#include "kernels/random/math.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"

#include <cstdint>
#include <memory>

namespace wellspring::ops {

/// True for a first layer (no gradient of the input) with at most 4 input channels, 3x3 weights and
/// 8 to 64 output channels, a multiple of 8.
bool direct_conv_applies(const Conv2dSpec& spec);
/// Plans a convolution to which direct_conv_applies().
std::unique_ptr<Conv2d> plan_direct_conv(const Conv2dSpec& spec);

/// Shape of a direct convolution. Teams take `rows` output rows of a sample.
struct DirectConvShape {
  int height, width, channels;
  int out_height, out_width, packs;  ///< packs of output channels
  int stride, padding;
  int rows;

  static constexpr int kKernel = 3;
  /// Weights per output channel; weight (r, s, c) has the index (3 r + s) channels + c.
  WS_INLINE int taps() const { return kKernel * kKernel * channels; }
  /// Sums of a pack of output channels in the gradient of the weights: slot = tap * packs + pack.
  WS_INLINE int slots() const { return taps() * packs; }
  WS_INLINE int blocks() const { return (out_height + rows - 1) / rows; }
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

/// Adds value * factors to the sums.
WS_INLINE void add_product(Pack& sums, float value, const Pack& factors) {
  for (int k = 0; k < kPack; ++k) sums.v[k] = math::fma(value, factors.v[k], sums.v[k]);
}

template <class T>
struct DirectConvForward {
  DirectConvShape shape;
  const T* x;
  const T* w;
  const float* bias;  ///< may be null
  T* y;
  Activation activation;

  static constexpr LaunchBound kLaunchBound = {256, 3};

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t task) const {
    const int packs = shape.packs, taps = shape.taps();
    Pack* weights = team.template scratch<Pack>(static_cast<std::size_t>(shape.slots()));
    for (int slot = team.rank(); slot < shape.slots(); slot += team.size()) {
      const T* first = w + slot % packs * kPack * taps + slot / packs;
      for (int k = 0; k < kPack; ++k) weights[slot].v[k] = static_cast<float>(first[k * taps]);
    }
    team.sync();
    const DirectConvRows own(shape, task);
    const int line = shape.out_width * packs;
    for (int i = team.rank(); i < (own.end - own.begin) * line; i += team.size()) {
      const int row = own.begin + i / line, column = i % line / packs, pack = i % packs;
      Pack sums = bias != nullptr ? load_pack(bias + pack * kPack) : Pack{};
      add_window(sums, own.sample, row, column, weights + pack);
      if (activation == Activation::relu) {
        // Written so that NaN propagates and is detected.
        for (float& sum : sums.v) sum = sum < 0 ? 0.0f : sum;
      }
      const std::int64_t pixel = (own.sample * shape.out_height + row) * shape.out_width + column;
      store_pack(y + (pixel * packs + pack) * kPack, sums);
    }
  }

 private:
  WS_INLINE void add_window(Pack& sums, std::int64_t sample, int row, int column,
                            const Pack* weights) const {
    const int c = shape.channels;
    for (int r = 0; r < shape.kKernel; ++r) {
      const int h = row * shape.stride + r - shape.padding;
      if (h < 0 || h >= shape.height) continue;
      const T* line = x + (sample * shape.height + h) * shape.width * c;
      for (int s = 0; s < shape.kKernel; ++s) {
        const int at = column * shape.stride + s - shape.padding;
        if (at < 0 || at >= shape.width) continue;
        const Pack* weight = weights + (r * shape.kKernel + s) * c * shape.packs;
        for (int k = 0; k < c; ++k) {
          add_product(sums, static_cast<float>(line[at * c + k]), weight[k * shape.packs]);
        }
      }
    }
  }
};

/// Lanes of a team that share the columns of a row, so that about 256 threads have work.
WS_INLINE constexpr int direct_conv_lanes(int slots) {
  return slots >= 256 ? 1 : 256 / slots;
}

/// partials [tasks, slots]: the gradient of the weights over the rows of each team.
template <class T>
struct DirectConvWeightRows {
  DirectConvShape shape;
  const T* x;
  const T* dy;
  Pack* partials;

  static constexpr LaunchBound kLaunchBound = {256, 4};

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t task) const {
    const int slots = shape.slots(), lanes = direct_conv_lanes(slots);
    Pack* lane_sums = team.template scratch<Pack>(static_cast<std::size_t>(lanes * slots));
    const DirectConvRows own(shape, task);
    for (int i = team.rank(); i < lanes * slots; i += team.size()) {
      lane_sums[i] = sum_rows(own, i % slots, i / slots, lanes);
    }
    team.sync();
    Pack* to = partials + task * slots;
    for (int slot = team.rank(); slot < slots; slot += team.size()) {
      Pack sum = lane_sums[slot];
      for (int lane = 1; lane < lanes; ++lane) {
        for (int k = 0; k < kPack; ++k) sum.v[k] += lane_sums[lane * slots + slot].v[k];
      }
      to[slot] = sum;
    }
  }

 private:
  /// The sum over every lanes-th column that this weight multiplies inside the image.
  WS_INLINE Pack sum_rows(const DirectConvRows& own, int slot, int lane, int lanes) const {
    const int c = shape.channels, stride = shape.stride, packs = shape.packs;
    const int tap = slot / packs, s = tap / c % shape.kKernel, r = tap / c / shape.kKernel;
    const int shift = s - shape.padding;
    const int first = shift < 0 ? (stride - 1 - shift) / stride : 0;
    const int inside = shape.width - shift;  // columns * stride must be smaller
    const int last = inside <= 0 ? 0 : (inside - 1) / stride + 1;
    const int end = last < shape.out_width ? last : shape.out_width;
    Pack sum = {};
    for (int row = own.begin; row < own.end; ++row) {
      const int h = row * stride + r - shape.padding;
      if (h < 0 || h >= shape.height) continue;
      const T* line = x + ((own.sample * shape.height + h) * shape.width + shift) * c + tap % c;
      const T* gradient =
          dy +
          ((own.sample * shape.out_height + row) * shape.out_width * packs + slot % packs) * kPack;
      for (int column = first + lane; column < end; column += lanes) {
        add_product(sum, static_cast<float>(line[column * stride * c]),
                    load_pack(gradient + column * packs * kPack));
      }
    }
    return sum;
  }
};

/// dw from the partial sums of all tasks; one team per slot.
template <class T>
struct DirectConvWeightTotal {
  DirectConvShape shape;
  const Pack* partials;
  std::int64_t tasks;
  T* dw;

  static constexpr int kLanes = 64;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t slot) const {
    Pack* lanes = team.template scratch<Pack>(kLanes);
    const int slots = shape.slots(), packs = shape.packs, taps = shape.taps();
    for (int lane = team.rank(); lane < kLanes; lane += team.size()) {
      Pack sum = {};
      for (std::int64_t task = lane; task < tasks; task += kLanes) {
        add(sum, partials[task * slots + slot]);
      }
      lanes[lane] = sum;
    }
    for (int half = kLanes / 2; half > 0; half /= 2) {
      team.sync();
      for (int lane = team.rank(); lane < half; lane += team.size()) {
        add(lanes[lane], lanes[lane + half]);
      }
    }
    team.sync();
    T* to = dw + slot % packs * kPack * taps + slot / packs;
    for (int k = team.rank(); k < kPack; k += team.size()) to[k * taps] = T(lanes[0].v[k]);
  }

 private:
  WS_INLINE static void add(Pack& sum, const Pack& other) {
    for (int k = 0; k < kPack; ++k) sum.v[k] += other.v[k];
  }
};

}  // namespace wellspring::ops
