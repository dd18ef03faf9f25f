#include "kernels/ops/learning_rate.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_MAP(wellspring::ops::BeginStep);
WS_CUDA_MAP(wellspring::ops::EndStep);
