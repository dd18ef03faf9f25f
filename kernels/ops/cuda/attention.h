// Plans Attention on cuDNN; the caller (kernels/ops/attention.cpp) has checked the spec's shapes.
// Called only by Attention::plan; host only.
#pragma once

#include "kernels/ops/attention.h"

#include <memory>

namespace wellspring::ops::cuda {

/// Null if cuDNN does not support the spec; its fused attention computes in bf16 only.
std::unique_ptr<Attention> plan_attention(const AttentionSpec& spec, const Stream& stream);

}  // namespace wellspring::ops::cuda
