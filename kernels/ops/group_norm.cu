#include "kernels/ops/group_norm.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::GroupNormForward<float>);
WS_CUDA_TEAM(wellspring::ops::GroupNormForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::GroupNormTotal);
WS_CUDA_TEAM(wellspring::ops::GroupNormBackward<float>);
WS_CUDA_TEAM(wellspring::ops::GroupNormBackward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::PoolNormForward<float>);
WS_CUDA_TEAM(wellspring::ops::PoolNormForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::PoolNormBackward<float>);
WS_CUDA_TEAM(wellspring::ops::PoolNormBackward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::NormMoments<float>);
WS_CUDA_TEAM(wellspring::ops::NormMoments<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::NormApply<float>);
WS_CUDA_TEAM(wellspring::ops::NormApply<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::NormGradientSums<float>);
WS_CUDA_TEAM(wellspring::ops::NormGradientSums<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::NormBackward<float>);
WS_CUDA_TEAM(wellspring::ops::NormBackward<wellspring::bf16>);
