#include "kernels/ops/cpu/dense.h"

#include "kernels/ops/cpu/bf16_layer.h"
#include "kernels/ops/cpu/instruction_set.h"
#include "kernels/ops/cpu/linear_passes.h"

namespace wellspring::ops::cpu {
namespace {

using dnnl::memory;

/// The problem in oneDNN's terms. oneDNN chooses the layout of the weights (see conv2d.cpp).
struct Problem {
  using Spec = DenseSpec;
  using Forward = dnnl::inner_product_forward;
  using BackwardData = dnnl::inner_product_backward_data;
  using BackwardWeights = dnnl::inner_product_backward_weights;
  static constexpr const char* kName = "dense";

  explicit Problem(const DenseSpec& s)
      : tensors{.x = {{s.rows, s.in}, type_of(s.compute), memory::format_tag::ab},
                .y = {{s.rows, s.out}, type_of(s.output), memory::format_tag::ab},
                .dy = {{s.rows, s.out}, type_of(s.compute), memory::format_tag::ab},
                .weights = {{s.out, s.in}, type_of(s.compute), memory::format_tag::ab},
                .bias = bias_vector(s.bias, s.out)},
        output(s.output),
        weights({s.out, s.in}, type_of(s.compute), memory::format_tag::any) {
    if (s.compute == DType::bf16)
      product = {.batch = s.rows,
                 .in_channels = s.in,
                 .out_channels = s.out,
                 .kernel = 1,
                 .padding = 0,
                 .bias = s.bias,
                 .compute = s.compute};
  }

  LinearTensors tensors;
  DType output;
  memory::desc weights;
  std::optional<Conv2dSpec> product;
};

using Forward = Problem::Forward;
using BackwardData = Problem::BackwardData;
using BackwardWeights = Problem::BackwardWeights;

#if DNNL_VERSION_MAJOR >= 3
Forward::primitive_desc plan_forward(const dnnl::engine& engine, const Problem& p) {
  return {engine,         dnnl::prop_kind::forward_training,
          p.tensors.x,    p.weights,
          p.tensors.bias, p.tensors.y,
          attributes()};
}
BackwardData::primitive_desc plan_data(const dnnl::engine& engine, const Problem& p,
                                       const Forward::primitive_desc& hint) {
  return {engine, p.tensors.x, p.weights, p.tensors.dy, hint, attributes()};
}
BackwardWeights::primitive_desc plan_weights(const dnnl::engine& engine, const Problem& p,
                                             const Forward::primitive_desc& hint) {
  return {engine, p.tensors.x, p.weights, p.tensors.bias, p.tensors.dy, hint, attributes()};
}
#else
Forward::primitive_desc plan_forward(const dnnl::engine& engine, const Problem& p) {
  const Forward::desc desc(dnnl::prop_kind::forward_training, p.tensors.x, p.weights,
                           p.tensors.bias, p.tensors.y);
  return {desc, attributes(), engine};
}
BackwardData::primitive_desc plan_data(const dnnl::engine& engine, const Problem& p,
                                       const Forward::primitive_desc& hint) {
  const BackwardData::desc desc(p.tensors.x, p.weights, p.tensors.dy);
  return {desc, attributes(), engine, hint};
}
BackwardWeights::primitive_desc plan_weights(const dnnl::engine& engine, const Problem& p,
                                             const Forward::primitive_desc& hint) {
  const BackwardWeights::desc desc(p.tensors.x, p.weights, p.tensors.bias, p.tensors.dy);
  return {desc, attributes(), engine, hint};
}
#endif

}  // namespace

std::unique_ptr<Dense> plan_dense(const DenseSpec& spec, const Stream& stream) {
  if (spec.compute == DType::bf16 && !has_amx()) {
    DenseSpec wide = spec;
    wide.compute = wide.output = DType::f32;
    const LinearSizes sizes{
        .x = spec.rows * spec.in, .w = std::int64_t{spec.out} * spec.in, .y = spec.rows * spec.out};
    return std::make_unique<Bf16Layer<Dense>>(plan_dense(wide, stream), sizes, spec.output);
  }
  return with_onednn_errors(spec.to_string(), [&] {
    return std::make_unique<OneDnnLayer<Dense, Problem>>(spec, stream);
  });
}

}  // namespace wellspring::ops::cpu
