#include "kernels/runtime/launch.cuh"
#include "sources/mixing/assignment.h"

WS_CUDA_MAP(wellspring::AssignSlots);
WS_CUDA_MAP(wellspring::RangeSlots);
