// cuDNN graphs of convolutions and attention, planned for a live stream or, from a stored
// description, for an absent chip. Only cudnn.cpp includes cudnn-frontend. Called by
// cuda/conv2d.cpp, cuda/attention.cpp and tests that plan without a device; host only.
#pragma once

#include "kernels/ops/attention.h"
#include "kernels/ops/ops.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace wellspring::ops::cuda {

/// Target device of a plan.
class CudnnTarget {
 public:
  /// The GPU of `stream`, through the cuDNN handle that the stream keeps. Throws a device error if
  /// cuDNN cannot start on it.
  static CudnnTarget of(const Stream& stream);
  /// The chip described by `json` in cuDNN's format (DeviceProperties of cudnn-frontend). Needs
  /// neither GPU nor driver; graphs for this chip can be queried but not run. Throws a data error
  /// if cuDNN rejects the description.
  static CudnnTarget described_by(std::string_view json);
  /// Description of this target's chip, for described_by. Throws a device error if cuDNN has none.
  std::string description() const;

  struct State;
  const State& state() const { return *state_; }

 private:
  explicit CudnnTarget(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

enum class ConvPass : std::uint8_t { forward, backward_data, backward_weights };
std::string_view to_string(ConvPass pass);

/// True: bias and activation are part of the forward graph; false: a separate kernel applies them
/// afterwards.
enum class Epilogue : std::uint8_t { fused, separate };

struct ConvGraphSpec {
  Conv2dSpec conv;
  ConvPass pass = ConvPass::forward;
  Epilogue epilogue = Epilogue::fused;
  DType result = DType::f32;  ///< result type; cuDNN requires the compute type
  std::size_t workspace_limit = std::size_t{512} << 20;  ///< bytes; plans above it are excluded
  std::string to_string() const;
};

/// One pass of one convolution with its execution plan. It never uses engines whose results may
/// differ between runs or, in f32, engines that round the inputs to TF32.
class ConvGraph {
 public:
  /// Throws a device error, with cuDNN's reasons, if cuDNN has no plan for this graph on this
  /// target.
  ConvGraph(const ConvGraphSpec& spec, const CudnnTarget& target);
  ~ConvGraph();
  ConvGraph(ConvGraph&&) noexcept;
  ConvGraph& operator=(ConvGraph&&) noexcept;

  const ConvGraphSpec& spec() const;

  /// Bytes of scratch of the chosen plan; 0 for a described target.
  std::size_t workspace_bytes() const;
  /// cuDNN's name of the chosen engine, for reports; "" for a described target.
  const std::string& engine() const;

  /// Number of plans that cuDNN's heuristics suggest for this graph, including excluded ones; the
  /// best guess is first.
  std::size_t plan_count() const;
  /// cuDNN's name for the engine of plan `index`, with its settings.
  std::string plan_engine(std::size_t index) const;
  /// Builds and chooses plan `index`, to compare plans. Live targets only. If the plan is excluded
  /// or cannot be built, keeps the previous choice and throws a device error with cuDNN's reason.
  void choose(std::size_t index);
  /// Builds and chooses the plan whose engine has this name. Returns false and changes nothing if
  /// this target does not have the plan or cannot run it.
  bool choose(std::string_view engine);

  /// Enqueues the pass on its stream. `tensors` is {x, w, y}, {dy, w, dx} or {x, dy, dw}, depending
  /// on the pass; `bias` is used only if the forward graph has one. Throws device errors.
  void run(std::array<const void*, 3> tensors, const float* bias, Workspace workspace);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

enum class AttentionPass : std::uint8_t { forward, backward };
std::string_view to_string(AttentionPass pass);

/// One pass of attention with its execution plan, which gives the same bits in every run.
class AttentionGraph {
 public:
  /// Throws a device error, with cuDNN's reasons, if cuDNN has no plan for this graph on this
  /// target.
  AttentionGraph(const AttentionSpec& spec, AttentionPass pass, const CudnnTarget& target);
  ~AttentionGraph();
  AttentionGraph(AttentionGraph&&) noexcept;
  AttentionGraph& operator=(AttentionGraph&&) noexcept;

  /// Bytes of scratch of the plan; 0 for a described target.
  std::size_t workspace_bytes() const;

  /// Arguments of a run; see Attention.
  struct Tensors {
    const void* qkv = nullptr;
    const std::int32_t* count = nullptr;  ///< within [1, tokens]; null if the spec is not masked
    const void* y = nullptr;              ///< output of the forward pass
    const float* log_sum = nullptr;       ///< [batch, heads, tokens]; output of the forward pass
    const void* dy = nullptr;
    const void* dqkv = nullptr;  ///< output of the backward pass
  };
  /// Enqueues the pass on its stream. Tokens that do not exist get arbitrary results. Throws device
  /// errors.
  void run(const Tensors& tensors, Workspace workspace);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wellspring::ops::cuda
