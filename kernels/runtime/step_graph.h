// The training step as a graph. It is recorded once and replayed every step without host work. Host
// only. On CUDA it is a captured CUDA graph. On the CPU it is a list of closures with the same
// interface, so that loop, ordering, counters and census can be tested without a GPU.
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
  on,     ///< recorded once, then replayed
  check,  ///< runs both ways from the same state; fails unless the results are bit-identical
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
  std::vector<std::string> names;  ///< in recording order (CPU) or node order (CUDA)
  bool no_host_transfer() const { return host_to_device + device_to_host + host_nodes == 0; }
};

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
