#include "kernels/ops/item_targets.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_MAP(wellspring::ops::HideFeatures<float>);
WS_CUDA_MAP(wellspring::ops::HideFeatures<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::ItemRegressionLoss<float>);
WS_CUDA_TEAM(wellspring::ops::ItemRegressionLoss<wellspring::bf16>);
