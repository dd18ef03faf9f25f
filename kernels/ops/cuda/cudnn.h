// cuDNN convolution graphs, planned for a live stream or for the stored description of a chip that
// is not there. All of cudnn-frontend stays in cudnn.cpp. Called by cuda/conv2d.cpp and by the
// tests that plan without a device; host only.
#pragma once

#include "kernels/ops/ops.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace wellspring::ops::cuda {

/// What graphs are planned for.
class CudnnTarget {
 public:
  /// The GPU of `stream`, through the cuDNN handle that the stream keeps. Errors: device when cuDNN
  /// cannot start there.
  static CudnnTarget of(const Stream& stream);
  /// The chip that `json` describes: what cuDNN itself writes about a device (DeviceProperties of
  /// cudnn-frontend). Needs neither GPU nor driver; graphs planned for it can be asked about but
  /// not run. Errors: data when cuDNN refuses the description.
  static CudnnTarget described_by(std::string_view json);
  /// The description of this target's chip, as described_by takes it. Errors: device when cuDNN
  /// gives none.
  std::string description() const;

  struct State;
  const State& state() const { return *state_; }

 private:
  explicit CudnnTarget(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

enum class ConvPass : std::uint8_t { forward, backward_data, backward_weights };
std::string_view to_string(ConvPass pass);

/// Whether bias and activation are part of the forward graph, or left to a kernel after it.
enum class Epilogue : std::uint8_t { fused, separate };

struct ConvGraphSpec {
  Conv2dSpec conv;
  ConvPass pass = ConvPass::forward;
  Epilogue epilogue = Epilogue::fused;
  DType result = DType::f32;  ///< of what the pass writes; cuDNN wants the compute type
  std::size_t workspace_limit = std::size_t{512} << 20;  ///< plans that want more are left out
  std::string to_string() const;
};

/// One pass of one convolution with its execution plan. Engines that may give different results
/// from run to run are never chosen, nor, in f32, any that round the inputs to TF32.
class ConvGraph {
 public:
  /// Errors: device when cuDNN has no plan for this graph on this target, with its reasons.
  ConvGraph(const ConvGraphSpec& spec, const CudnnTarget& target);
  ~ConvGraph();
  ConvGraph(ConvGraph&&) noexcept;
  ConvGraph& operator=(ConvGraph&&) noexcept;

  /// Scratch the chosen plan needs; 0 for a target that is only described.
  std::size_t workspace_bytes() const;
  /// cuDNN's name of the chosen engine, for reports; "" for a target that is only described.
  const std::string& engine() const;

  /// How many plans cuDNN's heuristics name for this graph, the best guess first, those included
  /// that the promises above leave out.
  std::size_t plan_count() const;
  /// cuDNN's name of the engine of plan `index`, with its settings.
  std::string plan_engine(std::size_t index) const;
  /// Builds plan `index`, which is the chosen one from now on: to compare plans. Live targets only.
  /// Errors: device, with cuDNN's reason, when it is left out or cannot be built; the chosen one
  /// stays.
  void choose(std::size_t index);

  /// Enqueues the pass on the stream that it was planned for. `tensors` in the order of the pass:
  /// {x, w, y} {dy, w, dx} {x, dy, dw}; `bias` only where the forward graph has one. Errors:
  /// device.
  void run(std::array<const void*, 3> tensors, const float* bias, Workspace workspace);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wellspring::ops::cuda
