#include "kernels/ops/copy_rows.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::CopyRows<float, float>);
WS_CUDA_TEAM(wellspring::ops::CopyRows<float, wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::CopyRows<wellspring::bf16, float>);
WS_CUDA_TEAM(wellspring::ops::CopyRows<wellspring::bf16, wellspring::bf16>);
