#include "bench/write_words.h"
#include "kernels/launch.cuh"

WS_CUDA_TEAM(wellspring::bench::WriteWords);
