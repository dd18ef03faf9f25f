#include "kernels/runtime/launch.cuh"
#include "tests/sources/fake_source.h"

WS_CUDA_MAP(wellspring::test::SpellSlots);
