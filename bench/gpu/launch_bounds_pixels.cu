#include "bench/gpu/launch_bounds.h"
#include "generators/images/dead_leaves.h"
#include "generators/images/noise.h"
#include "generators/images/shapes.h"
#include "generators/images/textures.h"
#include "kernels/runtime/launch.cuh"

#define WS_BOUNDED(F, blocks) \
  WS_CUDA_TEAM(wellspring::bench::Bounded<wellspring::PaintImages<F, wellspring::bf16>, blocks>)
#define WS_ALL_BOUNDS(F) \
  WS_BOUNDED(F, 1);      \
  WS_BOUNDED(F, 2);      \
  WS_BOUNDED(F, 3);      \
  WS_BOUNDED(F, 4)

WS_ALL_BOUNDS(wellspring::DeadLeaves);
WS_ALL_BOUNDS(wellspring::Noise);
WS_ALL_BOUNDS(wellspring::Shapes);
WS_ALL_BOUNDS(wellspring::Textures);
