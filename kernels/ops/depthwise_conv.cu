#include "kernels/ops/depthwise_conv.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::DepthwiseConvApply<float, 3>);
WS_CUDA_TEAM(wellspring::ops::DepthwiseConvApply<float, 5>);
WS_CUDA_TEAM(wellspring::ops::DepthwiseConvApply<float, 7>);
WS_CUDA_TEAM(wellspring::ops::DepthwiseConvApply<wellspring::bf16, 3>);
WS_CUDA_TEAM(wellspring::ops::DepthwiseConvApply<wellspring::bf16, 5>);
WS_CUDA_TEAM(wellspring::ops::DepthwiseConvApply<wellspring::bf16, 7>);
WS_CUDA_TEAM(wellspring::ops::DepthwiseConvWeights<float, 3>);
WS_CUDA_TEAM(wellspring::ops::DepthwiseConvWeights<float, 5>);
WS_CUDA_TEAM(wellspring::ops::DepthwiseConvWeights<float, 7>);
WS_CUDA_TEAM(wellspring::ops::DepthwiseConvWeights<wellspring::bf16, 3>);
WS_CUDA_TEAM(wellspring::ops::DepthwiseConvWeights<wellspring::bf16, 5>);
WS_CUDA_TEAM(wellspring::ops::DepthwiseConvWeights<wellspring::bf16, 7>);
