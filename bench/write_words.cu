#include "bench/write_words.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::bench::WriteWords);
