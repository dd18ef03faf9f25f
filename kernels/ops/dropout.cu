#include "kernels/launch.cuh"
#include "kernels/ops/dropout.h"

WS_CUDA_TEAM(wellspring::ops::DropoutApply<float>);
WS_CUDA_TEAM(wellspring::ops::DropoutApply<wellspring::bf16>);
