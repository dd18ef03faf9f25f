#include "sources/assignment.h"

#include "kernels/launch.cuh"

WS_CUDA_MAP(wellspring::AssignSlots);
WS_CUDA_MAP(wellspring::RangeSlots);
