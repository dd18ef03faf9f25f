#include "kernels/runtime/launch.cuh"
#include "tests/kernels/math_functors.h"

WS_CUDA_MAP(wellspring::test::MathEvaluator);
