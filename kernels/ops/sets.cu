#include "kernels/launch.cuh"
#include "kernels/ops/sets.h"

WS_CUDA_TEAM(wellspring::ops::ItemPoolForward<float>);
WS_CUDA_TEAM(wellspring::ops::ItemPoolForward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::ItemPoolBackward<float>);
WS_CUDA_TEAM(wellspring::ops::ItemPoolBackward<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::CopyColumns<float>);
WS_CUDA_TEAM(wellspring::ops::CopyColumns<wellspring::bf16>);
