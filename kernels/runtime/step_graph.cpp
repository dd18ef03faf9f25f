#include "kernels/runtime/step_graph.h"

#include "core/error.h"
#include "core/text/demangled.h"
#include "kernels/runtime/cuda_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace wellspring {
namespace {

int& counter_of(GraphCensus& census, NodeKind kind) {
  switch (kind) {
    case NodeKind::kernel:
      return census.kernels;
    case NodeKind::memset:
      return census.memsets;
    case NodeKind::copy_on_device:
      return census.copies_on_device;
    case NodeKind::host_to_device:
      return census.host_to_device;
    case NodeKind::device_to_host:
      return census.device_to_host;
    case NodeKind::host:
      return census.host_nodes;
  }
  return census.other;
}

void require_same_device(const Stream& stream, Device recorded) {
  if (stream.device() == recorded) return;
  throw std::logic_error(fmt::format("a graph recorded on {} was launched on {}",
                                     recorded.to_string(), stream.device().to_string()));
}

[[noreturn]] void refuse_nested() {
  throw std::logic_error("a step graph cannot be recorded or launched inside another recording");
}

/// The CPU's graph: runs the recorded closures in order.
class HostGraph final : public StepGraph, private WorkRecorder {
 public:
  HostGraph(Stream& stream, const std::function<void(Stream&)>& body) : device_(stream.device()) {
    const Recording recording(stream, *this);
    body(stream);
  }

  void launch(Stream& stream) override {
    require_same_device(stream, device_);
    if (stream.recording()) refuse_nested();
    for (const auto& work : nodes_) work();
  }
  const GraphCensus& census() const override { return census_; }

 private:
  void add(NodeKind kind, std::string_view name, std::function<void()> work) override {
    ++counter_of(census_, kind);
    census_.nodes.push_back({kind, std::string(name)});
    ++census_.longest_path;
    nodes_.push_back(std::move(work));
  }

  Device device_;
  GraphCensus census_;
  std::vector<std::function<void()>> nodes_;
};

#if WELLSPRING_CUDA

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const noexcept { WS_CUDA_REPORT(cudaGraphDestroy(graph)); }
};
struct DestroyExec {
  void operator()(cudaGraphExec_t exec) const noexcept {
    WS_CUDA_REPORT(cudaGraphExecDestroy(exec));
  }
};
using GraphPtr = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;
using ExecPtr = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyExec>;

bool is_on_device(const void* pointer) {
  cudaPointerAttributes attributes{};
  WS_CUDA_CHECK(cudaPointerGetAttributes(&attributes, pointer));
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

/// Derives the kind from the pointers, because the declared kind may be cudaMemcpyDefault. Arrays
/// (textures) are always on the device.
NodeKind copy_kind(cudaGraphNode_t node) {
  cudaMemcpy3DParms copy{};
  WS_CUDA_CHECK(cudaGraphMemcpyNodeGetParams(node, &copy));
  const bool from_device = copy.srcArray != nullptr || is_on_device(copy.srcPtr.ptr);
  const bool to_device = copy.dstArray != nullptr || is_on_device(copy.dstPtr.ptr);
  if (from_device && to_device) return NodeKind::copy_on_device;
  if (to_device) return NodeKind::host_to_device;
  if (from_device) return NodeKind::device_to_host;
  return NodeKind::host;  // host to host
}

GraphNode kernel_node(cudaGraphNode_t node) {
  GraphNode out = {NodeKind::kernel, "kernel"};
  out.library = true;
  cudaKernelNodeParams kernel{};
  const char* name = nullptr;
  // The runtime does not know the symbols of kernels that libraries load through the driver.
  if (cudaGraphKernelNodeGetParams(node, &kernel) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return out;
  }
  out.shape = {std::int64_t{kernel.gridDim.x} * kernel.gridDim.y * kernel.gridDim.z,
               static_cast<int>(kernel.blockDim.x), kernel.sharedMemBytes,
               static_cast<int>(kernel.blockDim.y * kernel.blockDim.z)};
  if (cudaFuncGetName(&name, kernel.func) != cudaSuccess || name == nullptr) {
    static_cast<void>(cudaGetLastError());
    return out;
  }
  out.name = demangled(name);
  if (std::string functor = functor_name(out.name); !functor.empty()) {
    out.name = std::move(functor);
    out.library = false;
  }
  return out;
}

int count(cudaGraph_t graph, GraphCensus& census);

/// Adds a node. Returns its length on a path: 1, 0 for an empty node, or the longest path of a child
/// graph.
int count_node(cudaGraphNode_t node, GraphCensus& census) {
  cudaGraphNodeType type{};
  WS_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
  const auto add = [&census](NodeKind kind, std::string name) {
    ++counter_of(census, kind);
    census.nodes.push_back({kind, std::move(name)});
    return 1;
  };
  switch (type) {
    case cudaGraphNodeTypeKernel:
      ++census.kernels;
      census.nodes.push_back(kernel_node(node));
      return 1;
    case cudaGraphNodeTypeMemset:
      return add(NodeKind::memset, "memset");
    case cudaGraphNodeTypeMemcpy:
      return add(copy_kind(node), "memcpy");
    case cudaGraphNodeTypeHost:
      return add(NodeKind::host, "host");
    case cudaGraphNodeTypeEmpty:
      return 0;  // only joins edges: no work
    case cudaGraphNodeTypeGraph: {
      cudaGraph_t child = nullptr;
      WS_CUDA_CHECK(cudaGraphChildGraphNodeGetGraph(node, &child));
      return count(child, census);
    }
    default:
      ++census.other;
      census.nodes.push_back(
          {NodeKind::host, fmt::format("node of type {}", static_cast<int>(type))});
      return 1;
  }
}

/// The longest path of a graph without cycles: a node's path ends with it. Each round lengthens the
/// paths by an edge or more, so there are at most as many rounds as nodes.
int longest_path(cudaGraph_t graph, const std::unordered_map<cudaGraphNode_t, int>& lengths) {
  std::size_t size = 0;
  WS_CUDA_CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &size));
  std::vector<cudaGraphNode_t> from(size), to(size);
  // Without memory for the data, CUDA refuses edges of programmatic launches, which libraries use.
  std::vector<cudaGraphEdgeData> data(size);
  if (size != 0)
    WS_CUDA_CHECK(cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &size));
  std::unordered_map<cudaGraphNode_t, int> paths = lengths;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < size; ++i) {
      const int path = paths.at(from[i]) + lengths.at(to[i]);
      if (path <= paths.at(to[i])) continue;
      paths.at(to[i]) = path;
      changed = true;
    }
  }
  int longest = 0;
  for (const auto& [node, path] : paths) longest = std::max(longest, path);
  return longest;
}

/// Adds the nodes of a graph. Returns its longest path.
int count(cudaGraph_t graph, GraphCensus& census) {
  std::size_t size = 0;
  WS_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &size));
  std::vector<cudaGraphNode_t> nodes(size);
  if (size != 0) WS_CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &size));
  std::unordered_map<cudaGraphNode_t, int> lengths;
  for (const cudaGraphNode_t node : nodes) lengths.emplace(node, count_node(node, census));
  return longest_path(graph, lengths);
}

bool capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  WS_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

/// Captures the work that `body` enqueues. In thread-local mode, other threads (such as a loader's
/// uploads) may call CUDA at the same time.
GraphPtr capture(Stream& stream, const std::function<void(Stream&)>& body) {
  const auto native = static_cast<cudaStream_t>(stream.native());
  if (capturing(native)) refuse_nested();
  WS_CUDA_CHECK(cudaStreamBeginCapture(native, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    body(stream);
  } catch (...) {
    // The capture must end in any case, but the error to report is the body's own.
    if (cudaStreamEndCapture(native, &graph) == cudaSuccess && graph != nullptr) {
      WS_CUDA_REPORT(cudaGraphDestroy(graph));
    }
    static_cast<void>(cudaGetLastError());
    throw;
  }
  WS_CUDA_CHECK(cudaStreamEndCapture(native, &graph));
  return GraphPtr(graph);
}

class CudaGraph final : public StepGraph {
 public:
  CudaGraph(Stream& stream, const std::function<void(Stream&)>& body) : device_(stream.device()) {
    const cuda::DeviceScope scope(device_.index);
    const GraphPtr graph = capture(stream, body);
    census_.longest_path = count(graph.get(), census_);
    cudaGraphExec_t exec = nullptr;
    WS_CUDA_CHECK(cudaGraphInstantiate(&exec, graph.get(), 0));
    exec_.reset(exec);
    // Does the set-up of the first launch now, so that it is not timed.
    WS_CUDA_CHECK(cudaGraphUpload(exec, static_cast<cudaStream_t>(stream.native())));
  }

  void launch(Stream& stream) override {
    require_same_device(stream, device_);
    const cuda::DeviceScope scope(device_.index);
    WS_CUDA_CHECK(cudaGraphLaunch(exec_.get(), static_cast<cudaStream_t>(stream.native())));
  }
  const GraphCensus& census() const override { return census_; }

 private:
  Device device_;
  GraphCensus census_;
  ExecPtr exec_;
};

#endif  // WELLSPRING_CUDA

}  // namespace

std::string functor_name(std::string_view kernel) {
  // "... cuda::map_kernel() [with F = NAME]" or "void ...::run_map<NAME>(...::MapBlock<NAME>)"
  constexpr std::string_view kOwn = "wellspring::";
  std::string_view name;
  if (const std::size_t at = kernel.find("[with F = "); at != kernel.npos) {
    name = kernel.substr(at + 10, kernel.rfind(']') - at - 10);
  } else {
    for (const auto& [launcher, block] : {std::pair<std::string_view, std::string_view>{
                                              "cuda::run_map<", ">(wellspring::MapBlock<"},
                                          {"cuda::run_league<", ">(wellspring::LeagueBlock<"}}) {
      const std::size_t begin = kernel.find(launcher), end = kernel.find(block);
      if (begin == kernel.npos || end == kernel.npos) continue;
      name = kernel.substr(begin + launcher.size(), end - begin - launcher.size());
    }
  }
  std::string out(name);
  for (std::size_t at; (at = out.find(kOwn)) != out.npos;) out.erase(at, kOwn.size());
  std::erase(out, ' ');
  return out;
}

std::unique_ptr<StepGraph> StepGraph::record(Stream& stream,
                                             const std::function<void(Stream&)>& body) {
#if WELLSPRING_CUDA
  if (stream.device().is_cuda()) return std::make_unique<CudaGraph>(stream, body);
#endif
  if (stream.recording()) refuse_nested();
  return std::make_unique<HostGraph>(stream, body);
}

}  // namespace wellspring
