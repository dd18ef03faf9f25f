// Convolutions and dense layers.
#include "kernels/ops/depthwise_conv.h"
#include "train/network/layer.h"

#include <string>
#include <utility>

namespace wellspring {
namespace {

enum LinearParameter : std::size_t { kWeight = 0, kBias = 1 };

const std::string& owner(const std::string& weights_of, const LayerPlanner& planner) {
  return weights_of.empty() ? planner.node().name : weights_of;
}

/// y = relu(max_pool(conv(x))), with pooling and ReLU only if they are fused into the node.
class ConvolutionLayer : public Layer {
 public:
  ConvolutionLayer(const Convolution& operation, LayerPlanner& planner) {
    spec_ = conv2d_spec(planner.node(), planner.batch(), planner.compute());
    spec_.input_gradient = planner.input_gradient(0);
    const std::string& layer = owner(operation.weights_of, planner);
    planner.matrix(layer, "weight", TensorLayout::convolution,
                   {spec_.out_channels, spec_.kernel, spec_.kernel, spec_.in_channels},
                   operation.weight);
    if (spec_.bias)
      planner.vector(
          layer, "bias", operation.channels,
          operation.weight.bias(std::int64_t{spec_.kernel} * spec_.kernel * spec_.in_channels));
    learns_ = planner.learns();
    if (learns_) planner.keep_input(0);
    outputs_ = planner.batch() * planner.node().output.shape.elements();
    if (operation.pool) {
      pooled_ = ops::ConvPool2d::plan(spec_, planner.stream());
      planner.workspace(pooled_->workspace_bytes());
      if (learns_ && pooled_->sums_parts()) planner.sum_parts();
      planner.save(static_cast<std::size_t>(outputs_));  // position of the maximum in each window
    } else {
      convolution_ = ops::Conv2d::plan(spec_, planner.stream());
      planner.workspace(convolution_->workspace_bytes());
      if (learns_ && convolution_->sums_parts()) planner.sum_parts();
      if (operation.relu) planner.keep_output();
    }
  }

  void forward(const LayerRun& run) override {
    const float* bias = spec_.bias ? run.value(kBias) : nullptr;
    if (pooled_) {
      pooled_->forward(run.stream(), run.input[0], run.weight(kWeight), bias, run.output,
                       winners(run), run.workspace);
    } else {
      convolution_->forward(run.stream(), run.input[0], run.weight(kWeight), bias, run.output,
                            run.workspace);
    }
  }

  void backward(const LayerRun& run) override {
    void* dy = run.output_gradient;
    void* dx = run.input_gradient[0];
    float* dbias = spec_.bias ? run.value_gradient(kBias) : nullptr;
    if (pooled_) {
      pooled_->backward(run.stream(), run.input[0], run.weight(kWeight), dy, winners(run), dx,
                        run.weight_gradient(kWeight), dbias, run.workspace);
      return;
    }
    if (spec_.activation == ops::Activation::relu)
      ops::relu_backward(run.stream(), spec_.compute, outputs_, run.output, dy, dy);
    if (learns_)
      convolution_->backward_weights(run.stream(), run.input[0], dy, run.weight_gradient(kWeight),
                                     dbias, run.workspace);
    if (dx != nullptr)
      convolution_->backward_data(run.stream(), dy, run.weight(kWeight), dx, run.workspace);
  }

 private:
  static std::uint8_t* winners(const LayerRun& run) {
    return static_cast<std::uint8_t*>(run.saved[0]);
  }

  ops::Conv2dSpec spec_;
  bool learns_ = true;
  std::int64_t outputs_ = 0;
  std::unique_ptr<ops::Conv2d> convolution_;  ///< without pooling
  std::unique_ptr<ops::ConvPool2d> pooled_;   ///< with pooling
};

class DepthwiseConvolutionLayer : public Layer {
 public:
  DepthwiseConvolutionLayer(const DepthwiseConvolution& operation, LayerPlanner& planner)
      : bias_(operation.bias) {
    const TensorShape& in = planner.node().inputs[0].shape;
    spec_.batch = planner.batch();
    spec_.height = in.height;
    spec_.width = in.width;
    spec_.channels = in.channels;
    spec_.kernel = operation.kernel;
    spec_.compute = planner.compute();
    const std::string& name = planner.node().name;
    planner.matrix(name, "weight", TensorLayout::dense,
                   {in.channels, 1, operation.kernel, operation.kernel}, operation.weight);
    if (bias_)
      planner.vector(name, "bias", in.channels,
                     operation.weight.bias(std::int64_t{operation.kernel} * operation.kernel));
    learns_ = planner.learns();
    if (learns_) {
      planner.keep_input(0);
      planner.workspace(ops::depthwise_conv_partials(spec_) * sizeof(float));
    }
  }
  void forward(const LayerRun& run) override {
    ops::depthwise_conv_forward(run.stream(), spec_, run.input[0], run.weight(kWeight),
                                bias_ ? run.value(kBias) : nullptr, run.output);
  }
  void backward(const LayerRun& run) override {
    if (learns_)
      ops::depthwise_conv_backward_weights(
          run.stream(), spec_, run.input[0], run.output_gradient, run.weight_gradient(kWeight),
          bias_ ? run.value_gradient(kBias) : nullptr, static_cast<float*>(run.workspace.data));
    if (run.input_gradient[0] != nullptr)
      ops::depthwise_conv_backward_data(run.stream(), spec_, run.output_gradient,
                                        run.weight(kWeight), run.input_gradient[0]);
  }

 private:
  ops::DepthwiseConvSpec spec_;
  bool bias_, learns_ = true;
};

class DenseLayer : public Layer {
 public:
  DenseLayer(const Dense& operation, LayerPlanner& planner) {
    const TensorShape& in = planner.node().inputs[0].shape;
    spec_.rows = planner.batch() * in.positions();
    spec_.in = in.channels;
    spec_.out = operation.width;
    spec_.bias = operation.bias;
    spec_.activation = operation.relu ? ops::Activation::relu : ops::Activation::none;
    spec_.compute = planner.compute();
    spec_.output = !operation.output.empty() ? DType::f32 : planner.compute();
    spec_.input_gradient = planner.input_gradient(0);
    dense_ = ops::Dense::plan(spec_, planner.stream());
    planner.workspace(dense_->workspace_bytes());
    const std::string& layer = owner(operation.weights_of, planner);
    planner.matrix(layer, "weight", TensorLayout::dense, {spec_.out, spec_.in}, operation.weight);
    if (spec_.bias) planner.vector(layer, "bias", spec_.out, operation.weight.bias(spec_.in));
    learns_ = planner.learns();
    if (learns_) planner.keep_input(0);
    if (operation.relu) planner.keep_output();
  }

  void forward(const LayerRun& run) override {
    dense_->forward(run.stream(), run.input[0], run.weight(kWeight),
                    spec_.bias ? run.value(kBias) : nullptr, run.output, run.workspace);
  }

  void backward(const LayerRun& run) override {
    void* dy = run.output_gradient;
    if (spec_.activation == ops::Activation::relu)
      ops::relu_backward(run.stream(), spec_.compute, spec_.rows * spec_.out, run.output, dy, dy);
    if (learns_)
      dense_->backward_weights(run.stream(), run.input[0], dy, run.weight_gradient(kWeight),
                               spec_.bias ? run.value_gradient(kBias) : nullptr, run.workspace);
    if (run.input_gradient[0] != nullptr)
      dense_->backward_data(run.stream(), dy, run.weight(kWeight), run.input_gradient[0],
                            run.workspace);
  }

 private:
  ops::DenseSpec spec_;
  bool learns_ = true;
  std::unique_ptr<ops::Dense> dense_;
};

}  // namespace

ops::Conv2dSpec conv2d_spec(const Node& node, std::int64_t batch, DType compute) {
  const auto& operation = std::get<Convolution>(node.operation);
  const TensorShape& in = node.inputs[0].shape;
  ops::Conv2dSpec spec;
  spec.batch = batch;
  spec.in_height = in.height;
  spec.in_width = in.width;
  spec.in_channels = in.channels;
  spec.out_channels = operation.channels;
  spec.kernel = operation.kernel;
  spec.stride = operation.stride;
  spec.padding = operation.margin();
  spec.bias = operation.bias;
  spec.activation = operation.relu ? ops::Activation::relu : ops::Activation::none;
  spec.compute = compute;
  return spec;
}

std::unique_ptr<Layer> plan_layer(const Convolution& operation, LayerPlanner& planner) {
  return std::make_unique<ConvolutionLayer>(operation, planner);
}

std::unique_ptr<Layer> plan_layer(const DepthwiseConvolution& operation, LayerPlanner& planner) {
  return std::make_unique<DepthwiseConvolutionLayer>(operation, planner);
}

std::unique_ptr<Layer> plan_layer(const Dense& operation, LayerPlanner& planner) {
  return std::make_unique<DenseLayer>(operation, planner);
}

}  // namespace wellspring
