#include "kernels/emission/byte_images.h"
#include "kernels/emission/device_code.h"
#include "kernels/runtime/launch.cuh"
#include "tests/kernels/emission_forms.h"
#include "tests/kernels/emission_functors.h"

WS_CUDA_GENERATOR(wellspring::test::Coordinates);
WS_CUDA_GENERATOR(wellspring::ByteImages);
WS_CUDA_GENERATOR(wellspring::test::Dust);
WS_CUDA_GENERATOR(wellspring::test::Heat);
WS_CUDA_GENERATOR(wellspring::test::Spray);
WS_CUDA_GENERATOR(wellspring::test::TeamSpray);
