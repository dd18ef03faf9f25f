#include "kernels/runtime/launch.cuh"
#include "tests/kernels/launch_functors.h"

WS_CUDA_MAP(wellspring::test::AffineWriter);
WS_CUDA_TEAM(wellspring::test::HistogramMaker);
WS_CUDA_TEAM(wellspring::test::SharedCanvasPainter);
