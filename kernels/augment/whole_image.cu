#include "kernels/augment/whole_image.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_MAP(wellspring::DrawAugmentations);
WS_CUDA_TEAM(wellspring::FinishWholeImages<float>);
WS_CUDA_TEAM(wellspring::FinishWholeImages<wellspring::bf16>);
