// Handles of the kernels in the cubin of a compiled header. Replaces kernels/runtime/launch.cuh
// when the host compiler compiles the .cu file that generators/own/compile.cpp writes; host only.
#pragma once

#if WELLSPRING_CUDA_STAND_IN
#include "kernels/runtime/launch.cuh"  // the stand-in's own, whose kernels are loops on the host
#else
#include "generators/own/instance.h"
#include "kernels/runtime/kernel_handle.h"

#include <cstddef>
#include <typeinfo>

extern "C" __attribute__((visibility("hidden"))) const std::byte wellspring_own_cubin[];

namespace wellspring::cuda {

template <class Block>
const void* own_kernel() {
  return own::object_context().find_kernel(wellspring_own_cubin, typeid(Block));
}

template <class F>
KernelHandle& map_kernel() {
  static KernelHandle handle(own_kernel<MapBlock<F> >(), __PRETTY_FUNCTION__);
  return handle;
}

template <class F>
KernelHandle& league_kernel() {
  static KernelHandle handle(own_kernel<LeagueBlock<F> >(), __PRETTY_FUNCTION__);
  return handle;
}

}  // namespace wellspring::cuda
#endif

/// Puts a file into the object, in a section that tools can extract.
#define WS_OWN_CUBIN(path)                                  \
  asm(".pushsection .wellspring_cubin, \"a\"\n.balign 64\n" \
      "wellspring_own_cubin: .incbin \"" path               \
      "\"\n"                                                \
      ".popsection\n")
