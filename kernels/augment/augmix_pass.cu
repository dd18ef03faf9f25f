#include "kernels/augment/augmix_pass.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::MixChains);
