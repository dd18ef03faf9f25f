#include "kernels/runtime/launch.cuh"
#include "train/optimizer/gradient_accumulation.h"

WS_CUDA_TEAM(wellspring::ops::AddGradients<float>);
WS_CUDA_TEAM(wellspring::ops::AddGradients<wellspring::bf16>);
