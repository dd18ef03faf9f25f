#include "kernels/ops/masked_patches.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_MAP(wellspring::ops::HidePatches<float>);
WS_CUDA_MAP(wellspring::ops::HidePatches<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::MaskedPatchLoss<float>);
WS_CUDA_TEAM(wellspring::ops::MaskedPatchLoss<wellspring::bf16>);
