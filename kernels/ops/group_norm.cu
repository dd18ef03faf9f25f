#include "kernels/launch.cuh"
#include "kernels/ops/group_norm.h"

WS_CUDA_TEAM(wellspring::ops::GroupNormForward<float>);
WS_CUDA_TEAM(wellspring::ops::GroupNormForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::GroupNormBackward<float>);
WS_CUDA_TEAM(wellspring::ops::GroupNormBackward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::GroupNormParameterGradient);
