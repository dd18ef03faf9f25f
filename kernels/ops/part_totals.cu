#include "kernels/ops/part_totals.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::AddParts<2>);
WS_CUDA_TEAM(wellspring::ops::AddParts<64>);
