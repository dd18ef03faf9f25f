#include "kernels/runtime/launch.cuh"
#include "sources/mixing/mixup_cutmix.h"

WS_CUDA_MAP(wellspring::DrawMixes);
WS_CUDA_MAP(wellspring::MixTargets);
WS_CUDA_MAP(wellspring::MixValues<float, 1>);
WS_CUDA_MAP(wellspring::MixValues<float, wellspring::kMixRun<float>>);
WS_CUDA_MAP(wellspring::MixValues<wellspring::bf16, 1>);
WS_CUDA_MAP(wellspring::MixValues<wellspring::bf16, wellspring::kMixRun<wellspring::bf16>>);
