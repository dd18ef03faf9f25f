#include "kernels/ops/group_norm.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::GroupNormForward<float>);
WS_CUDA_TEAM(wellspring::ops::GroupNormForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::GroupNormBackward<float>);
WS_CUDA_TEAM(wellspring::ops::GroupNormBackward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::GroupNormParameterGradient);
