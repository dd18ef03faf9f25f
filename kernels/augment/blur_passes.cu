#include "kernels/augment/blur_passes.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::BlurRows);
WS_CUDA_TEAM(wellspring::BlurColumns<float>);
WS_CUDA_TEAM(wellspring::BlurColumns<wellspring::bf16>);
