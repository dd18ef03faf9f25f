#include "kernels/launch.cuh"
#include "kernels/ops/column_sum.h"

WS_CUDA_MAP(wellspring::ops::ColumnChunkSum<float>);
WS_CUDA_MAP(wellspring::ops::ColumnChunkSum<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::ColumnTotal);
