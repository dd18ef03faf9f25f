// The arenas that an optimizer step reads and writes. Host and device.
#pragma once

#include "kernels/runtime/dtype.h"

#include <cstdint>

namespace wellspring::ops {

/// Elements [begin, end) of the arenas with the same policy: all of matrices, or all of vectors.
struct UpdateRange {
  std::int64_t begin = 0, end = 0;
  float lr_scale = 1;  ///< factor of the learning rate
  float weight_decay = 0;
};

/// Flat arenas of the trained parameters. Matrices come first, then vectors (biases,
/// normalisation). An optimizer step is one launch over both.
struct ParameterView {
  std::int64_t matrices = 0;            ///< elements of the first segment, a multiple of kPack
  std::int64_t vectors = 0;             ///< elements of the second
  const UpdateRange* ranges = nullptr;  ///< in order, covering both segments
  std::int64_t range_count = 0;
  float* master = nullptr;                 ///< [matrices + vectors] f32
  void* working = nullptr;                 ///< [matrices] in the compute type; = master when f32
  const void* matrix_gradient = nullptr;   ///< [matrices] in the compute type
  const float* vector_gradient = nullptr;  ///< [vectors] f32
  DType compute = DType::f32;
};

}  // namespace wellspring::ops
