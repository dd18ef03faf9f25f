#include "kernels/runtime/end_step.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_MAP(wellspring::EndStep);
