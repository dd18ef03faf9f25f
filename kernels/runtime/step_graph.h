// The training step as a graph: recorded once, replayed every step without host work. Host only. On
// CUDA it is a captured CUDA graph; on the CPU a list of closures with the same interface, so that
// loop, ordering, counters and census are tested without a GPU.
#pragma once

#include "kernels/runtime/stream.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

enum class GraphMode : std::uint8_t {
  off,    ///< eager: the body runs every step
  on,     ///< recorded once, replayed
  check,  ///< both, from equal states; an error unless they are bit for bit equal
};

/// Nodes of a recorded step by kind, including child graphs.
struct GraphCensus {
  int kernels = 0;
  int memsets = 0;
  int copies_on_device = 0;
  int host_to_device = 0;
  int device_to_host = 0;
  int host_nodes = 0;
  int other = 0;
  std::vector<std::string> names;  ///< in recording order (CPU) or node order (CUDA)
  bool no_host_transfer() const { return host_to_device + device_to_host + host_nodes == 0; }
};

class StepGraph {
 public:
  /// `body` enqueues one step on `stream`. It must depend only on device memory: everything that
  /// changes between steps is read from there.
  static std::unique_ptr<StepGraph> record(Stream& stream,
                                           const std::function<void(Stream&)>& body);
  virtual ~StepGraph() = default;
  virtual void launch(Stream& stream) = 0;
  virtual const GraphCensus& census() const = 0;
};

}  // namespace wellspring
