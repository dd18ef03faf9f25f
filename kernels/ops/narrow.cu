#include "kernels/ops/narrow.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::Narrow<wellspring::ops::f16>);
WS_CUDA_TEAM(wellspring::ops::Narrow<wellspring::ops::Pixel8>);
