// Adds and selects tokens, and adds or multiplies by learned parameters.
#include "kernels/ops/tokens.h"

#include "kernels/ops/broadcast.h"
#include "kernels/ops/column_sum.h"
#include "train/network/layer.h"

#include <cstdint>
#include <memory>

namespace wellspring {
namespace {

constexpr std::size_t kParameter = 0;

float* floats(const LayerRun& run) {
  return static_cast<float*>(run.workspace.data);
}

/// y = x + values, with the same values for every sample.
class AddParameterLayer : public Layer {
 public:
  AddParameterLayer(const AddParameter& operation, LayerPlanner& planner) {
    spec_.rows = planner.batch();
    spec_.columns = static_cast<int>(planner.node().output.shape.elements());
    spec_.dtype = planner.compute();
    planner.parameter(operation.values);
    planner.workspace(ops::column_sum_partials(spec_) * sizeof(float));
  }
  void forward(const LayerRun& run) override {
    ops::add_to_rows(run.stream(), spec_.dtype, spec_.rows, spec_.columns, run.input[0],
                     run.value(kParameter), run.output);
  }
  void backward(const LayerRun& run) override {
    if (float* sums = run.value_gradient(kParameter); sums != nullptr)
      ops::column_sum(run.stream(), spec_, run.output_gradient, floats(run), sums);
    if (void* dx = run.input_gradient[0]; dx != nullptr)
      ops::convert(run.stream(), spec_.rows * spec_.columns, spec_.dtype, run.output_gradient,
                   spec_.dtype, dx);
  }

 private:
  ops::ColumnSumSpec spec_;
};

class ScaleChannelsLayer : public Layer {
 public:
  ScaleChannelsLayer(const ScaleChannels& operation, LayerPlanner& planner)
      : compute_(planner.compute()),
        rows_(planner.batch() * planner.node().output.shape.positions()),
        channels_(planner.node().output.shape.channels) {
    planner.parameter(operation.factors);
    planner.workspace(ops::scale_columns_partials(rows_, channels_) * sizeof(float));
    if (planner.learns()) planner.keep_input(0);
  }
  void forward(const LayerRun& run) override {
    ops::scale_columns(run.stream(), compute_, rows_, channels_, run.input[0],
                       run.value(kParameter), run.output);
  }
  void backward(const LayerRun& run) override {
    ops::scale_columns_backward(run.stream(), compute_, rows_, channels_, run.input[0],
                                run.output_gradient, run.value(kParameter), run.input_gradient[0],
                                run.value_gradient(kParameter), floats(run));
  }

 private:
  DType compute_;
  std::int64_t rows_;
  int channels_;
};

class PrependTokensLayer : public Layer {
 public:
  PrependTokensLayer(const PrependTokens& operation, LayerPlanner& planner) {
    const TensorShape &in = planner.node().inputs[0].shape, &out = planner.node().output.shape;
    spec_.batch = planner.batch();
    spec_.extra = out.width - in.width;
    spec_.tokens = in.width;
    spec_.width = in.channels;
    spec_.compute = planner.compute();
    planner.parameter(operation.tokens);
    planner.workspace(ops::prepend_tokens_partials(spec_) * sizeof(float));
  }
  void forward(const LayerRun& run) override {
    ops::prepend_tokens(run.stream(), spec_, run.value(kParameter), run.input[0], run.output);
  }
  void backward(const LayerRun& run) override {
    ops::prepend_tokens_backward(run.stream(), spec_, run.output_gradient, run.input_gradient[0],
                                 run.value_gradient(kParameter), floats(run));
  }

 private:
  ops::PrependSpec spec_;
};

class SelectTokensLayer : public Layer {
 public:
  SelectTokensLayer(const SelectTokens& operation, LayerPlanner& planner)
      : compute_(planner.compute()),
        batch_(planner.batch()),
        in_(planner.node().inputs[0].shape),
        first_(operation.first),
        count_(planner.node().output.shape.width) {}
  void forward(const LayerRun& run) override {
    ops::select_tokens(run.stream(), compute_, batch_, in_.width, in_.channels, first_, count_,
                       run.input[0], run.output);
  }
  void backward(const LayerRun& run) override {
    ops::select_tokens_backward(run.stream(), compute_, batch_, in_.width, in_.channels, first_,
                                count_, run.output_gradient, run.input_gradient[0]);
  }

 private:
  DType compute_;
  std::int64_t batch_;
  TensorShape in_;
  int first_, count_;
};

}  // namespace

std::unique_ptr<Layer> plan_layer(const AddParameter& operation, LayerPlanner& planner) {
  return std::make_unique<AddParameterLayer>(operation, planner);
}

std::unique_ptr<Layer> plan_layer(const ScaleChannels& operation, LayerPlanner& planner) {
  return std::make_unique<ScaleChannelsLayer>(operation, planner);
}

std::unique_ptr<Layer> plan_layer(const PrependTokens& operation, LayerPlanner& planner) {
  return std::make_unique<PrependTokensLayer>(operation, planner);
}

std::unique_ptr<Layer> plan_layer(const SelectTokens& operation, LayerPlanner& planner) {
  return std::make_unique<SelectTokensLayer>(operation, planner);
}

}  // namespace wellspring
