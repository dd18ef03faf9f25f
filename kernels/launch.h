// Launchers: the only way from a functor to a device. Host only; the CUDA side is kernels/launch.cuh.
//
//   map(stream, name, n, f)                       f(i) for i in [0, n), in any order
//   league(stream, name, n, {size, scratch}, f)   f(team, i) for i in [0, n), a team each
//
// A functor is a named, trivially copyable type that depends on nothing but its members and device
// memory. For CUDA, a .cu file beside the functor's header instantiates it with one line,
//
//   WS_CUDA_MAP(ReluForward<float>)      WS_CUDA_TEAM(DeadLeavesEmit<float>)
//
// and the linker reports any that was forgotten.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "kernels/stream.h"
#include "kernels/team.h"

namespace wellspring {

/// How large a team is on CUDA and how much scratch each has anywhere.
struct TeamShape {
  int size = 128;                 ///< threads of a CUDA block, a multiple of 32; hosts use one
  std::size_t scratch_bytes = 0;  ///< an upper bound of what team.scratch() takes, padding included
};

namespace cuda {
// Defined in kernels/launch.cuh, instantiated by WS_CUDA_MAP / WS_CUDA_TEAM.
template <class F> void launch_map(void* stream, std::int64_t n, const F& f);
template <class F> void launch_team(void* stream, std::int64_t n, TeamShape shape, const F& f);
}  // namespace cuda

namespace host {

template <class F>
void run_map(std::int64_t n, int threads, const F& f) {
#pragma omp parallel for schedule(static) num_threads(threads) if (n > 1)
  for (std::int64_t i = 0; i < n; ++i) f(i);
}

template <class F>
void run_league(std::int64_t n, int threads, TeamShape shape, const F& f) {
#pragma omp parallel num_threads(threads) if (n > 1)
  {
    // One scratch block a thread, kept between launches so that steady state allocates nothing.
    thread_local std::vector<std::max_align_t> block;
    const std::size_t units = shape.scratch_bytes / sizeof(std::max_align_t) + 1;
    if (block.size() < units) block.resize(units);
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t i = 0; i < n; ++i) {
      SoloTeam team({reinterpret_cast<std::byte*>(block.data()), shape.scratch_bytes, 0});
      f(team, i);
    }
  }
}

}  // namespace host

template <class F>
void map(Stream& stream, std::string_view name, std::int64_t n, const F& f) {
  static_assert(std::is_trivially_copyable_v<F>);
  if (n == 0) return;
#if WELLSPRING_CUDA
  if (stream.device().is_cuda()) return cuda::launch_map(stream.native(), n, f);
#endif
  stream.run(NodeKind::kernel, name, [n, threads = stream.threads(), f] { host::run_map(n, threads, f); });
}

template <class F>
void league(Stream& stream, std::string_view name, std::int64_t n, TeamShape shape, const F& f) {
  static_assert(std::is_trivially_copyable_v<F>);
  if (n == 0) return;
#if WELLSPRING_CUDA
  if (stream.device().is_cuda()) return cuda::launch_team(stream.native(), n, shape, f);
#endif
  stream.run(NodeKind::kernel, name,
             [n, threads = stream.threads(), shape, f] { host::run_league(n, threads, shape, f); });
}

}  // namespace wellspring
