#include "kernels/ops/bias_activation.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::BiasActivation<float>);
WS_CUDA_TEAM(wellspring::ops::BiasActivation<wellspring::bf16>);
