#include "generators/images/fill_levels.h"
#include "kernels/launch.cuh"

WS_CUDA_MAP(wellspring::HalveFills);
