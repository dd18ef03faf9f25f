#include "bench/write_words.h"
#include "kernels/launch.cuh"

WS_CUDA_MAP(wellspring::bench::WriteWords);
