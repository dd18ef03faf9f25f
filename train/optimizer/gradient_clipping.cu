#include "kernels/runtime/launch.cuh"
#include "train/optimizer/gradient_clipping.h"

WS_CUDA_TEAM(wellspring::ops::GradientSquares<float>);
WS_CUDA_TEAM(wellspring::ops::GradientSquares<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::TotalsAndSquares<float>);
WS_CUDA_TEAM(wellspring::ops::TotalsAndSquares<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::GradientScale);
WS_CUDA_TEAM(wellspring::ops::AdaptiveClip<float>);
WS_CUDA_TEAM(wellspring::ops::AdaptiveClip<wellspring::bf16>);
