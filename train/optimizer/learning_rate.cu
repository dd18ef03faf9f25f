#include "train/optimizer/learning_rate.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_MAP(wellspring::ops::BeginStep);
