#include "kernels/ops/pooling.h"
#include "kernels/ops/window_pooling.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::MaxPoolForward<float>);
WS_CUDA_TEAM(wellspring::ops::MaxPoolForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::MaxPoolBackward<float>);
WS_CUDA_TEAM(wellspring::ops::MaxPoolBackward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::GlobalMeanForward<float>);
WS_CUDA_TEAM(wellspring::ops::GlobalMeanForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::GlobalMeanBackward<float>);
WS_CUDA_TEAM(wellspring::ops::GlobalMeanBackward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::MaxWindowForward<float>);
WS_CUDA_TEAM(wellspring::ops::MaxWindowForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::MaxWindowBackward<float>);
WS_CUDA_TEAM(wellspring::ops::MaxWindowBackward<wellspring::bf16>);
