#include "kernels/emission/device_code.h"
#include "kernels/runtime/launch.cuh"
#include "sources/datasets/stored_rows.h"

WS_CUDA_GENERATOR(wellspring::StoredImages);
WS_CUDA_MAP(wellspring::EmitStoredFeatures<float>);
WS_CUDA_MAP(wellspring::EmitStoredFeatures<wellspring::bf16>);
