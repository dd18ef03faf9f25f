#include "kernels/runtime/launch.cuh"
#include "train/optimizer/learning_rate.h"

WS_CUDA_TEAM(wellspring::ops::BeginStep);
