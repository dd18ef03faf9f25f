#include "kernels/ops/sets.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::ItemPoolForward<float>);
WS_CUDA_TEAM(wellspring::ops::ItemPoolForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::ItemPoolBackward<float>);
WS_CUDA_TEAM(wellspring::ops::ItemPoolBackward<wellspring::bf16>);
