// The arenas that an optimizer step reads and writes. Used on host and device.
#pragma once

#include "kernels/runtime/dtype.h"

#include <cstdint>

namespace wellspring::ops {

/// Elements [begin, end) of the arenas with one policy; all in matrices, or all in vectors.
struct UpdateRange {
  std::int64_t begin = 0, end = 0;
  float lr_scale = 1;  ///< factor of the learning rate
  float weight_decay = 0;
  std::uint64_t start = 0;  ///< first step that updates them
};

/// Units of adaptive clipping: `count` units of `length` elements each, starting at element `begin`
/// of the arenas. `first`: index of the first of these units.
struct ClipUnits {
  std::int64_t begin = 0, length = 0;
  std::int64_t first = 0, count = 0;
};

/// Flat arenas of the trained parameters. Matrices come first, then vectors (biases,
/// normalisation). An optimizer step is one launch over both.
struct ParameterView {
  std::int64_t matrices = 0;            ///< elements of the first segment, a multiple of kPack
  std::int64_t vectors = 0;             ///< elements of the second
  const UpdateRange* ranges = nullptr;  ///< in order, covering both segments
  std::int64_t range_count = 0;
  float* tensor_norms = nullptr;  ///< see tensor_norm_floats(); null if the optimizer needs none
  const ClipUnits* clip_units = nullptr;  ///< in order; null without adaptive clipping
  std::int64_t clip_unit_count = 0;       ///< entries of the table
  std::int64_t units = 0;                 ///< units of all entries
  float* master = nullptr;                ///< [matrices + vectors] f32
  void* working = nullptr;                ///< [matrices] in the compute type; = master when f32
  void* matrix_gradient = nullptr;        ///< [matrices] in the compute type
  float* vector_gradient = nullptr;       ///< [vectors] f32
  DType compute = DType::f32;
};

}  // namespace wellspring::ops
