// Tests of the stand-in itself: it must be late wherever a GPU may be late, and refuse what CUDA
// refuses.
#include "tests/cuda_stand_in/memory.h"
#include "tests/cuda_stand_in/streams.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace wellspring::stand_in {
namespace {

void expect_success(cudaError_t status) {
  EXPECT_EQ(status, cudaSuccess) << cudaGetErrorName(status);
}

struct StreamOf {
  StreamOf() { expect_success(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking)); }
  ~StreamOf() { expect_success(cudaStreamDestroy(native)); }
  StreamOf(const StreamOf&) = delete;
  StreamOf& operator=(const StreamOf&) = delete;
  void run(std::function<void()> work) { launch_kernel(native, "kernel", std::move(work)); }
  void synchronize() { expect_success(cudaStreamSynchronize(native)); }
  cudaStream_t native = nullptr;
};

struct EventOf {
  explicit EventOf(unsigned flags = cudaEventDefault) {
    expect_success(cudaEventCreateWithFlags(&native, flags));
  }
  ~EventOf() { expect_success(cudaEventDestroy(native)); }
  EventOf(const EventOf&) = delete;
  EventOf& operator=(const EventOf&) = delete;
  void record(const StreamOf& stream) { expect_success(cudaEventRecord(native, stream.native)); }
  void wait(const StreamOf& stream) {
    expect_success(cudaStreamWaitEvent(stream.native, native, 0));
  }
  cudaEvent_t native = nullptr;
};

struct DeviceInts {
  explicit DeviceInts(std::size_t count) : bytes(count * sizeof(int)) {
    void* block = nullptr;
    expect_success(cudaMalloc(&block, bytes));
    data = static_cast<int*>(block);
  }
  ~DeviceInts() { expect_success(cudaFree(data)); }
  DeviceInts(const DeviceInts&) = delete;
  DeviceInts& operator=(const DeviceInts&) = delete;
  std::size_t bytes;
  int* data;
};

struct PinnedInts {
  explicit PinnedInts(std::size_t count) {
    void* block = nullptr;
    expect_success(cudaHostAlloc(&block, count * sizeof(int), cudaHostAllocDefault));
    data = static_cast<int*>(block);
  }
  ~PinnedInts() { expect_success(cudaFreeHost(data)); }
  PinnedInts(const PinnedInts&) = delete;
  PinnedInts& operator=(const PinnedInts&) = delete;
  int* data;
};

// Order. These tests run with seed 0 (see CMakeLists.txt), so only waits make work run.

TEST(StandIn, RunsNothingBeforeAWait) {
  StreamOf stream, other;
  int value = 0, others = 0;
  other.run([&] { others = 1; });
  stream.run([&] { value = 1; });
  stream.run([&] { value *= 2; });
  EXPECT_EQ(value, 0);
  stream.synchronize();
  EXPECT_EQ(value, 2) << "work must run in order";
  EXPECT_EQ(others, 0) << "a stream must wait only for itself";
  expect_success(cudaDeviceSynchronize());
  EXPECT_EQ(others, 1);
}

TEST(StandIn, FinishesADestroyedStreamLater) {
  int value = 0;
  {
    StreamOf stream;
    stream.run([&] { value = 1; });
  }
  EXPECT_EQ(value, 0);
  expect_success(cudaDeviceSynchronize());
  EXPECT_EQ(value, 1);
}

TEST(StandIn, RunsAStreamUpToTheRecordOfAnEvent) {
  StreamOf stream;
  EventOf event;
  int value = 0;
  stream.run([&] { value = 1; });
  event.record(stream);
  stream.run([&] { value = 2; });
  EXPECT_EQ(cudaEventQuery(event.native), cudaErrorNotReady);
  expect_success(cudaEventSynchronize(event.native));
  EXPECT_EQ(value, 1);
  expect_success(cudaEventQuery(event.native));
  stream.synchronize();
}

TEST(StandIn, WaitsForTheLatestRecordAtTheTimeOfTheCall) {
  StreamOf first, second;
  EventOf event;
  int value = 0, seen = -1;
  event.wait(second);  // has no effect, because there is no record
  second.synchronize();
  first.run([&] { value = 1; });
  event.record(first);
  event.wait(second);
  first.run([&] { value = 2; });
  event.record(first);  // the wait ignores this record
  second.run([&] { seen = value; });
  second.synchronize();
  EXPECT_EQ(seen, 1);
  first.synchronize();
}

TEST(StandIn, TreatsAnUnrecordedEventAsComplete) {
  EventOf event;
  expect_success(cudaEventQuery(event.native));
  expect_success(cudaEventSynchronize(event.native));
}

TEST(StandIn, RefusesElapsedTimesOfUnreachedRecords) {
  StreamOf stream;
  EventOf begin, end, untimed(cudaEventDisableTiming);
  float milliseconds = -1;
  begin.record(stream);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin.native, end.native),
            cudaErrorInvalidResourceHandle);
  end.record(stream);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin.native, end.native), cudaErrorNotReady);
  untimed.record(stream);
  stream.synchronize();
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin.native, untimed.native),
            cudaErrorInvalidResourceHandle);
  expect_success(cudaEventElapsedTime(&milliseconds, begin.native, end.native));
  EXPECT_GE(milliseconds, 0);
}

/// The order in which the ten items of each of two streams ran, under a seed.
std::vector<int> order_under(unsigned seed) {
  DeviceMemory memory;
  Streams streams(memory, seed);
  const cudaStream_t stream[] = {streams.create(), streams.create()};
  std::vector<int> order;
  for (int i = 0; i < 10; ++i) {
    for (const int s : {0, 1}) {
      streams.enqueue(stream[s], {nullptr, [&order, s, i] { order.push_back(2 * i + s); }});
    }
  }
  streams.finish_all();
  return order;
}

TEST(StandIn, KeepsEachStreamsOrderUnderAnySeed) {
  std::vector<std::vector<int>> orders;
  for (const unsigned seed : {0u, 1u, 2u, 3u}) {
    const std::vector<int> order = order_under(seed);
    EXPECT_EQ(order, order_under(seed)) << "a seed must repeat its order";
    for (const int s : {0, 1}) {
      int next = s;
      for (const int item : order) {
        if (item % 2 != s) continue;
        EXPECT_EQ(item, next);
        next += 2;
      }
      EXPECT_EQ(next, 20 + s) << "everything must have run";
    }
    for (const auto& other : orders) EXPECT_NE(order, other);
    orders.push_back(order);
  }
}

// Memory

TEST(StandInDeathTest, FaultsWhenTheHostTouchesDeviceMemory) {
  const DeviceInts there(4);
  EXPECT_DEATH(std::fprintf(stderr, "%d", there.data[0]), "");
  EXPECT_DEATH(there.data[3] = 1, "");
  StreamOf stream;
  int seen = 0;
  stream.run([&] {
    there.data[3] = 5;
    seen = there.data[3];
  });
  stream.synchronize();
  EXPECT_EQ(seen, 5);
  EXPECT_DEATH(there.data[3] = 1, "") << "memory must be closed again";
}

TEST(StandInDeathTest, FaultsWhenAKernelRunsPastABlock) {
  const DeviceInts there(64);  // 256 bytes need no padding for alignment
  StreamOf stream;
  const auto write_behind = [&] {
    stream.run([&] { *(there.data + 64) = 1; });
    stream.synchronize();
  };
  EXPECT_DEATH(write_behind(), "");
}

TEST(StandIn, FillsFreshDeviceMemoryWithAPattern) {
  const DeviceInts there(100);
  std::vector<int> here(100);
  expect_success(cudaMemcpy(here.data(), there.data, there.bytes, cudaMemcpyDeviceToHost));
  for (const int value : here) EXPECT_NE(value, 0);
}

TEST(StandIn, ReportsTheMemoryOfAPointer) {
  const DeviceInts there(4);
  const PinnedInts pinned(4);
  const int plain = 0;
  const auto type_of = [](const void* pointer) {
    cudaPointerAttributes attributes{};
    expect_success(cudaPointerGetAttributes(&attributes, pointer));
    return attributes.type;
  };
  EXPECT_EQ(type_of(there.data + 3), cudaMemoryTypeDevice);
  EXPECT_EQ(type_of(pinned.data + 3), cudaMemoryTypeHost);
  EXPECT_EQ(type_of(&plain), cudaMemoryTypeUnregistered);
}

// Copies

TEST(StandIn, RefusesCopiesOfTheWrongKindOrSize) {
  const DeviceInts there(4), twin(4);
  const PinnedInts here(8);
  StreamOf stream;
  const auto copy = [&](void* to, const void* from, cudaMemcpyKind kind, std::size_t bytes = 16) {
    return cudaMemcpyAsync(to, from, bytes, kind, stream.native);
  };
  EXPECT_EQ(copy(there.data, here.data, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(copy(twin.data, there.data, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(copy(here.data, twin.data, cudaMemcpyDeviceToHost), cudaSuccess);
  for (const cudaMemcpyKind kind : {cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice}) {
    EXPECT_EQ(copy(there.data, here.data, kind), cudaErrorInvalidValue) << kind;
  }
  for (const cudaMemcpyKind kind : {cudaMemcpyHostToDevice, cudaMemcpyDeviceToDevice}) {
    EXPECT_EQ(copy(here.data, there.data, kind), cudaErrorInvalidValue) << kind;
  }
  EXPECT_EQ(copy(there.data, here.data, cudaMemcpyHostToDevice, 17), cudaErrorInvalidValue);
  EXPECT_EQ(copy(here.data, there.data + 1, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(here.data, there.data, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(there.data, 0, 17), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the error must be reported once";
  stream.synchronize();
}

TEST(StandIn, ReadsPinnedMemoryLateAndPageableMemoryImmediately) {
  const DeviceInts from_pinned(1), from_pageable(1);
  const PinnedInts pinned(1), result(2);
  StreamOf stream;
  int pageable = 1;
  *pinned.data = 1;
  const auto up = cudaMemcpyHostToDevice, down = cudaMemcpyDeviceToHost;
  expect_success(cudaMemcpyAsync(from_pinned.data, pinned.data, 4, up, stream.native));
  expect_success(cudaMemcpyAsync(from_pageable.data, &pageable, 4, up, stream.native));
  *pinned.data = pageable = 2;
  expect_success(cudaMemcpyAsync(result.data, from_pinned.data, 4, down, stream.native));
  expect_success(cudaMemcpyAsync(result.data + 1, from_pageable.data, 4, down, stream.native));
  result.data[0] = result.data[1] = -1;
  stream.synchronize();
  EXPECT_EQ(result.data[0], 2) << "writing too early must change the copy";
  EXPECT_EQ(result.data[1], 1);
  // A copy to pageable memory returns only when it is done.
  expect_success(cudaMemcpyAsync(&pageable, from_pinned.data, 4, down, stream.native));
  EXPECT_EQ(pageable, 2);
}

TEST(StandIn, DelaysEvenSynchronousFills) {
  const DeviceInts there(1);
  StreamOf stream;
  const PinnedInts here(1);
  expect_success(cudaMemset(there.data, 0, 4));
  // Non-blocking streams are not ordered with the default stream.
  expect_success(cudaMemcpyAsync(here.data, there.data, 4, cudaMemcpyDeviceToHost, stream.native));
  stream.synchronize();
  EXPECT_NE(*here.data, 0);
  expect_success(cudaDeviceSynchronize());
  expect_success(cudaMemcpy(here.data, there.data, 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(*here.data, 0);
}

// Captures

cudaGraph_t end_capture(const StreamOf& stream) {
  cudaGraph_t graph = nullptr;
  expect_success(cudaStreamEndCapture(stream.native, &graph));
  return graph;
}

void begin_capture(const StreamOf& stream) {
  expect_success(cudaStreamBeginCapture(stream.native, cudaStreamCaptureModeThreadLocal));
}

TEST(StandIn, CapturesWithoutRunningAndReplaysInOrder) {
  StreamOf stream;
  int value = 1;
  begin_capture(stream);
  stream.run([&] { value += 1; });
  stream.run([&] { value *= 3; });
  const cudaGraph_t graph = end_capture(stream);
  stream.synchronize();
  EXPECT_EQ(value, 1);
  std::size_t count = 0;
  expect_success(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 2u);
  cudaGraphExec_t exec = nullptr;
  expect_success(cudaGraphInstantiate(&exec, graph, 0));
  expect_success(cudaGraphDestroy(graph));
  expect_success(cudaGraphLaunch(exec, stream.native));
  expect_success(cudaGraphLaunch(exec, stream.native));
  expect_success(cudaGraphExecDestroy(exec));  // while both launches are in flight
  EXPECT_EQ(value, 1);
  stream.synchronize();
  EXPECT_EQ(value, 21);
}

/// Replays a graph once.
void replay(cudaGraph_t graph, StreamOf& stream) {
  cudaGraphExec_t exec = nullptr;
  expect_success(cudaGraphInstantiate(&exec, graph, 0));
  expect_success(cudaGraphDestroy(graph));
  expect_success(cudaGraphLaunch(exec, stream.native));
  expect_success(cudaGraphExecDestroy(exec));
  stream.synchronize();
}

/// Work on two streams: the side stream begins after `x`, and `z` needs both. With `late`, the join
/// comes after `z` instead of before it.
void capture_fork(StreamOf& stream, StreamOf& side, bool late, int (&values)[3]) {
  EventOf fork, join;
  auto& [x, y, z] = values;
  begin_capture(stream);
  stream.run([&x] { x = 1; });
  fork.record(stream);
  fork.wait(side);
  side.run([&x, &y] { y = x + 1; });
  join.record(side);
  if (!late) join.wait(stream);
  stream.run([&y, &z] { z = y + 1; });
  if (late) join.wait(stream);
}

TEST(StandIn, CapturesForksAndJoinsOfStreams) {
  StreamOf stream, side;
  int values[3] = {};
  capture_fork(stream, side, false, values);
  cudaStreamCaptureStatus status{};
  expect_success(cudaStreamIsCapturing(side.native, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  const cudaGraph_t graph = end_capture(stream);
  expect_success(cudaStreamIsCapturing(side.native, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  replay(graph, stream);
  EXPECT_EQ(values[2], 3);
}

// The order of the calls would hide that an edge is missing.
TEST(StandIn, ShowsAMissingEdge) {
  StreamOf stream, side;
  int values[3] = {};
  capture_fork(stream, side, true, values);
  replay(end_capture(stream), stream);
  EXPECT_EQ(values[2], 1) << "z must not see y";
}

/// Results of two branches that each write a workspace and read it, in the order of a seed.
std::pair<int, int> run_branches(int& mine, int& yours, unsigned seed) {
  StreamOf stream, side;
  EventOf fork, join;
  std::pair<int, int> read;
  begin_capture(stream);
  fork.record(stream);
  fork.wait(side);
  stream.run([&mine] { mine = 1; });
  side.run([&yours] { yours = 2; });
  stream.run([&mine, &read] { read.first = mine; });
  side.run([&yours, &read] { read.second = yours; });
  join.record(side);
  join.wait(stream);
  const cudaGraph_t graph = end_capture(stream);
  std::mt19937 random(seed);
  for (const std::size_t node : topological_order(*graph, &random)) graph->nodes[node]->work();
  expect_success(cudaGraphDestroy(graph));
  return read;
}

TEST(StandIn, ShowsASharedWorkspaceUnderSomeSeeds) {
  int mine = 0, yours = 0, wrong = 0;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    EXPECT_EQ(run_branches(mine, yours, seed), std::pair(1, 2));
    wrong += run_branches(mine, mine, seed) != std::pair(1, 2);
  }
  EXPECT_GT(wrong, 0);
}

TEST(StandIn, ReplaysInADifferentTopologicalOrderPerSeed) {
  CUgraph_st graph;  // a fork into three chains of two nodes, and their join
  const std::vector<std::size_t> after[] = {{}, {0}, {1}, {0}, {3}, {0}, {5}, {2, 4, 6}};
  for (const auto& nodes : after) {
    graph.nodes.push_back(std::make_shared<CUgraphNode_st>());
    graph.nodes.back()->after = nodes;
  }
  std::set<std::vector<std::size_t>> orders = {topological_order(graph, nullptr)};
  EXPECT_EQ(*orders.begin(), (std::vector<std::size_t>{0, 5, 6, 3, 4, 1, 2, 7}));
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    std::mt19937 random(seed), same(seed);
    const std::vector<std::size_t> order = topological_order(graph, &random);
    EXPECT_EQ(order, topological_order(graph, &same)) << "a seed must repeat its order";
    std::set<std::size_t> done;
    for (const std::size_t node : order) {
      for (const std::size_t before : after[node]) EXPECT_TRUE(done.contains(before));
      done.insert(node);
    }
    EXPECT_EQ(done.size(), std::size(after));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 2u);
}

TEST(StandIn, RefusesUnjoinedAndForeignCaptures) {
  StreamOf stream, side, third;
  EventOf fork, join;
  cudaGraph_t graph = nullptr;
  begin_capture(stream);
  fork.record(stream);
  fork.wait(side);
  side.run([] {});
  EXPECT_EQ(cudaStreamEndCapture(stream.native, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(cudaEventQuery(fork.native), cudaErrorCapturedEvent);
  EXPECT_EQ(cudaStreamWaitEvent(third.native, fork.native, 0), cudaErrorStreamCaptureIsolation)
      << "the capture has ended";
  fork.record(stream);
  fork.wait(third);
  third.synchronize();
}

TEST(StandIn, RefusesUnsafeCallsInACapture) {
  StreamOf stream, other;
  EventOf event;
  event.record(other);
  const DeviceInts there(1);
  void* block = nullptr;
  const std::function<cudaError_t()> unsafe[] = {
      [&] { return cudaStreamSynchronize(stream.native); },
      [&] { return cudaStreamSynchronize(other.native); },
      [&] { return cudaDeviceSynchronize(); },
      [&] { return cudaEventSynchronize(event.native); },
      [&] { return cudaEventQuery(event.native); },
      [&] { return cudaStreamWaitEvent(stream.native, event.native, 0); },
      [&] { return cudaMalloc(&block, 4); },
      [&] { return cudaHostAlloc(&block, 4, cudaHostAllocDefault); },
      [&] { return cudaMemset(there.data, 0, 4); },
  };
  for (const auto& call : unsafe) {
    begin_capture(stream);
    EXPECT_NE(call(), cudaSuccess);
    cudaStreamCaptureStatus status{};
    expect_success(cudaStreamIsCapturing(stream.native, &status));
    EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream.native, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
  }
  // Another thread, such as a loader, may continue while this one captures.
  begin_capture(stream);
  std::thread([&] { other.synchronize(); }).join();
  expect_success(cudaGraphDestroy(end_capture(stream)));
}

}  // namespace
}  // namespace wellspring::stand_in
