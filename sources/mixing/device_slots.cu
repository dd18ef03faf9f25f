#include "kernels/runtime/launch.cuh"
#include "sources/mixing/device_slots.h"

WS_CUDA_MAP(wellspring::DeviceRepeatedSlots);
WS_CUDA_MAP(wellspring::RepeatedSlots);
