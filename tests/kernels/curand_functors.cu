#include "kernels/runtime/launch.cuh"
#include "tests/kernels/curand_functors.h"

WS_CUDA_MAP(wellspring::test::CurandWords);
