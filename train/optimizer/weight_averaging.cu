#include "kernels/runtime/launch.cuh"
#include "train/optimizer/weight_averaging.h"

WS_CUDA_TEAM(wellspring::ops::AverageWeights);
WS_CUDA_MAP(wellspring::ops::SwapArrays);
