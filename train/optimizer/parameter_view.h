// The arenas that an optimizer step reads and writes. Host and device.
#pragma once

#include "kernels/runtime/dtype.h"

#include <cstdint>

namespace wellspring::ops {

/// Flat parameter arenas. Matrices (weight decay) come first, then vectors (biases, normalisation;
/// no decay). An optimizer step is one launch over both.
struct ParameterView {
  std::int64_t matrices = 0;               ///< elements of the first segment
  std::int64_t vectors = 0;                ///< elements of the second
  float* master = nullptr;                 ///< [matrices + vectors] f32
  void* working = nullptr;                 ///< [matrices] in the compute type; = master when f32
  const void* matrix_gradient = nullptr;   ///< [matrices] in the compute type
  const float* vector_gradient = nullptr;  ///< [vectors] f32
  DType compute = DType::f32;
};

}  // namespace wellspring::ops
