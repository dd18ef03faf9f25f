// The CUDA side of the launchers: the two kernels that run every functor of the program, and teams
// that are a block or part of a warp. Included only by .cu files, for WS_CUDA_MAP and WS_CUDA_TEAM;
// CUDA compiler only.
#pragma once

#include "kernels/runtime/kernel_handle.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/team.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace wellspring::cuda {

/// A row of the block as a team (kernels/runtime/team.h). All members have the same cursor, because
/// they call scratch() in the same order. With `parts`, several rows smaller than a warp fill one
/// warp; otherwise a block has one row.
template <bool parts>
class BlockTeam {
 public:
  __device__ explicit BlockTeam(ScratchCursor scratch) : scratch_(scratch) {}

  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ void sync() const {
    if (parts && blockDim.x < kWarp) {
      __syncwarp(((1u << blockDim.x) - 1) << (threadIdx.y * blockDim.x));
    } else {
      __syncthreads();
    }
  }
  template <class T>
  __device__ T* scratch(std::size_t count) {
    return scratch_.take<T>(count);
  }

  template <class I>
  __device__ I atomic_add(I* target, I value) const {
    return static_cast<I>(atomicAdd(as_cuda(target), as_cuda(value)));
  }
  template <class I>
  __device__ I atomic_max(I* target, I value) const {
    if constexpr (std::is_signed_v<I> && sizeof(I) == 8) {
      return static_cast<I>(
          atomicMax(reinterpret_cast<long long*>(target), static_cast<long long>(value)));
    } else if constexpr (std::is_signed_v<I>) {
      return static_cast<I>(atomicMax(reinterpret_cast<int*>(target), static_cast<int>(value)));
    } else {
      return static_cast<I>(atomicMax(as_cuda(target), as_cuda(value)));
    }
  }
  template <class I>
  __device__ I atomic_or(I* target, I value) const {
    return static_cast<I>(atomicOr(as_cuda(target), as_cuda(value)));
  }

 private:
  /// The unsigned type of the same width, which all CUDA atomics accept. In two's complement, both
  /// types give the same sums and bits.
  template <class I>
  using Word = std::conditional_t<sizeof(I) == 8, unsigned long long, unsigned int>;
  template <class I>
  __device__ static Word<I>* as_cuda(I* target) {
    static_assert(
        std::is_integral_v<I> && (sizeof(I) == 4 || sizeof(I) == 8),
        "team atomics need 32-bit or 64-bit integers: sums of floats would depend on the order");
    return reinterpret_cast<Word<I>*>(target);
  }
  template <class I>
  __device__ static Word<I> as_cuda(I value) {
    return static_cast<Word<I>>(value);
  }

  ScratchCursor scratch_;
};

template <class F>
__global__ void __launch_bounds__(launch_bound<F>().threads, launch_bound<F>().blocks)
    run_map(const MapBlock<F> block) {
  const std::int64_t i = std::int64_t{blockIdx.x} * launch_bound<F>().threads + threadIdx.x;
  if (i < block.n) block.f(i);
}

template <class F>
__global__ void __launch_bounds__(launch_bound<F>().threads, launch_bound<F>().blocks)
    run_league(const LeagueBlock<F> block) {
  extern __shared__ __align__(16) unsigned char scratch[];
  std::int64_t i = blockIdx.x;
  auto* own = reinterpret_cast<std::byte*>(scratch);
  if constexpr (shares_warps<F>()) {
    i = i * blockDim.y + threadIdx.y;
    if (i >= block.n) return;
    own += threadIdx.y * block.scratch_bytes;
  }
  BlockTeam<shares_warps<F>()> team({own, block.scratch_bytes, 0});
  block.f(team, i);
}

template <class F>
KernelHandle& map_kernel() {
  static KernelHandle handle(reinterpret_cast<const void*>(&run_map<F>), __PRETTY_FUNCTION__);
  return handle;
}

template <class F>
KernelHandle& league_kernel() {
  static KernelHandle handle(reinterpret_cast<const void*>(&run_league<F>), __PRETTY_FUNCTION__);
  return handle;
}

}  // namespace wellspring::cuda
