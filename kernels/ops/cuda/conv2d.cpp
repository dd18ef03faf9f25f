#include "kernels/ops/cuda/conv2d.h"

#include "core/error.h"
#include "kernels/ops/bias_activation.h"
#include "kernels/ops/column_sum.h"
#include "kernels/ops/conv_tuning.h"
#include "kernels/ops/cuda/cudnn.h"
#include "kernels/ops/cuda/plan_timer.h"
#include "kernels/ops/cuda/pointers.h"
#include "kernels/ops/cuda/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace wellspring::ops::cuda {
namespace {

ConvGraphSpec graph_spec(const Conv2dSpec& conv, ConvPass pass, Epilogue epilogue) {
  ConvGraphSpec spec;
  spec.conv = conv;
  spec.pass = pass;
  spec.epilogue = epilogue;
  spec.result = conv.compute;
  return spec;
}

/// Makes a pass use the plan that the stream's ConvTuning chooses.
void tune(ConvGraph& graph, const Stream& stream) {
  const auto& choice = stream.library<ConvTuning>()->choice;
  if (!choice) return;
  const ConvGraphSpec& spec = graph.spec();
  const std::string question =
      fmt::format("{}, at most {} bytes of workspace, cuDNN {}, {}", spec.to_string(),
                  spec.workspace_limit, cudnn_version(), describe(stream.device()).name);
  const auto time_plans = [&] { return PlanTimer(spec, stream.device()).fastest(); };
  // The answer may come from a machine on which cuDNN has different plans.
  if (!graph.choose(choice(question, time_plans))) graph.choose(time_plans());
}

class CudnnConv2d final : public Conv2d {
 public:
  CudnnConv2d(const Conv2dSpec& spec, const Stream& stream) : spec_(spec) {
    const CudnnTarget target = CudnnTarget::of(stream);
    plan_forward(target);
    if (spec_.input_gradient) {
      backward_data_.emplace(graph_spec(spec_, ConvPass::backward_data, Epilogue::fused), target);
    }
    backward_weights_.emplace(graph_spec(spec_, ConvPass::backward_weights, Epilogue::fused),
                              target);
    for (std::optional<ConvGraph>* pass : {&forward_, &backward_data_, &backward_weights_}) {
      if (*pass) tune(**pass, stream);
    }
  }

  std::size_t workspace_bytes() const override {
    std::size_t bytes = std::max(forward_->workspace_bytes(), backward_weights_->workspace_bytes());
    if (backward_data_) bytes = std::max(bytes, backward_data_->workspace_bytes());
    // The bias gradient is summed after the weight gradient on the same stream, so the two share
    // the workspace.
    return std::max(bytes, column_sum_partials(gradient_columns()) * sizeof(float));
  }

  void forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
               Workspace workspace) override {
    require_aligned("convolution", {x, w, spec_.bias ? bias : nullptr, y, workspace.data});
    forward_->run({x, w, y}, bias, workspace);
    if (epilogue_ == Epilogue::separate) {
      bias_activation(stream, {rows(), spec_.out_channels, spec_.compute, spec_.activation},
                      spec_.bias ? bias : nullptr, y);
    }
  }

  void backward_data(Stream&, const void* dy, const void* w, void* dx,
                     Workspace workspace) override {
    if (!backward_data_) {
      throw std::logic_error(spec_.to_string() + ": planned without an input gradient");
    }
    require_aligned("convolution gradient", {dy, w, dx, workspace.data});
    backward_data_->run({dy, w, dx}, nullptr, workspace);
  }

  void backward_weights(Stream& stream, const void* x, const void* dy, void* dw, float* dbias,
                        Workspace workspace) override {
    require_aligned("convolution gradient", {x, dy, dw, workspace.data});
    backward_weights_->run({x, dy, dw}, nullptr, workspace);
    if (dbias != nullptr) {
      column_sum(stream, gradient_columns(), dy, static_cast<float*>(workspace.data), dbias);
    }
  }

 private:
  std::int64_t rows() const { return spec_.batch * spec_.out_height() * spec_.out_width(); }
  ColumnSumSpec gradient_columns() const { return {rows(), spec_.out_channels, spec_.compute}; }

  /// Plans bias and activation inside the convolution if this GPU's cuDNN can, otherwise after it.
  void plan_forward(const CudnnTarget& target) {
    try {
      forward_.emplace(graph_spec(spec_, ConvPass::forward, Epilogue::fused), target);
    } catch (const Error&) {
      epilogue_ = Epilogue::separate;
      forward_.emplace(graph_spec(spec_, ConvPass::forward, Epilogue::separate), target);
    }
  }

  Conv2dSpec spec_;
  Epilogue epilogue_ = Epilogue::fused;
  std::optional<ConvGraph> forward_, backward_data_, backward_weights_;
};

}  // namespace

std::unique_ptr<Conv2d> plan_conv2d(const Conv2dSpec& spec, const Stream& stream) {
  return std::make_unique<CudnnConv2d>(spec, stream);
}

}  // namespace wellspring::ops::cuda
