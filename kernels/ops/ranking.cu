#include "kernels/launch.cuh"
#include "kernels/ops/ranking.h"

WS_CUDA_MAP(wellspring::ops::CollectScores);
