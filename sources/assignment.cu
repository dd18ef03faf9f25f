#include "kernels/launch.cuh"
#include "sources/assignment.h"

WS_CUDA_MAP(wellspring::AssignSlots);
WS_CUDA_MAP(wellspring::RangeSlots);
