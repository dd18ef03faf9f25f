// Takes the place of kernels/launch.cuh in builds with the stand-in: a kernel is the functor's loop
// on the host, enqueued. Included by .cu files alone, which the host compiler then compiles.
#pragma once

#include "kernels/launch.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace wellspring::cuda {

template <class F>
void launch_map(const Stream& stream, std::int64_t n, const F& f) {
  stand_in::launch_kernel(stream.native(), __PRETTY_FUNCTION__, [n, f] { host::run_map(n, 1, f); });
}

template <class F>
void launch_team(const Stream& stream, std::int64_t n, TeamShape shape, const F& f) {
  stand_in::launch_kernel(stream.native(), __PRETTY_FUNCTION__,
                          [n, shape, f] { host::run_league(n, 1, shape, f); });
}

}  // namespace wellspring::cuda
