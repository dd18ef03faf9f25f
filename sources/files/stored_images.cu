#include "kernels/launch.cuh"
#include "sources/files/stored_images.h"

WS_CUDA_IMAGES(wellspring::StoredImages);
