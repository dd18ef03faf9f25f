#include "kernels/ops/activation.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::SmoothActivation<float, wellspring::ops::Smooth::gelu>);
WS_CUDA_TEAM(wellspring::ops::SmoothActivation<float, wellspring::ops::Smooth::silu>);
WS_CUDA_TEAM(wellspring::ops::SmoothActivation<wellspring::bf16, wellspring::ops::Smooth::gelu>);
WS_CUDA_TEAM(wellspring::ops::SmoothActivation<wellspring::bf16, wellspring::ops::Smooth::silu>);
WS_CUDA_TEAM(wellspring::ops::SmoothActivationBackward<float, wellspring::ops::Smooth::gelu>);
WS_CUDA_TEAM(wellspring::ops::SmoothActivationBackward<float, wellspring::ops::Smooth::silu>);
WS_CUDA_TEAM(
    wellspring::ops::SmoothActivationBackward<wellspring::bf16, wellspring::ops::Smooth::gelu>);
WS_CUDA_TEAM(
    wellspring::ops::SmoothActivationBackward<wellspring::bf16, wellspring::ops::Smooth::silu>);
