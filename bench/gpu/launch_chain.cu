// Launch cost of 50 dependent empty kernels, like the kernels of a small network's training step:
// launched one by one, as a graph, with programmatic dependent launch, in two branches, and as a
// graph of eight steps. This cost is a lower bound on the time of a step.
//
//     launch_chain [DEVICE]        default: cuda:0
//
// Prints one JSON object per line, and {"end": ROWS} last. Exit codes: core/error.h.
#include "core/error.h"
#include "core/measure/spread.h"
#include "kernels/runtime/cuda_check.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/stream.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace wellspring::bench {
namespace {

constexpr int kNodes = 50;          // about as many as in the quickstart's step
constexpr int kStepsOfGraph = 8;    // in the largest graph
constexpr int kWindows = 11;        // per method; methods alternate
constexpr double kShortest = 0.02;  // seconds per window, long compared with clock and scheduler
constexpr int kIdleLaunches = 101;  // on an idle device

__global__ void empty() {}

/// Follows the protocol of programmatic dependent launch: lets the next kernel be scheduled at
/// once, and waits for the writes of the previous one.
__global__ void dependent() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
}

class Event {
 public:
  Event() { WS_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() { WS_CUDA_REPORT(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Two streams. The second forks from the first and joins it again.
struct Streams {
  explicit Streams(Device device) : first(device), second(device) {}
  cudaStream_t main() const { return static_cast<cudaStream_t>(first.native()); }
  cudaStream_t branch() const { return static_cast<cudaStream_t>(second.native()); }

  Stream first, second;
  Event forked, joined;
};

void launch_empty(cudaStream_t stream, int count) {
  for (int i = 0; i < count; ++i) {
    empty<<<1, 32, 0, stream>>>();
    WS_CUDA_CHECK(cudaGetLastError());
  }
}

void chain(Streams& streams) {
  launch_empty(streams.main(), kNodes);
}

void dependent_chain(Streams& streams) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(1);
  launch.blockDim = dim3(32);
  launch.stream = streams.main();
  launch.attrs = &early;
  launch.numAttrs = 1;
  for (int i = 0; i < kNodes; ++i) WS_CUDA_CHECK(cudaLaunchKernelEx(&launch, dependent));
}

void two_branches(Streams& streams) {
  WS_CUDA_CHECK(cudaEventRecord(streams.forked.get(), streams.main()));
  WS_CUDA_CHECK(cudaStreamWaitEvent(streams.branch(), streams.forked.get(), 0));
  launch_empty(streams.main(), kNodes / 2);
  launch_empty(streams.branch(), kNodes - kNodes / 2);
  WS_CUDA_CHECK(cudaEventRecord(streams.joined.get(), streams.branch()));
  WS_CUDA_CHECK(cudaStreamWaitEvent(streams.main(), streams.joined.get(), 0));
}

using Step = void (*)(Streams&);

/// A captured and instantiated graph of `steps` steps.
class Graph {
 public:
  Graph(Streams& streams, Step step, int steps) {
    cudaGraph_t graph = nullptr;
    WS_CUDA_CHECK(cudaStreamBeginCapture(streams.main(), cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < steps; ++i) step(streams);
    WS_CUDA_CHECK(cudaStreamEndCapture(streams.main(), &graph));
    WS_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &nodes_));
    WS_CUDA_CHECK(cudaGraphInstantiate(&graph_, graph, 0));
    WS_CUDA_CHECK(cudaGraphDestroy(graph));
  }
  ~Graph() { WS_CUDA_REPORT(cudaGraphExecDestroy(graph_)); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::size_t nodes() const { return nodes_; }
  void launch(Streams& streams) const { WS_CUDA_CHECK(cudaGraphLaunch(graph_, streams.main())); }

 private:
  cudaGraphExec_t graph_ = nullptr;
  std::size_t nodes_ = 0;
};

using Clock = std::chrono::steady_clock;
double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// A method of running the steps, and its times in microseconds.
class Way {
 public:
  Way(std::string name, Streams& streams, Step step)
      : name_(std::move(name)), streams_(streams), step_(step) {}
  Way(std::string name, Streams& streams, Step step, int steps_of_graph)
      : name_(std::move(name)),
        streams_(streams),
        step_(step),
        steps_(steps_of_graph),
        graph_(std::make_unique<Graph>(streams, step, steps_of_graph)) {
    if (graph_->nodes() != static_cast<std::size_t>(kNodes) * static_cast<std::size_t>(steps_)) {
      fail(ErrorKind::runtime,
           {name_ + ": the graph has " + std::to_string(graph_->nodes()) + " nodes",
            "expected " + std::to_string(kNodes) + " per step"});
    }
  }

  /// Measures one launch at a time: host time of the launch, and time until the device is done.
  void measure_idle() {
    for (int i = 0; i < kIdleLaunches; ++i) {
      streams_.first.synchronize();
      const auto begin = Clock::now();
      enqueue();
      host_.push_back(microseconds_since(begin) / steps_);
      streams_.first.synchronize();
      alone_.push_back(microseconds_since(begin) / steps_);
    }
    launches_ = static_cast<int>(std::ceil(1e6 * kShortest / (spread_of(alone_).median * steps_)));
  }
  /// Measures enough launches to fill a window; the queue never runs empty.
  void measure_window() {
    streams_.first.synchronize();
    const auto begin = Clock::now();
    for (int i = 0; i < launches_; ++i) enqueue();
    streams_.first.synchronize();
    window_.push_back(microseconds_since(begin) / (launches_ * steps_));
  }

  nlohmann::json row() const {
    const Interval interval = median_interval(window_).value();
    return {{"name", name_},
            {"nodes_per_step", kNodes},
            {"steps_a_launch", steps_},
            {"us_per_step", spread_of(window_).median},
            {"us_per_step_interval", {interval.low, interval.high}},
            {"us_per_step_alone", spread_of(alone_).median},
            {"host_us_per_step", spread_of(host_).median}};
  }

 private:
  void enqueue() {
    if (graph_) {
      graph_->launch(streams_);
    } else {
      step_(streams_);
    }
  }

  std::string name_;
  Streams& streams_;
  Step step_;
  int steps_ = 1, launches_ = 1;
  std::unique_ptr<Graph> graph_;
  std::vector<double> host_, alone_, window_;
};

void run(const std::string& name) {
  const Device device = Device::parse(name);
  if (!device.is_cuda()) {
    fail(ErrorKind::config, {"launch_chain: '" + name + "' is not a GPU", "", "use cuda:0"});
  }
  const cuda::DeviceScope scope(device.index);
  Streams streams(device);
  std::vector<Way> ways;
  ways.emplace_back("stream", streams, chain);
  ways.emplace_back("graph", streams, chain, 1);
  ways.emplace_back("graph, two branches", streams, two_branches, 1);
  ways.emplace_back("graph of 8 steps", streams, chain, kStepsOfGraph);
  if (describe(device).compute_capability >= 90) {
    ways.emplace_back("stream, dependent launch", streams, dependent_chain);
    ways.emplace_back("graph, dependent launch", streams, dependent_chain, 1);
    ways.emplace_back("graph of 8 steps, dependent launch", streams, dependent_chain,
                      kStepsOfGraph);
  }
  for (Way& way : ways) way.measure_idle();
  for (int i = 0; i < kWindows; ++i) {
    for (Way& way : ways) way.measure_window();
  }
  for (const Way& way : ways) std::printf("%s\n", way.row().dump().c_str());
  std::printf("{\"end\": %zu}\n", ways.size());
}

}  // namespace
}  // namespace wellspring::bench

int main(int argc, char** argv) {
  try {
    wellspring::bench::run(argc > 1 ? argv[1] : "cuda:0");
    return 0;
  } catch (const wellspring::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return error.exit_code();
  }
}
