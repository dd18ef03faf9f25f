#include "kernels/ops/bias_activation.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_MAP(wellspring::ops::BiasActivation<float>);
WS_CUDA_MAP(wellspring::ops::BiasActivation<wellspring::bf16>);
