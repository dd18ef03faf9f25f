#include "kernels/runtime/launch.cuh"
#include "train/optimizer/optimizer.h"

using wellspring::bf16;
using wellspring::ops::AdamWRule;
using wellspring::ops::SgdRule;

WS_CUDA_TEAM(wellspring::ops::OptimizerStep<float, SgdRule>);
WS_CUDA_TEAM(wellspring::ops::OptimizerStep<bf16, SgdRule>);
WS_CUDA_TEAM(wellspring::ops::OptimizerStep<float, AdamWRule>);
WS_CUDA_TEAM(wellspring::ops::OptimizerStep<bf16, AdamWRule>);
