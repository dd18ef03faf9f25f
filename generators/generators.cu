// The generators' device code: one line each.
#include "generators/events/ee_mumu.h"
#include "generators/images/dead_leaves.h"
#include "generators/images/noise.h"
#include "generators/images/shapes.h"
#include "kernels/launch.cuh"

WS_CUDA_EVENTS(wellspring::EeMumu);
WS_CUDA_IMAGES(wellspring::DeadLeaves);
WS_CUDA_IMAGES(wellspring::Noise);
WS_CUDA_IMAGES(wellspring::Shapes);
