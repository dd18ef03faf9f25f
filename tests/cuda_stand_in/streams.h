// Streams of the stand-in: queues whose work runs as late as the program's waits allow, or in
// seeded random order. Called by the stand-in's runtime, which holds its lock; host only.
#pragma once

#include "tests/cuda_stand_in/memory.h"

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
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
  void* to = nullptr;  ///< destination of a copy
  const void* from = nullptr;
  wellspring::LaunchShape shape = {};   ///< blocks, threads and scratch of a kernel
  std::vector<std::size_t> after = {};  ///< indices of the nodes that it depends on
};

struct CUgraph_st {
  std::vector<std::shared_ptr<CUgraphNode_st>> nodes;
};

namespace wellspring::stand_in {

using Clock = std::chrono::steady_clock;

/// A call of cudaEventRecord: a position in a stream. A wait for an event waits for the
/// event's latest record at the time of the call (CUDA Runtime API, "Event Management").
struct Moment {
  cudaStream_t stream = nullptr;  ///< alive until the moment is reached
  bool reached = false;
  Clock::time_point when;
};

/// The next task of a stream: waits until `after` is reached, then runs `work`.
struct Item {
  std::shared_ptr<Moment> after;
  std::function<void()> work;
};

/// A graph that is being captured. Streams join it by waiting for an event that was recorded in it.
struct Capture {
  cudaStream_t origin = nullptr;
  CUgraph_st graph = {};
  std::vector<cudaStream_t> joined = {};  ///< all streams but the origin
  bool invalid = false;
  bool ended = false;
};

/// A position in a capture: the nodes that later work depends on.
struct CapturePoint {
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> after;
};

}  // namespace wellspring::stand_in

struct CUstream_st {
  std::deque<wellspring::stand_in::Item> queue;
  wellspring::stand_in::CapturePoint here;  ///< without a capture: not capturing
  bool destroyed = false;
};

namespace wellspring::stand_in {

/// The nodes of a graph in an order that respects their dependencies: a random order, or, without
/// `random`, one that runs the nodes captured last as early as possible. If no edge is missing,
/// results are identical.
std::vector<std::size_t> topological_order(const CUgraph_st& graph, std::mt19937* random);

/// All streams of the device. With seed 0, work runs only if a caller waits for it or for work that
/// depends on it: the device lags as far as possible, and streams meet only where events order
/// them. With other seeds, any call may run work of any stream, in random order.
class Streams {
 public:
  Streams(DeviceMemory& memory, unsigned seed) : memory_(memory), seed_(seed), random_(seed) {}

  cudaStream_t create();
  /// Returns immediately; work in the stream still runs (CUDA Runtime API, cudaStreamDestroy).
  void destroy(cudaStream_t stream);
  void enqueue(cudaStream_t stream, Item item);
  std::shared_ptr<Moment> record(cudaStream_t stream);
  /// With a seed other than 0, randomly runs some work.
  void let_time_pass();
  /// The order in which a launch of a graph runs its nodes.
  std::vector<std::size_t> order_of(const CUgraph_st& graph) {
    return topological_order(graph, seed_ == 0 ? nullptr : &random_);
  }

  // With seed 0, these are the only calls that run work.
  void finish(cudaStream_t stream);
  void reach(const Moment& moment);
  void finish_all();

 private:
  /// The stream to run next in order to reach the end of `wanted`.
  cudaStream_t next_for(cudaStream_t wanted);
  std::vector<cudaStream_t> runnable() const;
  void run_one(cudaStream_t stream);

  DeviceMemory& memory_;
  unsigned seed_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<CUstream_st>> streams_;
};

}  // namespace wellspring::stand_in
