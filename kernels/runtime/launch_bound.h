// Launch bounds of a kernel: threads per block and blocks per multiprocessor. Functors state them
// if the default does not fit, and the launchers obey them. Host and device.
//
// A multiprocessor has 65,536 registers, so a thread may have 65536 / (threads * blocks) of them,
// up to 255. With fewer registers, values are spilled to memory (bench/results/kernels.md); with
// more, fewer threads are resident to hide latency.
#pragma once

#include <cstdint>

namespace wellspring {

struct LaunchBound {
  int threads;     ///< threads per block of a map, or in the largest team; a multiple of 32
  int blocks = 0;  ///< minimum number of blocks per multiprocessor; 0: the compiler decides, and
                   ///< may spill a few registers for one more block
};

/// Maximum number of threads that a functor may state; leaves 128 registers per thread of a CUDA
/// block.
inline constexpr int kMostThreads = 512;

/// Threads per warp on every GPU.
inline constexpr int kWarp = 32;

/// Default for functors: enough warps to fill a multiprocessor with several blocks.
inline constexpr LaunchBound kUsualBound = {256};

/// For teams that each make a whole sample: enough threads to keep a multiprocessor's schedulers
/// busy with one team, or with two if they fit into its shared memory.
inline constexpr LaunchBound kSampleTeam = {512, 2};

/// For maps that draw one sample per thread: small blocks spread a batch over many multiprocessors,
/// with all the registers that the threads can use.
inline constexpr LaunchBound kSampleThread = {64, 1};

/// Launch bound of functor F: its `static constexpr LaunchBound kLaunchBound`, if it has one, or
/// the default.
template <class F>
constexpr LaunchBound launch_bound() {
  if constexpr (requires { F::kLaunchBound; }) {
    constexpr LaunchBound bound = F::kLaunchBound;
    static_assert(bound.threads >= kWarp && bound.threads % kWarp == 0 &&
                  bound.threads <= kMostThreads);
    static_assert(bound.blocks >= 0 && bound.threads * bound.blocks <= 1536);  // holds on every GPU
    return bound;
  } else {
    return kUsualBound;
  }
}

/// True if teams of functor F may be parts of a warp (`static constexpr bool kSharesWarps = true`).
/// Such teams have 1, 2, 4, 8 or 16 threads, for samples that cannot keep more threads busy.
template <class F>
constexpr bool shares_warps() {
  if constexpr (requires { F::kSharesWarps; }) {
    return F::kSharesWarps;
  } else {
    return false;
  }
}

enum class RunsOn : std::uint8_t { both, host, device };

/// The side that functor F is compiled for: `static constexpr RunsOn kRunsOn`; both sides if it
/// declares none.
template <class F>
constexpr RunsOn runs_on() {
  if constexpr (requires { F::kRunsOn; }) {
    return F::kRunsOn;
  } else {
    return RunsOn::both;
  }
}

}  // namespace wellspring
