// Lists the specs planned on a stream, in order; Conv2d::plan, Dense::plan and Attention::plan
// record them. Called by reports, and by the test that plans the layers of every network for an
// absent GPU; host only.
//
//     stream.library<PlanLog>()->convolutions
#pragma once

#include "kernels/ops/attention.h"
#include "kernels/ops/ops.h"
#include "kernels/runtime/stream.h"

#include <vector>

namespace wellspring::ops {

struct PlanLog {
  explicit PlanLog(const Stream&) {}
  std::vector<Conv2dSpec> convolutions;
  std::vector<DenseSpec> dense_layers;
  std::vector<AttentionSpec> attention_layers;
};

}  // namespace wellspring::ops
