#include "kernels/ops/cpu/conv2d.h"

#include "kernels/ops/cpu/bf16_layer.h"
#include "kernels/ops/cpu/instruction_set.h"
#include "kernels/ops/cpu/linear_passes.h"
#include "kernels/ops/cpu/winograd_conv2d.h"

namespace wellspring::ops::cpu {
namespace {

using dnnl::memory;

/// The problem in oneDNN's terms. Activations stay NHWC, so that layers need no reorders in
/// between. Weights are KRSC in the caller's memory, but oneDNN chooses its own layout, because it
/// has no fast kernels for plain weights. Reordering a few kilobytes takes microseconds.
struct Problem {
  using Spec = Conv2dSpec;
  using Forward = dnnl::convolution_forward;
  using BackwardData = dnnl::convolution_backward_data;
  using BackwardWeights = dnnl::convolution_backward_weights;
  static constexpr const char* kName = "conv2d";

  explicit Problem(const Conv2dSpec& s)
      : output(s.compute),
        tensors{.x = {{s.batch, s.in_channels, s.in_height, s.in_width},
                      type_of(s.compute),
                      memory::format_tag::nhwc},
                .y = {{s.batch, s.out_channels, s.out_height(), s.out_width()},
                      type_of(s.compute),
                      memory::format_tag::nhwc},
                .dy = tensors.y,
                .weights = {{s.out_channels, s.in_channels, s.kernel, s.kernel},
                            type_of(s.compute),
                            memory::format_tag::ohwi},
                .bias = bias_vector(s.bias, s.out_channels)},
        weights({s.out_channels, s.in_channels, s.kernel, s.kernel}, type_of(s.compute),
                memory::format_tag::any),
        strides{s.stride, s.stride},
        before{s.padding, s.padding},
        after{padding_after(s.in_height, s.out_height(), s),
              padding_after(s.in_width, s.out_width(), s)} {
    if (s.compute == DType::bf16 && WeightProduct::is_faster(s)) product = s;
  }

  /// Padding after the last pixel. oneDNN requires the exact value. If the stride leaves pixels
  /// unread, this padding is smaller than the padding before the first pixel and may be negative.
  static memory::dim padding_after(int in, int out, const Conv2dSpec& s) {
    return memory::dim{out - 1} * s.stride + s.kernel - in - s.padding;
  }

  DType output;
  LinearTensors tensors;
  memory::desc weights;
  std::optional<Conv2dSpec> product;
  memory::dims strides, before, after;
  dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct;
};

using Forward = Problem::Forward;
using BackwardData = Problem::BackwardData;
using BackwardWeights = Problem::BackwardWeights;

#if DNNL_VERSION_MAJOR >= 3
Forward::primitive_desc plan_forward(const dnnl::engine& engine, const Problem& p) {
  return {engine,      dnnl::prop_kind::forward_training,
          p.algorithm, p.tensors.x,
          p.weights,   p.tensors.bias,
          p.tensors.y, p.strides,
          p.before,    p.after,
          attributes()};
}
BackwardData::primitive_desc plan_data(const dnnl::engine& engine, const Problem& p,
                                       const Forward::primitive_desc& hint) {
  return {engine,    p.algorithm, p.tensors.x, p.weights, p.tensors.y,
          p.strides, p.before,    p.after,     hint,      attributes()};
}
BackwardWeights::primitive_desc plan_weights(const dnnl::engine& engine, const Problem& p,
                                             const Forward::primitive_desc& hint) {
  return {engine,    p.algorithm, p.tensors.x, p.weights, p.tensors.bias, p.tensors.y,
          p.strides, p.before,    p.after,     hint,      attributes()};
}
#else
Forward::primitive_desc plan_forward(const dnnl::engine& engine, const Problem& p) {
  const Forward::desc desc(dnnl::prop_kind::forward_training, p.algorithm, p.tensors.x, p.weights,
                           p.tensors.bias, p.tensors.y, p.strides, p.before, p.after);
  return {desc, attributes(), engine};
}
BackwardData::primitive_desc plan_data(const dnnl::engine& engine, const Problem& p,
                                       const Forward::primitive_desc& hint) {
  const BackwardData::desc desc(p.algorithm, p.tensors.x, p.weights, p.tensors.y, p.strides,
                                p.before, p.after);
  return {desc, attributes(), engine, hint};
}
BackwardWeights::primitive_desc plan_weights(const dnnl::engine& engine, const Problem& p,
                                             const Forward::primitive_desc& hint) {
  const BackwardWeights::desc desc(p.algorithm, p.tensors.x, p.weights, p.tensors.bias, p.tensors.y,
                                   p.strides, p.before, p.after);
  return {desc, attributes(), engine, hint};
}
#endif

}  // namespace

std::unique_ptr<Conv2d> plan_conv2d(const Conv2dSpec& spec, const Stream& stream) {
  if (spec.compute == DType::bf16 && !has_amx()) {
    Conv2dSpec wide = spec;
    wide.compute = DType::f32;
    const LinearSizes sizes{
        .x = spec.batch * spec.in_height * spec.in_width * spec.in_channels,
        .w = std::int64_t{spec.out_channels} * spec.kernel * spec.kernel * spec.in_channels,
        .y = spec.batch * spec.out_height() * spec.out_width() * spec.out_channels};
    return std::make_unique<Bf16Layer<Conv2d>>(plan_conv2d(wide, stream), sizes, DType::bf16);
  }
  if (auto faster = plan_winograd_conv2d(spec, stream)) return faster;
  return with_onednn_errors(spec.to_string(), [&] {
    return std::make_unique<OneDnnLayer<Conv2d, Problem>>(spec, stream);
  });
}

}  // namespace wellspring::ops::cpu
