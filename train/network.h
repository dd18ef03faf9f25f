// What the layers of a network share while they are planned and run: parameters, memory, scratch.
// Called by models and the trainer; host only.
#pragma once

#include "kernels/emission/batch.h"
#include "kernels/memory_plan.h"
#include "kernels/ops/ops.h"
#include "kernels/stream.h"
#include "train/parameters.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

/// Memory that many layers use one after another: as large as the largest wish. Wishes come while
/// planning, then one block is reserved.
class SharedBlock {
 public:
  explicit SharedBlock(std::string name) : name_(std::move(name)) {}
  void require(std::size_t bytes) { bytes_ = std::max(bytes_, bytes); }
  void reserve(MemoryPlan& memory, const std::string& group) {
    if (bytes_ > 0) block_ = memory.reserve<std::byte>(group, name_, bytes_);
  }
  void* data() const { return block_ ? block_.data() : nullptr; }
  ops::Workspace workspace() const { return {data(), bytes_}; }

 private:
  std::string name_;
  std::size_t bytes_ = 0;
  Planned<std::byte> block_;
};

/// A few equal blocks that hold the gradients of activations on the way back. Layers take one, fill
/// it and give the used one back. Which block is handed out is a function of the call order alone,
/// so a recorded step and an eager one use the same pointers.
class GradientPool {
 public:
  void require(std::size_t bytes) { bytes_ = std::max(bytes_, bytes); }
  void reserve(MemoryPlan& memory);
  void* take();
  void give(void* block);
  /// Every block is free again: the beginning of a backward pass.
  void reset() { taken_.fill(false); }

 private:
  // A residual block holds the gradient of its sum while it works on two others.
  static constexpr std::size_t kBlocks = 3;
  std::size_t bytes_ = 0;
  std::array<Planned<std::byte>, kBlocks> blocks_;
  std::array<bool, kBlocks> taken_{};
};

/// Everything a layer sees. Lives as long as the network.
struct NetworkContext {
  NetworkContext(MemoryPlan& memory_plan, const Stream& planning_stream, std::int64_t batch_size,
                 DType compute_type)
      : memory(memory_plan), stream(planning_stream), batch(batch_size), compute(compute_type) {}

  MemoryPlan& memory;
  const Stream& stream;
  std::int64_t batch;
  DType compute;
  ParameterArena parameters;
  SharedBlock workspace{"library workspace"};
  SharedBlock partials{"partial sums"};
  GradientPool gradients;

  std::size_t activation_bytes(const SampleShape& shape) const {
    return static_cast<std::size_t>(batch * shape.elements()) * size_of(compute);
  }
  Planned<std::byte> reserve_activation(const std::string& name, const SampleShape& shape) {
    return memory.reserve<std::byte>("activations", name, activation_bytes(shape));
  }
  /// After every layer has planned: reserves what they share.
  void reserve_shared();
};

/// Convolution, then optionally 2x2 max pooling, group normalisation, a residual and ReLU:
///   norm:     y = relu(norm(pool(conv(x))) + residual)
///   no norm:  y = relu(pool(conv(x)))
/// Pooling comes before the normalisation, which then works on a quarter of the values.
class ConvolutionUnit {
 public:
  struct Spec {
    std::string name;
    SampleShape in;
    int channels = 1;
    int groups = 0;  ///< of the normalisation; 0: none, with a bias instead
    bool pool = false;
    bool residual = false;  ///< needs a normalisation
    bool input_gradient = true;
  };
  ConvolutionUnit(NetworkContext& context, Spec spec);

  const SampleShape& out() const { return out_; }
  const void* output() const { return output_.data(); }
  void forward(Stream& stream, const void* x, const void* residual = nullptr);
  /// `dy`, from the pool, is used up. Returns dx, from the pool, or nullptr without an input
  /// gradient. With a residual its gradient goes to `dresidual`.
  void* backward(Stream& stream, const void* x, void* dy, void* dresidual = nullptr);

 private:
  NetworkContext& context_;
  Spec spec_;
  SampleShape out_;
  std::unique_ptr<ops::Conv2d> convolution_;             ///< without pooling
  std::unique_ptr<ops::ConvPool2d> pooled_convolution_;  ///< with it
  ops::GroupNormSpec norm_;
  ParameterId weight_, bias_, gamma_, beta_;
  Planned<std::byte> normalised_from_;  ///< what the normalisation read
  Planned<std::byte> output_;
  Planned<std::uint8_t> winner_;
  Planned<float> mean_, rstd_;
};

/// Two units around a shortcut: y = relu(norm(conv(relu(norm(conv(x))))) + x); He et al. 2016.
class ResidualBlock {
 public:
  ResidualBlock(NetworkContext& context, const std::string& name, const SampleShape& shape,
                int groups);
  const void* output() const { return second_.output(); }
  void forward(Stream& stream, const void* x);
  void* backward(Stream& stream, const void* x, void* dy);

 private:
  NetworkContext& context_;
  SampleShape shape_;
  ConvolutionUnit first_, second_;
};

/// Dense layer with an optional ReLU.
class DenseUnit {
 public:
  struct Spec {
    std::string name;
    int in = 1, out = 1;
    ops::Activation activation = ops::Activation::none;
    DType output = DType::f32;
    bool input_gradient = true;
  };
  DenseUnit(NetworkContext& context, Spec spec);
  void* output() const { return output_.data(); }
  void forward(Stream& stream, const void* x);
  /// `dy` (compute type) is overwritten by its gradient before the activation; dx goes to `dx`.
  void backward(Stream& stream, const void* x, void* dy, void* dx);

 private:
  NetworkContext& context_;
  Spec spec_;
  std::unique_ptr<ops::Dense> dense_;
  ParameterId weight_, bias_;
  Planned<std::byte> output_;
};

}  // namespace wellspring
