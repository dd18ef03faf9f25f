// Launchers: the only way to run a functor on a device. Host only; the CUDA side is
// kernels/runtime/launch.cuh.
//
//   map(stream, name, n, f)                       f(i) for i in [0, n), in any order
//   league(stream, name, n, {size, scratch}, f)   f(team, i) for i in [0, n), one team per i
//
// A functor is a named, trivially copyable type that depends only on its members and device memory.
// For CUDA, a .cu file next to the functor's header instantiates it with one line,
//
//   WS_CUDA_MAP(wellspring::ops::ReluForward<float>);
//   WS_CUDA_TEAM(wellspring::DeadLeavesEmit<float>);
//
// (outside any namespace); the linker reports a missing instantiation. launch_kernel launches
// kernels that are compiled elsewhere.
//
// A team functor may state the cost of each of its teams with cost(i). Host threads then begin with
// the most expensive team.
#pragma once

#include "kernels/runtime/kernel_handle.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/solo_team.h"
#include "kernels/runtime/stream.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace wellspring {

/// Size of a team on CUDA, and its scratch on any device.
struct TeamShape {
  int size = 128;  ///< threads of a CUDA block: a multiple of 32 up to the functor's
                   ///< launch_bound(), or a smaller power of 2 if the functor shares_warps(); 1 on
                   ///< hosts
  std::size_t scratch_bytes = 0;  ///< upper bound of the team's scratch, including padding; at most
                                  ///< scratch_limit(device), or kHostScratchBytes for host-only
                                  ///< launches
};

/// Scratch for all teams of a block; teams smaller than a warp share a block.
std::size_t block_scratch_bytes(TeamShape shape);

namespace detail {
/// Throws std::logic_error for a shape or count that CUDA would reject. It does so on every back
/// end, so that tests without a GPU find the mistake. `bound` and `shares_warps` are functor
/// properties.
void check_league(std::string_view name, std::int64_t n, TeamShape shape, LaunchBound bound,
                  bool shares_warps, Device device);
void check_map(std::string_view name, std::int64_t n, LaunchBound bound);
/// Throws std::logic_error unless a functor that is compiled for `side` can run on the device.
void check_side(std::string_view name, RunsOn side, Device device);
}  // namespace detail

namespace cuda {
/// Enqueues a kernel on a stream of a GPU. Copies `parameters`. Device errors name the kernel.
void launch_kernel(const Stream& stream, KernelHandle& kernel, const LaunchShape& shape,
                   const void* parameters, std::size_t bytes);
LaunchShape map_shape(std::int64_t n, LaunchBound bound);
LaunchShape league_shape(std::int64_t n, TeamShape shape);
}  // namespace cuda

/// A compiled kernel and its host equivalent. Both take the same parameters.
struct CompiledKernel {
  std::string name;                            ///< name of the node in a recorded step
  KernelHandle* device = nullptr;              ///< null: runs only on the host
  std::function<void(const void*)> host = {};  ///< empty: runs only on a GPU
};

/// Enqueues one launch on the stream's device. `parameters` is a trivially copyable block. It is
/// copied, and on a GPU it is the kernel's only parameter. Throws std::logic_error if the device
/// has no such kernel, or if the shape exceeds the limits of all devices.
void launch_kernel(Stream& stream, const CompiledKernel& kernel, const LaunchShape& shape,
                   const void* parameters, std::size_t bytes);
template <class Block>
void launch_kernel(Stream& stream, const CompiledKernel& kernel, const LaunchShape& shape,
                   const Block& block) {
  static_assert(std::is_trivially_copyable_v<Block> && alignof(Block) <= 16);
  launch_kernel(stream, kernel, shape, &block, sizeof block);
}

namespace host {

template <class F>
void run_map(std::int64_t n, int threads, const F& f) {
#pragma omp parallel for schedule(static) num_threads(threads) if (n > 1)
  for (std::int64_t i = 0; i < n; ++i) f(i);
}

/// A functor that knows the relative costs of its teams in advance: cost(i), in any unit.
template <class F>
concept KnowsCosts = requires(const F& f) {
  f.cost(std::int64_t{});
};

/// Indices of n teams, most expensive first, so that no thread starts a long task at the end. The
/// array is valid until this thread calls the function again.
template <KnowsCosts F>
const std::int64_t* costliest_first(std::int64_t n, const F& f) {
  thread_local std::vector<std::int64_t> order;
  order.resize(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&f](std::int64_t a, std::int64_t b) {
    const auto of_a = f.cost(a), of_b = f.cost(b);
    return of_a != of_b ? of_a > of_b : a < b;
  });
  return order.data();
}

/// Calls call(f, team, i) for i in [0, n), in the order of `order` if it is given.
void run_teams(std::int64_t n, int threads, TeamShape shape, const std::int64_t* order,
               void (*call)(const void* f, SoloTeam& team, std::int64_t i), const void* f);

template <class F>
void run_league(std::int64_t n, int threads, TeamShape shape, const F& f) {
  const std::int64_t* order = nullptr;
  if constexpr (KnowsCosts<F>) {
    if (threads > 1) order = costliest_first(n, f);
  }
  run_teams(
      n, threads, shape, order,
      [](const void* erased, SoloTeam& team, std::int64_t i) {
        (*static_cast<const F*>(erased))(team, i);
      },
      &f);
}

}  // namespace host

template <class F>
void map(Stream& stream, std::string_view name, std::int64_t n, const F& f) {
  static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= kMaxFunctorBytes);
  detail::check_map(name, n, launch_bound<F>());
  detail::check_side(name, runs_on<F>(), stream.device());
  if (n == 0) return;
#if WELLSPRING_CUDA
  if constexpr (runs_on<F>() != RunsOn::host) {
    if (stream.device().is_cuda()) {
      const MapBlock<F> block{n, f};
      return cuda::launch_kernel(stream, cuda::map_kernel<F>(),
                                 cuda::map_shape(n, launch_bound<F>()), &block, sizeof block);
    }
  }
#endif
  if constexpr (runs_on<F>() != RunsOn::device) {
    stream.run(NodeKind::kernel, name,
               [n, active = stream.active_threads(), f] { host::run_map(n, active->count(), f); });
  }
}

template <class F>
void league(Stream& stream, std::string_view name, std::int64_t n, TeamShape shape, const F& f) {
  static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= kMaxFunctorBytes);
  detail::check_league(name, n, shape, launch_bound<F>(), shares_warps<F>(), stream.device());
  detail::check_side(name, runs_on<F>(), stream.device());
  if (n == 0) return;
#if WELLSPRING_CUDA
  if constexpr (runs_on<F>() != RunsOn::host) {
    if (stream.device().is_cuda()) {
      const LaunchShape launched = cuda::league_shape(n, shape);
      const LeagueBlock<F> block{n, launched.scratch_bytes / static_cast<unsigned>(launched.teams),
                                 f};
      return cuda::launch_kernel(stream, cuda::league_kernel<F>(), launched, &block, sizeof block);
    }
  }
#endif
  if constexpr (runs_on<F>() != RunsOn::device) {
    stream.run(NodeKind::kernel, name, [n, active = stream.active_threads(), shape, f] {
      host::run_league(n, active->count(), shape, f);
    });
  }
}

}  // namespace wellspring
