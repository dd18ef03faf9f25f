// Computes y = act(y + bias) in place, after a convolution or matrix product if the device's
// library cannot fuse the two. Called by kernels/ops/cuda; host; functor for host and device.
#pragma once

#include "kernels/ops/ops.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
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
  int columns;
  Activation activation;

  WS_HD void operator()(std::int64_t i) const {
    float value = static_cast<float>(y[i]);
    if (bias != nullptr) value += bias[i % columns];
    // Written so that NaN propagates and is detected.
    if (activation == Activation::relu && value < 0) value = 0;
    y[i] = T(value);
  }
};

}  // namespace wellspring::ops
