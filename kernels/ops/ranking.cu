#include "kernels/ops/ranking.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_MAP(wellspring::ops::CollectScores);
