#include "kernels/ops/batch_norm.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::BatchNormForward<float>);
WS_CUDA_TEAM(wellspring::ops::BatchNormForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::BatchNormTotal);
WS_CUDA_TEAM(wellspring::ops::BatchNormRankMoments);
WS_CUDA_MAP(wellspring::ops::BatchNormRankGradient);
WS_CUDA_MAP(wellspring::ops::BatchNormRunning);
WS_CUDA_TEAM(wellspring::ops::BatchNormFrozenBackward<float>);
WS_CUDA_TEAM(wellspring::ops::BatchNormFrozenBackward<wellspring::bf16>);
