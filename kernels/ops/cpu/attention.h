// Attention in bf16 with the products of oneDNN, for CPUs with AMX. Called by
// kernels/ops/attention.cpp; host only.
#pragma once

#include "kernels/ops/attention.h"

#include <memory>

namespace wellspring::ops::cpu {

/// Null where kernels/ops/attention_teams.h is faster or needed: without AMX, in f32, with a mask,
/// if the scores of a head exceed a core's cache, and for shapes where oneDNN allocates in a step.
std::unique_ptr<Attention> plan_attention(const AttentionSpec& spec, const Stream& stream);

}  // namespace wellspring::ops::cpu
