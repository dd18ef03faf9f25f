// The device code of the textured variant of generator `dead_leaves`.
#include "generators/images/textured_leaves.h"
#include "kernels/emission/device_code.h"
#include "kernels/launch.cuh"

WS_CUDA_GENERATOR(wellspring::TexturedLeaves);
