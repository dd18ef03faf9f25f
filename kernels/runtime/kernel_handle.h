// A compiled kernel for the launchers: its handle, its parameter block and its launch shape. Host,
// and device for the blocks.
//
// A kernel takes one parameter, a trivially copyable block by value. The templates of
// kernels/runtime/launch.h have one kernel per functor, found by cuda::map_kernel and
// league_kernel, which a .cu file instantiates (WS_CUDA_MAP, WS_CUDA_TEAM). A kernel from
// elsewhere, such as one compiled at run time, is launched in the same way: see launch_kernel in
// kernels/runtime/launch.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace wellspring {

/// Largest functor: it is passed as a kernel parameter, of which every CUDA device takes 4 KiB.
inline constexpr std::size_t kMaxFunctorBytes = 4096 - 64;

/// Number of blocks and threads of a launch, and shared memory per block.
struct LaunchShape {
  std::int64_t blocks = 1;
  int threads = 1;
  std::size_t scratch_bytes = 0;
  int teams = 1;  ///< teams per block, each with `threads` threads: its y dimension
};

/// Device code as the CUDA runtime names it: a __global__ function of this program, or a
/// cudaKernel_t of a library loaded at run time. Must outlive all launches.
class KernelHandle {
 public:
  constexpr KernelHandle(const void* function, const char* name)
      : function_(function), name_(name) {}
  KernelHandle(const KernelHandle&) = delete;
  KernelHandle& operator=(const KernelHandle&) = delete;

  const void* function() const { return function_; }
  const char* name() const { return name_; }  ///< in messages

  /// Marks the kernel as granted all of a device's shared memory; returns whether it was before. A
  /// recorded launch must never get less than at its recording, so the grant is the maximum, made
  /// once. Devices from 64 on are granted it at every launch.
  bool exchange_granted(int device) {
    if (device >= 64) return false;
    const std::uint64_t bit = std::uint64_t{1} << device;
    return (granted_.fetch_or(bit) & bit) != 0;
  }

 private:
  const void* function_;
  const char* name_;
  std::atomic<std::uint64_t> granted_ = 0;
};

/// The parameters of a functor's kernel: f(i) for i in [0, n), or f(team, i).
template <class F>
struct MapBlock {
  std::int64_t n;
  F f;
};
template <class F>
struct LeagueBlock {
  std::int64_t n;
  std::size_t scratch_bytes;  ///< per team
  F f;
};

namespace cuda {
// Handles of a functor's kernels. Defined in kernels/runtime/launch.cuh, instantiated by
// WS_CUDA_MAP / WS_CUDA_TEAM.
template <class F>
KernelHandle& map_kernel();
template <class F>
KernelHandle& league_kernel();
}  // namespace cuda

}  // namespace wellspring

// Instantiate a functor for CUDA, in a .cu file that includes kernels/runtime/launch.cuh. Use them
// outside any namespace, with the functor's full name.
#define WS_CUDA_MAP(...) \
  template ::wellspring::KernelHandle& ::wellspring::cuda::map_kernel<__VA_ARGS__>()
#define WS_CUDA_TEAM(...) \
  template ::wellspring::KernelHandle& ::wellspring::cuda::league_kernel<__VA_ARGS__>()
