#include "kernels/ops/averaging.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_MAP(wellspring::ops::AverageWeights);
WS_CUDA_MAP(wellspring::ops::SwapArrays);
