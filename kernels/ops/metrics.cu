#include "kernels/ops/metrics.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::CollectMetrics);
WS_CUDA_TEAM(wellspring::ops::AccumulateEvaluation);
