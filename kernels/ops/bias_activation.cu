#include "kernels/launch.cuh"
#include "kernels/ops/bias_activation.h"

WS_CUDA_MAP(wellspring::ops::BiasActivation<float>);
WS_CUDA_MAP(wellspring::ops::BiasActivation<wellspring::bf16>);
