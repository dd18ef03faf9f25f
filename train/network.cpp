#include "train/network.h"

#include <stdexcept>

namespace wellspring {

void GradientPool::reserve(MemoryPlan& memory) {
  if (bytes_ == 0) return;
  for (std::size_t i = 0; i < kBlocks; ++i)
    blocks_[i] =
        memory.reserve<std::byte>("activation gradients", "block " + std::to_string(i), bytes_);
}

void* GradientPool::take() {
  for (std::size_t i = 0; i < kBlocks; ++i)
    if (!taken_[i]) {
      taken_[i] = true;
      return blocks_[i].data();
    }
  throw std::logic_error("the backward pass holds more gradients at once than planned");
}

void GradientPool::give(void* block) {
  for (std::size_t i = 0; i < kBlocks; ++i)
    if (blocks_[i].data() == block) {
      taken_[i] = false;
      return;
    }
  throw std::logic_error("a gradient was given back that the pool does not know");
}

void NetworkContext::reserve_shared() {
  workspace.reserve(memory, "workspace");
  partials.reserve(memory, "workspace");
  gradients.reserve(memory);
}

// ---------------------------------------------------------------------------------------------
// ConvolutionUnit

ConvolutionUnit::ConvolutionUnit(NetworkContext& context, Spec spec)
    : context_(context), spec_(std::move(spec)) {
  const bool normalised = spec_.groups > 0;
  if (spec_.residual && !normalised)
    throw std::logic_error(spec_.name + ": a residual needs a normalisation");

  ops::Conv2dSpec convolution;
  convolution.batch = context.batch;
  convolution.in_height = spec_.in.height;
  convolution.in_width = spec_.in.width;
  convolution.in_channels = spec_.in.channels;
  convolution.out_channels = spec_.channels;
  convolution.bias = !normalised;  // a normalisation removes any bias and brings its own
  convolution.activation = normalised ? ops::Activation::none : ops::Activation::relu;
  convolution.compute = context.compute;
  convolution.input_gradient = spec_.input_gradient;
  if (spec_.pool) {
    pooled_convolution_ = ops::ConvPool2d::plan(convolution, context.stream);
    context.workspace.require(pooled_convolution_->workspace_bytes());
  } else {
    convolution_ = ops::Conv2d::plan(convolution, context.stream);
    context.workspace.require(convolution_->workspace_bytes());
  }

  const int pooling = spec_.pool ? 2 : 1;
  out_ = {convolution.out_height() / pooling, convolution.out_width() / pooling, spec_.channels};
  context.gradients.require(context.activation_bytes(out_));
  context.gradients.require(context.activation_bytes(spec_.in));

  weight_ =
      context.parameters.matrix(spec_.name + ".conv.weight", TensorLayout::convolution,
                                {spec_.channels, 3, 3, spec_.in.channels}, Initial::he_normal);
  if (!normalised)
    bias_ = context.parameters.vector(spec_.name + ".conv.bias", spec_.channels, Initial::zeros);

  if (spec_.pool) {
    winner_ = context.memory.reserve<std::uint8_t>(
        "activations", spec_.name + " pooling winners",
        static_cast<std::size_t>(context.batch * out_.elements()));
  }
  output_ = context.reserve_activation(spec_.name, out_);
  if (!normalised) return;

  norm_.batch = context.batch;
  norm_.height = out_.height;
  norm_.width = out_.width;
  norm_.channels = out_.channels;
  norm_.groups = spec_.groups;
  norm_.residual = spec_.residual;
  norm_.activation = ops::Activation::relu;
  norm_.compute = context.compute;
  gamma_ = context.parameters.vector(spec_.name + ".norm.weight", spec_.channels, Initial::ones);
  beta_ = context.parameters.vector(spec_.name + ".norm.bias", spec_.channels, Initial::zeros);
  normalised_from_ = context.reserve_activation(spec_.name + " before norm", out_);
  const auto statistics = static_cast<std::size_t>(context.batch * spec_.groups);
  mean_ = context.memory.reserve<float>("activations", spec_.name + " mean", statistics);
  rstd_ = context.memory.reserve<float>("activations", spec_.name + " 1/std", statistics);
  context.partials.require(ops::group_norm_partials(norm_) * sizeof(float));
}

void ConvolutionUnit::forward(Stream& stream, const void* x, const void* residual) {
  const bool normalised = spec_.groups > 0;
  void* after_pool = normalised ? normalised_from_.data() : output_.data();
  const void* weight = context_.parameters.weight(weight_);
  const float* bias = normalised ? nullptr : context_.parameters.value(bias_);
  const ops::Workspace workspace = context_.workspace.workspace();
  if (spec_.pool) {
    pooled_convolution_->forward(stream, x, weight, bias, after_pool, winner_.data(), workspace);
  } else {
    convolution_->forward(stream, x, weight, bias, after_pool, workspace);
  }
  if (normalised)
    ops::group_norm_forward(stream, norm_, after_pool, context_.parameters.value(gamma_),
                            context_.parameters.value(beta_), residual, output_.data(),
                            mean_.data(), rstd_.data());
}

void* ConvolutionUnit::backward(Stream& stream, const void* x, void* dy, void* dresidual) {
  const bool normalised = spec_.groups > 0;
  void* gradient = dy;
  if (normalised) {
    gradient = context_.gradients.take();
    ops::group_norm_backward(stream, norm_, normalised_from_.data(), output_.data(), dy,
                             context_.parameters.value(gamma_), mean_.data(), rstd_.data(),
                             gradient, dresidual, context_.parameters.value_gradient(gamma_),
                             context_.parameters.value_gradient(beta_),
                             static_cast<float*>(context_.partials.data()));
    context_.gradients.give(dy);
  } else if (!spec_.pool) {
    ops::relu_backward(stream, context_.compute, context_.batch * out_.elements(), output_.data(),
                       dy, dy);
  }
  const void* weight = context_.parameters.weight(weight_);
  void* weight_gradient = context_.parameters.weight_gradient(weight_);
  float* bias_gradient = normalised ? nullptr : context_.parameters.value_gradient(bias_);
  const ops::Workspace workspace = context_.workspace.workspace();
  void* dx = spec_.input_gradient ? context_.gradients.take() : nullptr;
  if (spec_.pool) {
    pooled_convolution_->backward(stream, x, weight, gradient, winner_.data(), dx, weight_gradient,
                                  bias_gradient, workspace);
  } else {
    convolution_->backward_weights(stream, x, gradient, weight_gradient, bias_gradient, workspace);
    if (dx != nullptr) convolution_->backward_data(stream, gradient, weight, dx, workspace);
  }
  context_.gradients.give(gradient);
  return dx;
}

// ---------------------------------------------------------------------------------------------
// ResidualBlock

ResidualBlock::ResidualBlock(NetworkContext& context, const std::string& name,
                             const SampleShape& shape, int groups)
    : context_(context),
      shape_(shape),
      first_(context, {name + ".0", shape, shape.channels, groups}),
      second_(context, {name + ".1", shape, shape.channels, groups, false, /*residual=*/true}) {}

void ResidualBlock::forward(Stream& stream, const void* x) {
  first_.forward(stream, x);
  second_.forward(stream, first_.output(), x);
}

void* ResidualBlock::backward(Stream& stream, const void* x, void* dy) {
  void* shortcut = context_.gradients.take();
  void* inner = second_.backward(stream, first_.output(), dy, shortcut);
  void* dx = first_.backward(stream, x, inner);
  ops::add(stream, context_.compute, context_.batch * shape_.elements(), dx, shortcut, dx);
  context_.gradients.give(shortcut);
  return dx;
}

// ---------------------------------------------------------------------------------------------
// DenseUnit

DenseUnit::DenseUnit(NetworkContext& context, Spec spec)
    : context_(context), spec_(std::move(spec)) {
  ops::DenseSpec dense;
  dense.rows = context.batch;
  dense.in = spec_.in;
  dense.out = spec_.out;
  dense.activation = spec_.activation;
  dense.compute = context.compute;
  dense.output = spec_.output;
  dense.input_gradient = spec_.input_gradient;
  dense_ = ops::Dense::plan(dense, context.stream);
  context.workspace.require(dense_->workspace_bytes());
  const bool relu = spec_.activation == ops::Activation::relu;
  weight_ =
      context.parameters.matrix(spec_.name + ".weight", TensorLayout::dense, {spec_.out, spec_.in},
                                relu ? Initial::he_normal : Initial::lecun_normal);
  bias_ = context.parameters.vector(spec_.name + ".bias", spec_.out, Initial::zeros);
  output_ = context.memory.reserve<std::byte>(
      "activations", spec_.name,
      static_cast<std::size_t>(context.batch * spec_.out) * size_of(spec_.output));
}

void DenseUnit::forward(Stream& stream, const void* x) {
  dense_->forward(stream, x, context_.parameters.weight(weight_), context_.parameters.value(bias_),
                  output_.data(), context_.workspace.workspace());
}

void DenseUnit::backward(Stream& stream, const void* x, void* dy, void* dx) {
  if (spec_.activation == ops::Activation::relu)
    ops::relu_backward(stream, context_.compute, context_.batch * spec_.out, output_.data(), dy,
                       dy);
  dense_->backward_weights(stream, x, dy, context_.parameters.weight_gradient(weight_),
                           context_.parameters.value_gradient(bias_),
                           context_.workspace.workspace());
  if (spec_.input_gradient)
    dense_->backward_data(stream, dy, context_.parameters.weight(weight_), dx,
                          context_.workspace.workspace());
}

}  // namespace wellspring
