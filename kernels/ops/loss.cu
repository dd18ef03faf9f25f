#include "kernels/launch.cuh"
#include "kernels/ops/loss.h"

WS_CUDA_TEAM(wellspring::ops::SoftmaxCrossEntropy<float>);
WS_CUDA_TEAM(wellspring::ops::SoftmaxCrossEntropy<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::MeanSquaredError<float>);
WS_CUDA_TEAM(wellspring::ops::MeanSquaredError<wellspring::bf16>);
