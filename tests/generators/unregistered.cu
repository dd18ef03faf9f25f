#include "kernels/emission/device_code.h"
#include "kernels/runtime/launch.cuh"
#include "tests/generators/unregistered.h"

WS_CUDA_GENERATOR(wellspring::test::Handful);
WS_CUDA_GENERATOR(wellspring::test::Swatches);
