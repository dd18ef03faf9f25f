// Scores of individual samples in an evaluation, for metrics that need the order of samples (ROC,
// AUC). Called by kernels/ops/ranking.cpp; host and device.
#pragma once

#include "kernels/ops/training.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::ops {

struct CollectScores {
  const float* outputs;  ///< [rows, width]
  std::int32_t width, begin;
  const std::int32_t* labels;
  ScoredSample* out;

  WS_HD void operator()(std::int64_t row) const {
    const float* logits = outputs + row * width + begin;
    out[row] = {logits[1] - logits[0], labels[row]};
  }
};

}  // namespace wellspring::ops
