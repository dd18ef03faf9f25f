// Replaces kernels/runtime/launch.cuh in builds with the stand-in: a kernel is the functor's loop
// on the host. Included only by .cu files, which the host compiler then compiles.
#pragma once

#include "kernels/runtime/launch.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <typeinfo>
#include <vector>

namespace wellspring::stand_in {

/// A thread that behaves like a member of a device team, with scratch for a team of one. It does
/// not take the shortcuts of the host's SoloTeam.
class Team : public SoloTeam {
 public:
  using SoloTeam::SoloTeam;
  static constexpr bool kIsAlone = false;
};

}  // namespace wellspring::stand_in

namespace wellspring::cuda {

template <class F>
KernelHandle& map_kernel() {
  static const stand_in::HostKernel run = {[](const void* parameters) {
                                             const auto& block =
                                                 *static_cast<const MapBlock<F>*>(parameters);
                                             host::run_map(block.n, 1, block.f);
                                           },
                                           __PRETTY_FUNCTION__, typeid(MapBlock<F>).name()};
  static KernelHandle handle(&run, run.name);
  return handle;
}

template <class F>
KernelHandle& league_kernel() {
  static const stand_in::HostKernel run = {
      [](const void* parameters) {
        const auto& block = *static_cast<const LeagueBlock<F>*>(parameters);
        std::vector<std::max_align_t> scratch(block.scratch_bytes / sizeof(std::max_align_t) + 1);
        for (std::int64_t i = 0; i < block.n; ++i) {
          stand_in::Team team(
              {reinterpret_cast<std::byte*>(scratch.data()), block.scratch_bytes, 0});
          block.f(team, i);
        }
      },
      __PRETTY_FUNCTION__, typeid(LeagueBlock<F>).name()};
  static KernelHandle handle(&run, run.name);
  return handle;
}

}  // namespace wellspring::cuda
