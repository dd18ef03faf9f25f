// The training step as a graph. It is recorded once and replayed every step without host work. Host
// only. On CUDA it is a captured CUDA graph. On the CPU it is a list of closures with the same
// interface, so that loop, ordering, counters and census can be tested without a GPU.
#pragma once

#include "kernels/runtime/kernel_handle.h"
#include "kernels/runtime/stream.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

enum class GraphMode : std::uint8_t {
  off,    ///< eager: the body runs every step
  on,     ///< recorded once, then replayed
  check,  ///< runs both ways from the same state; fails unless the results are bit-identical
};

/// A node of a recorded step.
struct GraphNode {
  NodeKind kind = NodeKind::kernel;
  std::string name = {};   ///< a kernel's functor; on the CPU, the name of the launch
  LaunchShape shape = {};  ///< blocks, threads and scratch of a kernel on a GPU
  bool library = false;    ///< a kernel of cuDNN, cuBLASLt or NCCL
};

/// Number of nodes of a recorded step, by kind, including child graphs.
struct GraphCensus {
  int kernels = 0;
  int memsets = 0;
  int copies_on_device = 0;
  int host_to_device = 0;
  int device_to_host = 0;
  int host_nodes = 0;
  int other = 0;
  std::vector<GraphNode> nodes;  ///< in recording order (CPU) or node order (CUDA)
  int longest_path = 0;          ///< nodes that must run one after another
  /// For tests.
  bool no_host_transfer() const { return host_to_device + device_to_host + host_nodes == 0; }
};

/// The functor of a kernel, from the name of a KernelHandle or the demangled name of its function.
/// Empty for kernels of libraries.
std::string functor_name(std::string_view kernel);

class StepGraph {
 public:
  /// `body` enqueues one step on `stream`. It must depend only on device memory: all values that
  /// change between steps are read from there.
  static std::unique_ptr<StepGraph> record(Stream& stream,
                                           const std::function<void(Stream&)>& body);
  virtual ~StepGraph() = default;
  virtual void launch(Stream& stream) = 0;
  virtual const GraphCensus& census() const = 0;
};

}  // namespace wellspring
