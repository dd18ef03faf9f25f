#include "kernels/emission/device_code.h"
#include "kernels/launch.cuh"
#include "sources/files/stored_images.h"

WS_CUDA_GENERATOR(wellspring::StoredImages);
