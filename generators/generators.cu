// The generators' device code: one line each.
#include "generators/images/noise.h"
#include "generators/images/shapes.h"
#include "kernels/launch.cuh"

WS_CUDA_IMAGES(wellspring::Noise);
WS_CUDA_IMAGES(wellspring::Shapes);
