#include "kernels/ops/elementwise.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::Relu<float>);
WS_CUDA_TEAM(wellspring::ops::Relu<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::ReluBackward<float>);
WS_CUDA_TEAM(wellspring::ops::ReluBackward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::Add<float>);
WS_CUDA_TEAM(wellspring::ops::Add<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::Convert<float, float>);
WS_CUDA_TEAM(wellspring::ops::Convert<float, wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::Convert<wellspring::bf16, float>);
WS_CUDA_TEAM(wellspring::ops::Convert<wellspring::bf16, wellspring::bf16>);
