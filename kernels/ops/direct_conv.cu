#include "kernels/ops/direct_conv.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::DirectConvForward<float>);
WS_CUDA_TEAM(wellspring::ops::DirectConvForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::DirectConvWeightRows<float>);
WS_CUDA_TEAM(wellspring::ops::DirectConvWeightRows<wellspring::bf16>);
