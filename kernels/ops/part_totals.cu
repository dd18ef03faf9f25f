#include "kernels/ops/part_totals.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::AddParts<4>);
WS_CUDA_TEAM(wellspring::ops::AddParts<64>);
