// Device code of a test functor. Builds with CUDA refer to it, although the tests run on the host.
#include "kernels/emission/byte_images.h"
#include "kernels/emission/device_code.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_GENERATOR(wellspring::ByteImages);
