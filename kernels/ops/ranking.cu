#include "kernels/launch.cuh"
#include "kernels/ops/ranking.h"

WS_CUDA_TEAM(wellspring::ops::CountScores);
