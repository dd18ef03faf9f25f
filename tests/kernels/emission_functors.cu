#include "kernels/canvas.h"
#include "kernels/launch.cuh"
#include "tests/kernels/emission_functors.h"

WS_CUDA_TEAM(wellspring::ImageEmitter<wellspring::test::Coordinates, float>);
WS_CUDA_TEAM(wellspring::ImageEmitter<wellspring::test::Coordinates, wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ImageEmitter<wellspring::CanvasImages, float>);
WS_CUDA_TEAM(wellspring::ImageEmitter<wellspring::CanvasImages, wellspring::bf16>);
