// Takes the place of kernels/launch.cuh in builds with the stand-in: a kernel is the functor's loop
// on the host. Included by .cu files alone, which the host compiler then compiles.
#pragma once

#include "kernels/launch.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace wellspring::cuda {

template <class F>
KernelHandle& map_kernel() {
  static const stand_in::HostKernel run = [](const void* parameters) {
    const auto& block = *static_cast<const MapBlock<F>*>(parameters);
    host::run_map(block.n, 1, block.f);
  };
  static KernelHandle handle(&run, __PRETTY_FUNCTION__);
  return handle;
}

template <class F>
KernelHandle& league_kernel() {
  static const stand_in::HostKernel run = [](const void* parameters) {
    const auto& block = *static_cast<const LeagueBlock<F>*>(parameters);
    host::run_league(block.n, 1, {32, block.scratch_bytes}, block.f);
  };
  static KernelHandle handle(&run, __PRETTY_FUNCTION__);
  return handle;
}

}  // namespace wellspring::cuda
