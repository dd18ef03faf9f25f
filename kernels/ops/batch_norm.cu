#include "kernels/ops/batch_norm.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::BatchNormChunk<float>);
WS_CUDA_TEAM(wellspring::ops::BatchNormChunk<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::BatchNormTotal);
WS_CUDA_MAP(wellspring::ops::BatchNormRunning);
WS_CUDA_TEAM(wellspring::ops::BatchNormApply<float>);
WS_CUDA_TEAM(wellspring::ops::BatchNormApply<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::BatchNormBackwardChunk<float>);
WS_CUDA_TEAM(wellspring::ops::BatchNormBackwardChunk<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::BatchNormBackward<float>);
WS_CUDA_TEAM(wellspring::ops::BatchNormBackward<wellspring::bf16>);
