// What a kernel is compiled for: the threads of its blocks, and how many blocks are to share a
// multiprocessor. Functors state it where the usual bound does not fit them; the launchers keep to
// it. Host and device.
//
// A multiprocessor has 65,536 registers: a thread may have 65536 / (threads * blocks) of them, up
// to 255. What does not fit is spilled to memory (docs/kernels.md has the lists); what could have
// had more waits with fewer others.
#pragma once

namespace wellspring {

struct LaunchBound {
  int threads;     ///< of a map's blocks; of the largest team, a multiple of 32
  int blocks = 0;  ///< at least so many share a multiprocessor; 0: the compiler weighs registers
                   ///< against blocks, and spills a few for one block more
};

/// Most threads that a functor may state: leaves each thread of a CUDA block 128 registers.
inline constexpr int kMostThreads = 512;

/// Threads of a warp, on every GPU.
inline constexpr int kWarp = 32;

/// Where a functor states nothing: enough warps to fill a multiprocessor with several blocks.
inline constexpr LaunchBound kUsualBound = {256};

/// Of teams that make a whole sample each: as many threads as keep a multiprocessor's schedulers
/// busy where its shared memory has room for one, and two such teams where it has.
inline constexpr LaunchBound kSampleTeam = {512, 2};

/// Of maps with a thread a sample, which draw: a batch has few of them, which shall have many
/// multiprocessors and all the registers that they can use.
inline constexpr LaunchBound kSampleThread = {64, 1};

/// What functor F is compiled for: `static constexpr LaunchBound kLaunchBound`, where it has one.
template <class F>
constexpr LaunchBound launch_bound() {
  if constexpr (requires { F::kLaunchBound; }) {
    constexpr LaunchBound bound = F::kLaunchBound;
    static_assert(bound.threads >= kWarp && bound.threads % kWarp == 0 &&
                  bound.threads <= kMostThreads);
    static_assert(bound.blocks >= 0 && bound.threads * bound.blocks <= 1536);  // of every GPU
    return bound;
  } else {
    return kUsualBound;
  }
}

/// Whether teams of functor F may be parts of a warp, `static constexpr bool kSharesWarps = true`:
/// of 1, 2, 4, 8 or 16 threads, for samples that give no more of them something to do.
template <class F>
constexpr bool shares_warps() {
  if constexpr (requires { F::kSharesWarps; }) {
    return F::kSharesWarps;
  } else {
    return false;
  }
}

/// Whether functor F is compiled for devices alone, `static constexpr bool kOnlyOnDevice = true`.
template <class F>
constexpr bool only_on_device() {
  if constexpr (requires { F::kOnlyOnDevice; }) {
    return F::kOnlyOnDevice;
  } else {
    return false;
  }
}

}  // namespace wellspring
