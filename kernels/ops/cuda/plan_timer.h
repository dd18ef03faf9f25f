// Times cuDNN's plans for one pass of a convolution on the GPU. Called by cuda/conv2d.cpp and
// bench/gpu; host only.
#pragma once

#include "kernels/ops/cuda/cudnn.h"
#include "kernels/random/random_memory.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::ops::cuda {

class PlanTimer {
 public:
  /// Allocates the tensors and plans the pass on a stream of its own. Throws device errors.
  PlanTimer(const ConvGraphSpec& spec, Device device);

  ConvGraph& graph() { return graph_; }

  /// Seconds per run of the chosen plan, one value per window. A window lasts at least
  /// `window_seconds`; its runs are replayed as a graph, because launching a small kernel takes
  /// longer than running it. nullopt if the first run takes longer than `give_up_seconds`.
  std::optional<std::vector<double>> seconds_per_run(int windows, double window_seconds,
                                                     double give_up_seconds);

  /// Name of the fastest among the first plans.
  std::string fastest();

 private:
  std::array<const void*, 3> tensors() const;

  RandomMemory memory_;
  ConvGraph graph_;
  Planned<std::byte> x_, w_, y_, bias_;
};

}  // namespace wellspring::ops::cuda
