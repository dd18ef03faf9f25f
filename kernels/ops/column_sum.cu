#include "kernels/ops/column_sum.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_MAP(wellspring::ops::ColumnChunkSum<float>);
WS_CUDA_MAP(wellspring::ops::ColumnChunkSum<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::ColumnTotal);
