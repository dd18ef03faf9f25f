#include "kernels/launch.cuh"
#include "kernels/ops/schedule.h"

WS_CUDA_MAP(wellspring::ops::BeginStep);
WS_CUDA_MAP(wellspring::ops::EndStep);
