#include "kernels/ops/attention_teams.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::AttentionForward<float>);
WS_CUDA_TEAM(wellspring::ops::AttentionForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::AttentionQueryGradient<float>);
WS_CUDA_TEAM(wellspring::ops::AttentionQueryGradient<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::AttentionKeyGradient<float>);
WS_CUDA_TEAM(wellspring::ops::AttentionKeyGradient<wellspring::bf16>);
WS_CUDA_MAP(wellspring::ops::ClampedCounts);
WS_CUDA_TEAM(wellspring::ops::ClearMissingTokens);
