#include "kernels/ops/output_layer.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::OutputLayerLoss<float>);
WS_CUDA_TEAM(wellspring::ops::OutputLayerLoss<wellspring::bf16>);
