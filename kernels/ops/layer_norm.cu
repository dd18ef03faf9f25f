#include "kernels/ops/layer_norm.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::LayerNormForward<float>);
WS_CUDA_TEAM(wellspring::ops::LayerNormForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::LayerNormBackward<float>);
WS_CUDA_TEAM(wellspring::ops::LayerNormBackward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::LayerNormGradientSums<float>);
WS_CUDA_TEAM(wellspring::ops::LayerNormGradientSums<wellspring::bf16>);
