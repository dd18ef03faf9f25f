#include "kernels/runtime/launch.cuh"
#include "sources/datasets/row_scaling.h"

WS_CUDA_MAP(wellspring::ScaleRows<float>);
WS_CUDA_MAP(wellspring::ScaleRows<wellspring::bf16>);
