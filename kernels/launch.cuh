// The CUDA side of the launchers: the two kernels that run every functor of the program, and the
// block as a team. Included by .cu files alone, for WS_CUDA_MAP and WS_CUDA_TEAM; CUDA compiler.
#pragma once

#include "kernels/cuda_check.h"
#include "kernels/launch.h"
#include "kernels/team.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace wellspring::cuda {

/// Threads of a map's block: enough warps to fill a multiprocessor with several blocks, few enough
/// to leave each thread 255 registers.
inline constexpr int kMapBlock = 256;
/// Shared memory that a launch may ask for without opting in.
inline constexpr std::size_t kPlainScratchBytes = 48 * 1024;
/// Most blocks of a grid's x dimension (CUDA C++ Programming Guide, table of technical
/// specifications); longer ranges are covered by striding.
inline constexpr std::int64_t kMaxGrid = 0x7fffffff;

/// The block as a team: see kernels/team.h. All members hold equal cursors, since all call
/// scratch() in the same order.
class BlockTeam {
 public:
  __device__ explicit BlockTeam(ScratchCursor scratch) : scratch_(scratch) {}

  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ void sync() const { __syncthreads(); }
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
  /// The unsigned type of the same width, which all of CUDA's atomics take; sums and bits of
  /// two's complement are the same in it.
  template <class I>
  using Word = std::conditional_t<sizeof(I) == 8, unsigned long long, unsigned int>;
  template <class I>
  __device__ static Word<I>* as_cuda(I* target) {
    static_assert(std::is_integral_v<I> && (sizeof(I) == 4 || sizeof(I) == 8),
                  "team atomics work on 32-bit and 64-bit integers: floats would not add up to "
                  "equal bits in every order");
    return reinterpret_cast<Word<I>*>(target);
  }
  template <class I>
  __device__ static Word<I> as_cuda(I value) {
    return static_cast<Word<I>>(value);
  }

  ScratchCursor scratch_;
};

template <class F>
__global__ void __launch_bounds__(kMapBlock) run_map(std::int64_t n, const F f) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kMapBlock;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kMapBlock + threadIdx.x; i < n; i += stride) {
    f(i);
  }
}

template <class F>
__global__ void __launch_bounds__(kMaxTeamSize)
    run_league(std::int64_t n, std::size_t scratch_bytes, const F f) {
  extern __shared__ __align__(16) unsigned char scratch[];
  for (std::int64_t i = blockIdx.x; i < n; i += gridDim.x) {
    BlockTeam team({reinterpret_cast<std::byte*>(scratch), scratch_bytes, 0});
    f(team, i);
    __syncthreads();  // the next sample reuses the scratch
  }
}

template <class F>
void launch_map(const Stream& stream, std::int64_t n, const F& f) {
  static_assert(sizeof(F) <= kMaxFunctorBytes, "a kernel's parameters are at most 4 KiB");
  const DeviceScope scope(stream.device().index);
  const std::int64_t blocks = std::min((n - 1) / kMapBlock + 1, kMaxGrid);
  run_map<F>
      <<<static_cast<unsigned>(blocks), kMapBlock, 0, static_cast<cudaStream_t>(stream.native())>>>(
          n, f);
  check(cudaGetLastError(), __PRETTY_FUNCTION__, __FILE__, __LINE__);  // names the functor
}

template <class F>
void launch_team(const Stream& stream, std::int64_t n, TeamShape shape, const F& f) {
  static_assert(sizeof(F) <= kMaxFunctorBytes, "a kernel's parameters are at most 4 KiB");
  const DeviceScope scope(stream.device().index);
  if (shape.scratch_bytes > kPlainScratchBytes) {
    WS_CUDA_CHECK(cudaFuncSetAttribute(run_league<F>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(shape.scratch_bytes)));
  }
  const std::int64_t blocks = std::min(n, kMaxGrid);
  run_league<F>
      <<<static_cast<unsigned>(blocks), static_cast<unsigned>(shape.size), shape.scratch_bytes,
         static_cast<cudaStream_t>(stream.native())>>>(n, shape.scratch_bytes, f);
  check(cudaGetLastError(), __PRETTY_FUNCTION__, __FILE__, __LINE__);  // names the functor
}

}  // namespace wellspring::cuda
