// Lists the specs planned on a stream, in order; Conv2d::plan, Dense::plan and Attention::plan
// record them. Also the algorithms that cuBLASLt chose. Called by reports, by the digest of a run's
// plans, and by the test that plans the layers of every network for an absent GPU; host only.
//
//     stream.library<PlanLog>()->convolutions
#pragma once

#include "kernels/ops/attention.h"
#include "kernels/ops/ops.h"
#include "kernels/runtime/stream.h"

#include <map>
#include <string>
#include <vector>

namespace wellspring::ops {

struct PlanLog {
  explicit PlanLog(const Stream&) {}
  std::vector<Conv2dSpec> convolutions;
  std::vector<DenseSpec> dense_layers;
  std::vector<AttentionSpec> attention_layers;
  /// By product of a dense layer; the bits of its results depend on the algorithm.
  std::map<std::string, std::string> algorithms;
};

}  // namespace wellspring::ops
