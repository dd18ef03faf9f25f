#include "kernels/ops/dropout.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::DropoutApply<float>);
WS_CUDA_TEAM(wellspring::ops::DropoutApply<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::DropPathApply<float>);
WS_CUDA_TEAM(wellspring::ops::DropPathApply<wellspring::bf16>);
