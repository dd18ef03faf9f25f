#include "kernels/launch.cuh"
#include "kernels/ops/averaging.h"

WS_CUDA_MAP(wellspring::ops::AverageWeights);
WS_CUDA_MAP(wellspring::ops::SwapArrays);
