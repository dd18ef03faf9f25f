// Device code of a test functor. A build with CUDA refers to it, although the tests use the host.
#include "kernels/emission/byte_images.h"
#include "kernels/emission/device_code.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_GENERATOR(wellspring::ByteImages);
