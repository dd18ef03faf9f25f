// Attention in bf16 with the products of oneDNN, for CPUs with AMX. Called by
// kernels/ops/attention.cpp; host only.
#pragma once

#include "kernels/ops/attention.h"

#include <memory>

namespace wellspring::ops::cpu {

/// Null if the functors of kernels/ops/attention_teams.h are faster or needed: without AMX, in f32,
/// with a mask, or with so many tokens that the scores of a head do not fit into a core's cache.
std::unique_ptr<Attention> plan_attention(const AttentionSpec& spec, const Stream& stream);

}  // namespace wellspring::ops::cpu
