// What the launchers know of a kernel that is compiled: a handle, the block of parameters that it
// takes, and how it is laid over a device. Host, and device for the blocks.
//
// A kernel takes one parameter, a trivially copyable block by value. The templates of
// kernels/runtime/launch.h have one kernel a functor, found by cuda::map_kernel and league_kernel, which a
// .cu file instantiates (WS_CUDA_MAP, WS_CUDA_TEAM). A kernel from elsewhere, compiled while the
// program runs, say, is launched in the same way: see launch_kernel in kernels/runtime/launch.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace wellspring {

/// Largest functor: it travels as a kernel parameter, of which every CUDA device takes 4 KiB.
inline constexpr std::size_t kMaxFunctorBytes = 4096 - 64;

/// How many blocks of how many threads run a kernel, and how much shared memory each block has.
struct LaunchShape {
  std::int64_t blocks = 1;
  int threads = 1;
  std::size_t scratch_bytes = 0;
  int teams = 1;  ///< that a block has, each of so many threads: its y dimension
};

/// Device code as the CUDA runtime names it: a __global__ function of this program, or a
/// cudaKernel_t of a library that was loaded while it runs. Lives as long as anything may be
/// launched with it.
class KernelHandle {
 public:
  constexpr KernelHandle(const void* function, const char* name)
      : function_(function), name_(name) {}
  KernelHandle(const KernelHandle&) = delete;
  KernelHandle& operator=(const KernelHandle&) = delete;

  const void* function() const { return function_; }
  const char* name() const { return name_; }  ///< for messages

  /// Whether the kernel was granted all of a device's shared memory before; it is from now on. A
  /// launch that was recorded must never find less than it was recorded with, so it is the most
  /// that there is, once. Devices from 64 on are granted it at every launch.
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
  std::size_t scratch_bytes;  ///< of a team
  F f;
};

namespace cuda {
// Defined in kernels/runtime/launch.cuh, instantiated by WS_CUDA_MAP / WS_CUDA_TEAM.
template <class F>
KernelHandle& map_kernel();
template <class F>
KernelHandle& league_kernel();
}  // namespace cuda

}  // namespace wellspring

// Instantiate a functor for CUDA, in a .cu file that includes kernels/runtime/launch.cuh. Write them
// outside of any namespace, with the functor's full name.
#define WS_CUDA_MAP(...) \
  template ::wellspring::KernelHandle& ::wellspring::cuda::map_kernel<__VA_ARGS__>()
#define WS_CUDA_TEAM(...) \
  template ::wellspring::KernelHandle& ::wellspring::cuda::league_kernel<__VA_ARGS__>()
