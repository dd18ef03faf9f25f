// A compiled kernel for the launchers: its handle, its parameter block and its launch shape. Host
// only; devices also use the parameter blocks.
//
// A kernel takes one parameter by value: a trivially copyable block. The templates of
// kernels/runtime/launch.h use one kernel per functor. cuda::map_kernel and league_kernel return
// it, and a .cu file instantiates it (WS_CUDA_MAP, WS_CUDA_TEAM). A kernel from elsewhere, such as
// one compiled at run time, is launched in the same way; see launch_kernel in
// kernels/runtime/launch.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace wellspring {

/// Maximum size of a functor. It is passed as a kernel parameter, and every CUDA device accepts 4
/// KiB of parameters.
inline constexpr std::size_t kMaxFunctorBytes = 4096 - 64;

/// Number of blocks and threads of a launch, and shared memory per block.
struct LaunchShape {
  std::int64_t blocks = 1;
  int threads = 1;
  std::size_t scratch_bytes = 0;
  int teams = 1;  ///< teams per block (its y dimension), each with `threads` threads
};

/// Handle of device code in the CUDA runtime: a __global__ function of this program, or a
/// cudaKernel_t of a library loaded at run time. Must outlive all launches.
class KernelHandle {
 public:
  constexpr KernelHandle(const void* function, const char* name)
      : function_(function), name_(name) {}
  KernelHandle(const KernelHandle&) = delete;
  KernelHandle& operator=(const KernelHandle&) = delete;

  const void* function() const { return function_; }
  const char* name() const { return name_; }  ///< used in messages

  /// True if the kernel may use all of a device's shared memory. A recorded launch must never get
  /// less memory than when it was recorded, so the maximum is granted once. For device indices of
  /// 64 and above, it is granted at every launch.
  bool granted(int device) const { return device < 64 && (granted_ & bit(device)) != 0; }
  /// Call after the maximum has been granted, so that no other thread launches before the grant.
  void mark_granted(int device) {
    if (device < 64) granted_ |= bit(device);
  }

 private:
  static std::uint64_t bit(int device) { return std::uint64_t{1} << device; }

  const void* function_;
  const char* name_;
  std::atomic<std::uint64_t> granted_ = 0;
};

/// Parameters of a functor's kernel, which calls f(i) for i in [0, n), or f(team, i).
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
// Handles of a functor's kernels; defined in kernels/runtime/launch.cuh and instantiated by
// WS_CUDA_MAP or WS_CUDA_TEAM.
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
