// A network's last dense layer, its loss and the gradients of both, for one sample per team. The
// general path takes five launches: three products, the loss, and the sum of the bias gradient.
// Called by kernels/ops/output_layer.cpp. The functor runs on host and device.
#pragma once

#include "kernels/ops/loss.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/training.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/team.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

/// With x the layer's input, w [outputs, in] and b its parameters, and g the gradient of the loss:
///
///   y  = w x + b
///   dx = w^T g,  dw = g x^T,  db = g
///
/// dw and db are parts of sums over the batch. An output is the sum of kLanes lanes; lane l adds
/// the packs l, l + kLanes, ... of its products in order. A sum of n terms incurs about n / kLanes
/// + kLanes rounding errors.
template <class T>
struct OutputLayerLoss {
  static constexpr int kLanes = 16;
  static constexpr LaunchBound kLaunchBound = {128};

  OutputLayer layer;
  SoftmaxCrossEntropy<T> loss;

  /// Floats of scratch in addition to the loss's own: x, and the lanes of the outputs.
  static constexpr std::size_t scratch_floats(int in, int outputs) {
    return static_cast<std::size_t>(in + kLanes * outputs);
  }

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    const int in = layer.in, outputs = loss.rows.head.outputs, packs = in / kPack;
    float* const x = team.template scratch<float>(static_cast<std::size_t>(in));
    float* const lanes = team.template scratch<float>(static_cast<std::size_t>(kLanes * outputs));
    const T* const w = static_cast<const T*>(layer.w);
    const T* const own = static_cast<const T*>(layer.x) + row * in;
    for (int p = team.rank(); p < packs; p += team.size())
      store_pack(x + p * kPack, load_pack(own + p * kPack));
    team.sync();
    for (int task = team.rank(); task < kLanes * outputs; task += team.size()) {
      const int output = task / kLanes;
      float sum = 0;
      for (int p = task % kLanes; p < packs; p += kLanes) {
        const Pack weight = load_pack(w + output * in + p * kPack),
                   value = load_pack(x + p * kPack);
        for (int k = 0; k < kPack; ++k) sum += weight.v[k] * value.v[k];
      }
      lanes[task] = sum;
    }
    team.sync();
    float* const y = layer.outputs + row * outputs;
    for (int output = team.rank(); output < outputs; output += team.size()) {
      float sum = 0;
      for (int l = 0; l < kLanes; ++l) sum += lanes[output * kLanes + l];
      y[output] = layer.bias != nullptr ? sum + layer.bias[output] : sum;
    }
    team.sync();
    loss(team, row);
    team.sync();
    const T* const gradient = loss.rows.own_gradient(row);
    for (int output = team.rank(); output < outputs; output += team.size())
      lanes[output] = static_cast<float>(gradient[output]);
    team.sync();
    write_gradients(team, row, x, lanes);
  }

 private:
  /// g: [outputs]
  template <class Team>
  WS_HD void write_gradients(Team& team, std::int64_t row, const float* x, const float* g) const {
    const int in = layer.in, outputs = loss.rows.head.outputs, packs = in / kPack;
    const T* const w = static_cast<const T*>(layer.w);
    if (layer.dx != nullptr) {
      T* const dx = static_cast<T*>(layer.dx) + row * in;
      for (int p = team.rank(); p < packs; p += team.size()) {
        Pack sum = {};
        for (int output = 0; output < outputs; ++output) {
          const Pack weight = load_pack(w + output * in + p * kPack);
          for (int k = 0; k < kPack; ++k) sum.v[k] += g[output] * weight.v[k];
        }
        store_pack(dx + p * kPack, sum);
      }
    }
    if (layer.weight_parts == nullptr) return;
    float* const parts = layer.weight_parts + row * outputs * in;
    for (int p = team.rank(); p < outputs * packs; p += team.size()) {
      Pack product = load_pack(x + p % packs * kPack);
      for (int k = 0; k < kPack; ++k) product.v[k] *= g[p / packs];
      store_pack(parts + p * kPack, product);
    }
    for (int output = team.rank(); output < outputs; output += team.size())
      layer.bias_parts[row * outputs + output] = g[output];
  }
};

}  // namespace wellspring::ops
