#include "kernels/ops/binary_loss.h"
#include "kernels/ops/loss.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::SoftmaxCrossEntropy<float>);
WS_CUDA_TEAM(wellspring::ops::SoftmaxCrossEntropy<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::SoftCrossEntropy<float>);
WS_CUDA_TEAM(wellspring::ops::SoftCrossEntropy<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::BinaryClassLoss<float>);
WS_CUDA_TEAM(wellspring::ops::BinaryClassLoss<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::SigmoidCrossEntropy<float>);
WS_CUDA_TEAM(wellspring::ops::SigmoidCrossEntropy<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::RegressionLoss<float>);
WS_CUDA_TEAM(wellspring::ops::RegressionLoss<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::PixelCrossEntropy<float>);
WS_CUDA_TEAM(wellspring::ops::PixelCrossEntropy<wellspring::bf16>);
