// y = act(y + bias) in place, for devices whose library cannot fuse this into the convolution or
// product. Called by kernels/ops/cuda; host only. The functor runs on host and device.
#pragma once

#include "kernels/ops/ops.h"
#include "kernels/ops/team_loop.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/stream.h"

#include <cstdint>

namespace wellspring::ops {

struct BiasActivationSpec {
  std::int64_t rows = 1;
  int columns = 1;
  DType dtype = DType::f32;  ///< type of y
  Activation activation = Activation::none;
};

/// Adds bias [columns] (f32; null: none) to each row of y [rows, columns], then applies the
/// activation.
void bias_activation(Stream& stream, const BiasActivationSpec& spec, const float* bias, void* y);

template <class T>
struct BiasActivation {
  T* y;
  const float* bias;
  std::int64_t n;
  int columns;
  Activation activation;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t chunk) const {
    const ChunkRange range(chunk, n);
    T* const values = y;
    const BiasActivation self = *this;
    team_for_packs(
        team, range.begin, range.end,
        [=](std::int64_t i) {
          Pack pack = load_pack(values + i);
          int column = static_cast<int>(i % self.columns);
          for (int k = 0; k < kPack; ++k) {
            pack.v[k] = self.result(pack.v[k], column);
            if (++column == self.columns) column = 0;
          }
          store_pack(values + i, pack);
        },
        [=](std::int64_t i) {
          const int column = static_cast<int>(i % self.columns);
          values[i] = T(self.result(static_cast<float>(values[i]), column));
        });
  }

 private:
  WS_INLINE float result(float value, int column) const {
    if (bias != nullptr) value += bias[column];
    // Written so that NaN propagates and is detected.
    return activation == Activation::relu && value < 0 ? 0.0f : value;
  }
};

}  // namespace wellspring::ops
