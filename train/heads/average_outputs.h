// Averages the outputs of two heads: the prediction of DeiT (Touvron et al. 2021, section 4), which
// timm's model returns outside training. Called by the supervised task. Host only; the functor
// itself runs on host and device.
#pragma once

#include "kernels/runtime/macros.h"
#include "kernels/runtime/stream.h"

#include <cstdint>

namespace wellspring::ops {

/// In each of `rows` rows of `width` outputs, averages the `count` outputs that start at `begin`
/// with the `count` outputs that start at `other`, and stores the means at `begin`.
void average_outputs(Stream& stream, float* outputs, std::int64_t rows, std::int64_t width,
                     std::int64_t begin, std::int64_t other, std::int64_t count);

/// Element i: output i % count of row i / count.
struct AverageOutputs {
  float* outputs;
  std::int64_t width, begin, other, count;

  WS_HD void operator()(std::int64_t i) const {
    float* const row = outputs + i / count * width;
    const std::int64_t k = i % count;
    row[begin + k] = 0.5f * (row[begin + k] + row[other + k]);
  }
};

}  // namespace wellspring::ops
