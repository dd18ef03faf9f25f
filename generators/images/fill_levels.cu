#include "generators/images/fill_levels.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_MAP(wellspring::HalveFills);
