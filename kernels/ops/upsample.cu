#include "kernels/ops/upsample.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::UpsampleForward<float>);
WS_CUDA_TEAM(wellspring::ops::UpsampleForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::UpsampleBackward<float>);
WS_CUDA_TEAM(wellspring::ops::UpsampleBackward<wellspring::bf16>);
