// Launchers: the only way from a functor to a device. Host only; the CUDA side is
// kernels/launch.cuh.
//
//   map(stream, name, n, f)                       f(i) for i in [0, n), in any order
//   league(stream, name, n, {size, scratch}, f)   f(team, i) for i in [0, n), a team each
//
// A functor is a named, trivially copyable type that depends on nothing but its members and device
// memory. For CUDA, a .cu file beside the functor's header instantiates it with one line,
//
//   WS_CUDA_MAP(wellspring::ops::ReluForward<float>);
//   WS_CUDA_TEAM(wellspring::DeadLeavesEmit<float>);
//
// (outside of any namespace), and the linker reports any that was forgotten.
#pragma once

#include "core/error.h"
#include "kernels/stream.h"
#include "kernels/team.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

namespace wellspring {

/// Largest team: leaves each thread of a CUDA block 128 registers.
inline constexpr int kMaxTeamSize = 512;
/// Largest functor: it travels as a kernel parameter, of which every CUDA device takes 4 KiB.
inline constexpr std::size_t kMaxFunctorBytes = 4096 - 64;

/// How large a team is on CUDA and how much scratch each has anywhere.
struct TeamShape {
  int size = 128;                 ///< threads of a CUDA block, a multiple of 32 up to kMaxTeamSize;
                                  ///< hosts use one
  std::size_t scratch_bytes = 0;  ///< an upper bound of what team.scratch() takes, padding
                                  ///< included, up to scratch_limit(device)
};

namespace detail {
/// Throws std::logic_error for a shape or count that CUDA would refuse, on every back end, so that
/// a test without a GPU finds it.
void check_league(std::string_view name, std::int64_t n, TeamShape shape, Device device);
void check_map(std::string_view name, std::int64_t n);
}  // namespace detail

namespace cuda {
// Defined in kernels/launch.cuh, instantiated by WS_CUDA_MAP / WS_CUDA_TEAM.
template <class F>
void launch_map(const Stream& stream, std::int64_t n, const F& f);
template <class F>
void launch_team(const Stream& stream, std::int64_t n, TeamShape shape, const F& f);
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
  static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= kMaxFunctorBytes);
  detail::check_map(name, n);
  if (n == 0) return;
#if WELLSPRING_CUDA
  if (stream.device().is_cuda()) return cuda::launch_map(stream, n, f);
#endif
  stream.run(NodeKind::kernel, name,
             [n, threads = stream.threads(), f] { host::run_map(n, threads, f); });
}

template <class F>
void league(Stream& stream, std::string_view name, std::int64_t n, TeamShape shape, const F& f) {
  static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= kMaxFunctorBytes);
  detail::check_league(name, n, shape, stream.device());
  if (n == 0) return;
#if WELLSPRING_CUDA
  if (stream.device().is_cuda()) return cuda::launch_team(stream, n, shape, f);
#endif
  stream.run(NodeKind::kernel, name,
             [n, threads = stream.threads(), shape, f] { host::run_league(n, threads, shape, f); });
}

}  // namespace wellspring

// Instantiate a functor for CUDA, in a .cu file that includes kernels/launch.cuh. Write them
// outside of any namespace, with the functor's full name.
#define WS_CUDA_MAP(...)                                                                 \
  template void ::wellspring::cuda::launch_map<__VA_ARGS__>(const ::wellspring::Stream&, \
                                                            std::int64_t, const __VA_ARGS__&)
#define WS_CUDA_TEAM(...)                                     \
  template void ::wellspring::cuda::launch_team<__VA_ARGS__>( \
      const ::wellspring::Stream&, std::int64_t, ::wellspring::TeamShape, const __VA_ARGS__&)
