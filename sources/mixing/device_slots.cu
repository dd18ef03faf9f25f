#include "sources/mixing/device_slots.h"

#include "kernels/runtime/launch.cuh"

WS_CUDA_MAP(wellspring::DeviceRangeSlots);
