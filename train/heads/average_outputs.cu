#include "kernels/runtime/launch.cuh"
#include "train/heads/average_outputs.h"

WS_CUDA_MAP(wellspring::ops::AverageOutputs);
