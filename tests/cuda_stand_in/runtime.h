// The state of the stand-in, shared by the files that implement its runtime API; host only.
#pragma once

#include "tests/cuda_stand_in/memory.h"
#include "tests/cuda_stand_in/streams.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <mutex>
#include <vector>

namespace wellspring::stand_in {

inline constexpr int kMultiprocessors = 1;

/// The device and all runtime state; one per process, as with CUDA.
struct Runtime {
  std::recursive_mutex mutex;  ///< recursive: kernels are host code that might call the runtime
  DeviceMemory device;
  PinnedMemory pinned;
  std::size_t memory = std::size_t{4} << 30;
  std::size_t local = 0;  ///< taken for local memory
  std::vector<Footprint>* footprints = nullptr;
  Streams streams;
  /// The legacy default stream. Wellspring's streams are non-blocking, so they are not ordered with
  /// it.
  cudaStream_t default_stream = streams.create();

  explicit Runtime(unsigned seed) : streams(device, seed) {}
};

/// Never destroyed, because destructors of static objects may still free their memory.
Runtime& runtime();

/// How the calling thread's unsafe calls affect captures.
cudaStreamCaptureMode& capture_mode();

/// Stores the error for cudaGetLastError and prints the reason to stderr, which CUDA does not do.
cudaError_t refuse(cudaError_t error, const char* call, const char* why);

}  // namespace wellspring::stand_in

#define LOCKED const std::lock_guard lock(::wellspring::stand_in::runtime().mutex)
