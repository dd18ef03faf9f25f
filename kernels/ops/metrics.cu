#include "kernels/launch.cuh"
#include "kernels/ops/metrics.h"

WS_CUDA_TEAM(wellspring::ops::CollectMetrics);
WS_CUDA_TEAM(wellspring::ops::AccumulateEvaluation);
