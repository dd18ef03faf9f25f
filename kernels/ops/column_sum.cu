#include "kernels/ops/column_sum.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::ColumnSum<float>);
WS_CUDA_TEAM(wellspring::ops::ColumnSum<wellspring::bf16>);
