#include "kernels/ops/cpu/dense.h"

#include "kernels/ops/cpu/linear_passes.h"

namespace wellspring::ops::cpu {
namespace {

using dnnl::memory;
using Forward = dnnl::inner_product_forward;
using BackwardData = dnnl::inner_product_backward_data;
using BackwardWeights = dnnl::inner_product_backward_weights;

/// The problem as oneDNN is told it; it may choose the layout of the weights (see conv2d.cpp).
struct Problem {
  explicit Problem(const DenseSpec& s)
      : tensors{.x = {{s.rows, s.in}, memory::data_type::f32, memory::format_tag::ab},
                .y = {{s.rows, s.out}, memory::data_type::f32, memory::format_tag::ab},
                .weights = {{s.out, s.in}, memory::data_type::f32, memory::format_tag::ab},
                .bias = bias_vector(s.bias, s.out)},
        weights({s.out, s.in}, memory::data_type::f32, memory::format_tag::any) {}

  LinearTensors tensors;
  memory::desc weights;
};

#if DNNL_VERSION_MAJOR >= 3
Forward::primitive_desc plan_forward(const dnnl::engine& engine, const Problem& p,
                                     Activation activation) {
  return {engine,
          dnnl::prop_kind::forward_training,
          p.tensors.x,
          p.weights,
          p.tensors.bias,
          p.tensors.y,
          attributes(activation)};
}
BackwardData::primitive_desc plan_data(const dnnl::engine& engine, const Problem& p,
                                       const Forward::primitive_desc& hint) {
  return {engine, p.tensors.x, p.weights, p.tensors.y, hint, attributes(Activation::none)};
}
BackwardWeights::primitive_desc plan_weights(const dnnl::engine& engine, const Problem& p,
                                             const Forward::primitive_desc& hint) {
  return {engine,
          p.tensors.x,
          p.weights,
          p.tensors.bias,
          p.tensors.y,
          hint,
          attributes(Activation::none)};
}
#else
Forward::primitive_desc plan_forward(const dnnl::engine& engine, const Problem& p,
                                     Activation activation) {
  const Forward::desc desc(dnnl::prop_kind::forward_training, p.tensors.x, p.weights,
                           p.tensors.bias, p.tensors.y);
  return {desc, attributes(activation), engine};
}
BackwardData::primitive_desc plan_data(const dnnl::engine& engine, const Problem& p,
                                       const Forward::primitive_desc& hint) {
  const BackwardData::desc desc(p.tensors.x, p.weights, p.tensors.y);
  return {desc, attributes(Activation::none), engine, hint};
}
BackwardWeights::primitive_desc plan_weights(const dnnl::engine& engine, const Problem& p,
                                             const Forward::primitive_desc& hint) {
  const BackwardWeights::desc desc(p.tensors.x, p.weights, p.tensors.bias, p.tensors.y);
  return {desc, attributes(Activation::none), engine, hint};
}
#endif

class OneDnnDense final : public Dense {
 public:
  OneDnnDense(const DenseSpec& spec, const Stream& stream)
      : OneDnnDense(spec, stream, Problem(spec), stream.library<OneDnn>()) {}

  std::size_t workspace_bytes() const override { return passes_.workspace_bytes(); }
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
    passes_.backward_weights(stream, x, dy, dw, dbias, workspace);
  }

 private:
  OneDnnDense(const DenseSpec& spec, const Stream& stream, const Problem& problem,
              const std::shared_ptr<OneDnn>& library)
      : passes_("dense", library, problem.tensors) {
    const ThreadScope threads(stream.threads());
    const dnnl::engine& engine = library->engine;
    passes_.set_forward<Forward>(plan_forward(engine, problem, spec.activation));
    // The backward passes begin behind the activation, so their hint has none.
    const auto hint = plan_forward(engine, problem, Activation::none);
    if (spec.input_gradient) {
      passes_.set_backward_data<BackwardData>(plan_data(engine, problem, hint));
    }
    passes_.set_backward_weights<BackwardWeights>(plan_weights(engine, problem, hint));
  }

  LinearPasses passes_;
};

}  // namespace

std::unique_ptr<Dense> plan_dense(const DenseSpec& spec, const Stream& stream) {
  require_f32(spec.to_string(), spec.compute, spec.output);
  return with_onednn_errors(spec.to_string(),
                            [&] { return std::make_unique<OneDnnDense>(spec, stream); });
}

}  // namespace wellspring::ops::cpu
