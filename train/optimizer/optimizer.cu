#include "kernels/runtime/launch.cuh"
#include "train/optimizer/optimizer.h"

using wellspring::bf16;
using wellspring::ops::AdamWRule;
using wellspring::ops::LambRule;
using wellspring::ops::LarsRule;
using wellspring::ops::LionRule;
using wellspring::ops::SgdRule;

WS_CUDA_TEAM(wellspring::ops::OptimizerStep<float, SgdRule>);
WS_CUDA_TEAM(wellspring::ops::OptimizerStep<bf16, SgdRule>);
WS_CUDA_TEAM(wellspring::ops::OptimizerStep<float, AdamWRule>);
WS_CUDA_TEAM(wellspring::ops::OptimizerStep<bf16, AdamWRule>);
WS_CUDA_TEAM(wellspring::ops::OptimizerStep<float, LionRule>);
WS_CUDA_TEAM(wellspring::ops::OptimizerStep<bf16, LionRule>);
WS_CUDA_TEAM(wellspring::ops::OptimizerStep<float, LambRule>);
WS_CUDA_TEAM(wellspring::ops::OptimizerStep<bf16, LambRule>);
WS_CUDA_TEAM(wellspring::ops::OptimizerStep<float, LarsRule>);
WS_CUDA_TEAM(wellspring::ops::OptimizerStep<bf16, LarsRule>);
WS_CUDA_TEAM(wellspring::ops::TensorSquares<float, LambRule>);
WS_CUDA_TEAM(wellspring::ops::TensorSquares<bf16, LambRule>);
WS_CUDA_TEAM(wellspring::ops::TensorSquares<float, LarsRule>);
WS_CUDA_TEAM(wellspring::ops::TensorSquares<bf16, LarsRule>);
WS_CUDA_MAP(wellspring::ops::TrustRatios<LambRule>);
WS_CUDA_MAP(wellspring::ops::TrustRatios<LarsRule>);
