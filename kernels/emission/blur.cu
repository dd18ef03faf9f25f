#include "kernels/emission/blur.h"
#include "kernels/launch.cuh"

WS_CUDA_TEAM(wellspring::BlurRows);
WS_CUDA_TEAM(wellspring::BlurColumns<float>);
WS_CUDA_TEAM(wellspring::BlurColumns<wellspring::bf16>);
