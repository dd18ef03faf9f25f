// Streams of the stand-in: queues of work that runs as late as the program's waits allow, or in
// orders that a seed draws. Called by the stand-in's runtime, under its lock; host only.
#pragma once

#include "tests/cuda_stand_in/memory.h"

#include <cuda_runtime_api.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

struct CUgraphNode_st {
  cudaGraphNodeType type;
  std::string name;
  std::function<void()> work;
  void* to = nullptr;  ///< of copies
  const void* from = nullptr;
};

struct CUgraph_st {
  std::vector<std::shared_ptr<CUgraphNode_st>> nodes;
};

namespace wellspring::stand_in {

using Clock = std::chrono::steady_clock;

/// One call of cudaEventRecord: a place in a stream. What waits for an event waits for the record
/// that was its last when the wait was asked for (CUDA Runtime API, "Event Management").
struct Moment {
  cudaStream_t stream = nullptr;  ///< alive until the moment is reached
  bool reached = false;
  Clock::time_point when;
};

/// What a stream does next: nothing before `after` is reached, then `work`.
struct Item {
  std::shared_ptr<Moment> after;
  std::function<void()> work;
};

}  // namespace wellspring::stand_in

struct CUstream_st {
  std::deque<wellspring::stand_in::Item> queue;
  std::unique_ptr<CUgraph_st> capture;
  bool capture_is_invalid = false;
  bool destroyed = false;
};

namespace wellspring::stand_in {

/// All streams of the device. With seed 0 nothing runs but what somebody waits for and what that
/// depends on: a device that lags as far behind as it can, and streams that meet only where events
/// order them. Other seeds let work of any stream run at any call, in an order that they draw.
class Streams {
 public:
  Streams(DeviceMemory& memory, unsigned seed) : memory_(memory), seed_(seed), random_(seed) {}

  cudaStream_t create();
  /// Returns at once; what the stream holds still runs (CUDA Runtime API, cudaStreamDestroy).
  void destroy(cudaStream_t stream);
  void enqueue(cudaStream_t stream, Item item);
  std::shared_ptr<Moment> record(cudaStream_t stream);
  /// Chance for seeds other than 0 to run some work, whatever it is.
  void let_time_pass();

  // The only reasons for which work runs with seed 0.
  void finish(cudaStream_t stream);
  void reach(const Moment& moment);
  void finish_all();

 private:
  /// The stream whose next item brings `wanted` forward.
  cudaStream_t next_for(cudaStream_t wanted);
  std::vector<cudaStream_t> runnable() const;
  void run_one(cudaStream_t stream);

  DeviceMemory& memory_;
  unsigned seed_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<CUstream_st>> streams_;
};

}  // namespace wellspring::stand_in
