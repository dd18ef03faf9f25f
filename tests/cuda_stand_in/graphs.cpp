// Graphs of the stand-in, and the runtime's information about kernels.
#include "core/io/files.h"
#include "kernels/runtime/step_graph.h"
#include "tests/cuda_stand_in/runtime.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace wellspring::stand_in;

struct CUgraphExec_st {
  CUgraph_st graph;
};

namespace {

/// The largest stack in the functor's row of bench/results/kernels.md; 0 for test functors.
std::size_t stack_of_report(const std::string& functor) {
  static const std::string report = wellspring::read_text(WELLSPRING_KERNEL_REPORT);
  const std::string row = "\n| `" + functor.substr(0, functor.find('<')) + "` |";
  std::size_t at = report.find(row);
  if (at == std::string::npos) return 0;
  const std::string line = report.substr(at + 1, report.find('\n', at + 1) - at - 1);
  const auto head = report.begin() + static_cast<std::ptrdiff_t>(report.find("| functor |"));
  const auto column = report.begin() + static_cast<std::ptrdiff_t>(report.find("stack, bytes"));
  std::size_t cell = 0;  // bar at the end of the column
  for (auto bars = std::count(head, column, '|'); bars > 0; --bars) cell = line.find('|', cell + 1);
  const std::string stack = line.substr(cell - 8, 7);  // "0 to 5296 " ends at the bar
  return std::strtoul(stack.c_str() + stack.rfind(' ', stack.size() - 2), nullptr, 10);
}

}  // namespace

namespace wellspring::stand_in {

cudaStreamCaptureMode& capture_mode() {
  thread_local cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  return mode;
}

}  // namespace wellspring::stand_in

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, capture_mode());
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  if (nodes == nullptr) {
    *count = graph->nodes.size();
    return cudaSuccess;
  }
  *count = std::min(*count, graph->nodes.size());
  for (std::size_t i = 0; i < *count; ++i) nodes[i] = graph->nodes[i].get();
  return cudaSuccess;
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData*, std::size_t* count) {
  std::size_t edges = 0;
  for (const auto& node : graph->nodes) {
    for (const std::size_t before : node->after) {
      if (from != nullptr && edges < *count) {
        from[edges] = graph->nodes[before].get();
        to[edges] = node.get();
      }
      ++edges;
    }
  }
  *count = from == nullptr ? edges : std::min(*count, edges);
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  *type = node->type;
  return cudaSuccess;
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* copy) {
  *copy = {nullptr, {const_cast<void*>(node->from)}, nullptr, {node->to}};
  return cudaSuccess;
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* kernel) {
  const auto& shape = node->shape;
  kernel->func = node;  // cudaFuncGetName below accepts it
  kernel->gridDim = {static_cast<unsigned>(shape.blocks)};
  kernel->blockDim = {static_cast<unsigned>(shape.threads), static_cast<unsigned>(shape.teams)};
  kernel->sharedMemBytes = static_cast<unsigned>(shape.scratch_bytes);
  return cudaSuccess;
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t, cudaGraph_t*) {
  return refuse(cudaErrorInvalidValue, __func__, "there are no child graphs");
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new CUgraphExec_st{*graph};
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;  // launches in flight hold their nodes
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  LOCKED;
  if (stream->here.capture) {
    stream->here.capture->invalid = true;
    return refuse(cudaErrorStreamCaptureUnsupported, __func__, "the stream is being captured");
  }
  for (const std::size_t i : runtime().streams.order_of(exec->graph)) {
    const auto node = exec->graph.nodes[i];
    runtime().streams.enqueue(stream, {nullptr, [node, all = runtime().footprints] {
                                         if (all == nullptr) return node->work();
                                         Footprint& own = all->emplace_back(Footprint{node->name});
                                         runtime().device.measure(node->work, own);
                                       }});
  }
  return cudaSuccess;
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  *name = static_cast<const CUgraphNode_st*>(function)->name.c_str();
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  const std::string_view name = static_cast<const HostKernel*>(function)->name;
  *attributes = {0, stack_of_report(wellspring::functor_name(name))};
  return cudaSuccess;
}
