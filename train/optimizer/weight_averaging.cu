#include "train/optimizer/weight_averaging.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_MAP(wellspring::ops::AverageWeights);
WS_CUDA_MAP(wellspring::ops::SwapArrays);
