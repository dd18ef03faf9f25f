// The three passes of convolutions and dense layers on oneDNN: forward with bias and activation,
// gradient of the input, gradient of weights and bias. Called by kernels/ops/cpu; host only.
#pragma once

#include "kernels/ops/cpu/onednn.h"
#include "kernels/ops/cpu/weight_product.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace wellspring::ops::cpu {

/// Types and layouts of a layer's tensors in the caller's memory.
struct LinearTensors {
  dnnl::memory::desc x, y, dy, weights, bias;  ///< bias: may be empty
};

class LinearPasses {
 public:
  LinearPasses(std::string name, std::shared_ptr<OneDnn> library, LinearTensors tensors)
      : name_(std::move(name)), library_(std::move(library)), tensors_(std::move(tensors)) {}

  template <class Primitive>
  void set_forward(const typename Primitive::primitive_desc& plan) {
    WorkspaceLayout layout;
    forward_.weights = Relayout(library_, tensors_.weights, plan.weights_desc(), layout);
    forward_.primitive = PlannedPrimitive(library_, Primitive(plan));
    forward_.primitive.add_argument(DNNL_ARG_SRC, tensors_.x);
    forward_.primitive.add_argument(DNNL_ARG_WEIGHTS, plan.weights_desc());
    forward_.primitive.add_argument(DNNL_ARG_DST, tensors_.y);
    finish(forward_, plan.scratchpad_desc(), DNNL_ARG_BIAS, layout);
  }

  /// Fuses the activation into the forward pass. `output`: type of y.
  void set_activation(Activation activation, DType output) {
    activation_ = activation;
    output_ = output;
  }

  template <class Primitive>
  void set_backward_data(const typename Primitive::primitive_desc& plan) {
    WorkspaceLayout layout;
    data_.weights = Relayout(library_, tensors_.weights, plan.weights_desc(), layout);
    data_.primitive = PlannedPrimitive(library_, Primitive(plan));
    data_.primitive.add_argument(DNNL_ARG_DIFF_DST, tensors_.dy);
    data_.primitive.add_argument(DNNL_ARG_WEIGHTS, plan.weights_desc());
    data_.primitive.add_argument(DNNL_ARG_DIFF_SRC, tensors_.x);
    finish(data_, plan.scratchpad_desc(), kNoBias, layout);
  }

  template <class Primitive>
  void set_backward_weights(const typename Primitive::primitive_desc& plan) {
    WorkspaceLayout layout;
    weights_.weights = Relayout(library_, plan.diff_weights_desc(), tensors_.weights, layout);
    weights_.primitive = PlannedPrimitive(library_, Primitive(plan));
    weights_.primitive.add_argument(DNNL_ARG_SRC, tensors_.x);
    weights_.primitive.add_argument(DNNL_ARG_DIFF_DST, tensors_.dy);
    weights_.primitive.add_argument(DNNL_ARG_DIFF_WEIGHTS, plan.diff_weights_desc());
    if (has_bias()) spare_bias_ = layout.take(tensors_.bias.get_size());
    finish(weights_, plan.scratchpad_desc(), DNNL_ARG_DIFF_BIAS, layout);
  }

  std::size_t workspace_bytes() const { return workspace_bytes_; }

  void forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
               Workspace workspace);
  void backward_data(Stream& stream, const void* dy, const void* w, void* dx, Workspace workspace);
  void backward_weights(Stream& stream, const void* x, const void* dy, void* dw, float* dbias,
                        Workspace workspace);

 private:
  /// One pass: its primitive, the relayout of its weights, and its scratchpad's offset.
  struct Pass {
    PlannedPrimitive primitive;
    Relayout weights;
    std::size_t scratchpad = 0;
  };
  static constexpr int kNoBias = -1;

  bool has_bias() const { return !tensors_.bias.is_zero(); }

  /// Adds the last arguments of every pass (the scratchpad and the bias, if any) and enlarges the
  /// workspace as needed.
  void finish(Pass& pass, const dnnl::memory::desc& scratchpad, int bias_argument,
              WorkspaceLayout& layout) {
    pass.scratchpad = layout.take(scratchpad.get_size());
    pass.primitive.add_argument(DNNL_ARG_SCRATCHPAD, scratchpad);
    if (bias_argument != kNoBias && has_bias()) {
      pass.primitive.add_argument(bias_argument, tensors_.bias);
    }
    workspace_bytes_ = std::max(workspace_bytes_, layout.bytes());
  }

  std::string name_;
  std::shared_ptr<OneDnn> library_;
  LinearTensors tensors_;
  Pass forward_, data_, weights_;
  Activation activation_ = Activation::none;
  DType output_ = DType::f32;
  std::size_t spare_bias_ = 0;  ///< offset for a dbias that the caller does not need
  std::size_t workspace_bytes_ = 0;
};

/// A convolution or dense layer on oneDNN. `Problem` has its Spec, the primitive types Forward,
/// BackwardData and BackwardWeights, kName, `tensors`, `output` (type of y) and `product` (empty,
/// or the layer as a convolution, if WeightProduct computes dw). The functions plan_forward,
/// plan_data and plan_weights describe the primitives of a Problem.
template <class Layer, class Problem>
class OneDnnLayer final : public Layer {
 public:
  using Spec = typename Problem::Spec;

  OneDnnLayer(const Spec& spec, const Stream& stream)
      : OneDnnLayer(spec, stream, Problem(spec), stream.library<OneDnn>()) {}

  std::size_t workspace_bytes() const override {
    return std::max(passes_.workspace_bytes(), product_ ? product_->workspace_bytes() : 0);
  }
  void forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
               Workspace workspace) override {
    passes_.forward(stream, x, w, bias, y, workspace);
  }
  void backward_data(Stream& stream, const void* dy, const void* w, void* dx,
                     Workspace workspace) override {
    passes_.backward_data(stream, dy, w, dx, workspace);
  }
  void backward_weights(Stream& stream, const void* x, const void* dy, void* dw, float* dbias,
                        Workspace workspace) override {
    if (product_) {
      product_->run(stream, x, dy, dw, dbias, workspace);
    } else {
      passes_.backward_weights(stream, x, dy, dw, dbias, workspace);
    }
  }

 private:
  OneDnnLayer(const Spec& spec, const Stream& stream, const Problem& problem,
              const std::shared_ptr<OneDnn>& library)
      : passes_(Problem::kName, library, problem.tensors) {
    const ThreadScope threads(stream.threads());
    const dnnl::engine& engine = library->engine;
    const auto forward = plan_forward(engine, problem);  // also the hint for the backward passes
    passes_.template set_forward<typename Problem::Forward>(forward);
    passes_.set_activation(spec.activation, problem.output);
    if (spec.input_gradient) {
      passes_.template set_backward_data<typename Problem::BackwardData>(
          plan_data(engine, problem, forward));
    }
    if (problem.product) {
      product_.emplace(*problem.product, library);
    } else {
      passes_.template set_backward_weights<typename Problem::BackwardWeights>(
          plan_weights(engine, problem, forward));
    }
  }

  LinearPasses passes_;
  std::optional<WeightProduct> product_;
};

}  // namespace wellspring::ops::cpu
