// Elementwise operations, dropout, addition and concatenation.
#include "kernels/ops/dropout.h"
#include "kernels/ops/sets.h"
#include "kernels/random/philox.h"
#include "train/network/layer.h"

#include <stdexcept>

namespace wellspring {
namespace {

class ReluLayer : public Layer {
 public:
  explicit ReluLayer(LayerPlanner& planner)
      : compute_(planner.compute()),
        elements_(planner.batch() * planner.node().output.shape.elements()) {
    planner.keep_output();
  }
  void forward(const LayerRun& run) override {
    ops::relu(run.stream(), compute_, elements_, run.input[0], run.output);
  }
  void backward(const LayerRun& run) override {
    ops::relu_backward(run.stream(), compute_, elements_, run.output, run.output_gradient,
                       run.input_gradient[0]);
  }

 private:
  DType compute_;
  std::int64_t elements_;
};

class SmoothLayer : public Layer {
 public:
  SmoothLayer(ops::Smooth function, LayerPlanner& planner)
      : function_(function),
        compute_(planner.compute()),
        elements_(planner.batch() * planner.node().output.shape.elements()) {
    planner.keep_input(0);
  }
  void forward(const LayerRun& run) override {
    ops::smooth_activation(run.stream(), function_, compute_, elements_, run.input[0], run.output);
  }
  void backward(const LayerRun& run) override {
    ops::smooth_activation_backward(run.stream(), function_, compute_, elements_, run.input[0],
                                    run.output_gradient, run.input_gradient[0]);
  }

 private:
  ops::Smooth function_;
  DType compute_;
  std::int64_t elements_;
};

class AddLayer : public Layer {
 public:
  explicit AddLayer(LayerPlanner& planner)
      : compute_(planner.compute()),
        elements_(planner.batch() * planner.node().output.shape.elements()) {}
  void forward(const LayerRun& run) override {
    ops::add(run.stream(), compute_, elements_, run.input[0], run.input[1], run.output);
  }
  void backward(const LayerRun& run) override {
    for (void* dx : run.input_gradient)
      if (dx != nullptr)
        ops::convert(run.stream(), elements_, compute_, run.output_gradient, compute_, dx);
  }

 private:
  DType compute_;
  std::int64_t elements_;
};

class ConcatenateLayer : public Layer {
 public:
  /// `values`: type of the inputs and the output; their gradients have the compute type.
  ConcatenateLayer(DType values, LayerPlanner& planner) : gradient_(planner.compute()) {
    const Node& node = planner.node();
    spec_.rows = planner.batch() * node.output.shape.positions();
    spec_.first = node.inputs[0].shape.channels;
    spec_.second = node.inputs[1].shape.channels;
    spec_.compute = values;
  }
  void forward(const LayerRun& run) override {
    ops::concatenate(run.stream(), spec_, run.input[0], run.input[1], run.output);
  }
  void backward(const LayerRun& run) override {
    ops::ConcatenateSpec spec = spec_;
    spec.compute = gradient_;
    ops::concatenate_backward(run.stream(), spec, run.output_gradient, run.input_gradient[0],
                              run.input_gradient[1]);
  }

 private:
  ops::ConcatenateSpec spec_;
  DType gradient_;
};

class AsOutputLayer : public Layer {
 public:
  explicit AsOutputLayer(LayerPlanner& planner)
      : compute_(planner.compute()),
        elements_(planner.batch() * planner.node().output.shape.elements()) {}
  void forward(const LayerRun& run) override {
    ops::convert(run.stream(), elements_, compute_, run.input[0], DType::f32, run.output);
  }
  void backward(const LayerRun& run) override {
    ops::convert(run.stream(), elements_, compute_, run.output_gradient, compute_,
                 run.input_gradient[0]);
  }

 private:
  DType compute_;
  std::int64_t elements_;
};

/// Dropout or stochastic depth.
class DropoutLayer : public Layer {
 public:
  using Operation = decltype(&ops::dropout);

  DropoutLayer(Operation drop, float rate, LayerPlanner& planner) : drop_(drop) {
    spec_.rows = planner.batch();
    spec_.columns = planner.node().output.shape.elements();
    spec_.rate = rate;
    spec_.key = named_key(planner.seed(), planner.node().name);
    spec_.compute = planner.compute();
  }
  void forward(const LayerRun& run) override { apply(run, run.input[0], run.output); }
  void backward(const LayerRun& run) override {
    apply(run, run.output_gradient, run.input_gradient[0]);
  }

 private:
  void apply(const LayerRun& run, const void* from, void* to) const {
    const bool random = run.pass.mode == PassMode::train && spec_.rate > 0;
    if (random && (run.pass.state == nullptr || run.pass.slots == nullptr))
      throw std::logic_error("dropout: a training pass needs a step and slots");
    if (random) {
      drop_(run.stream(), spec_, run.pass.slots, run.pass.state, from, to);
    } else {
      ops::convert(run.stream(), spec_.rows * spec_.columns, spec_.compute, from, spec_.compute,
                   to);
    }
  }

  Operation drop_;
  ops::DropoutSpec spec_;
};

}  // namespace

std::unique_ptr<Layer> plan_layer(const Relu&, LayerPlanner& planner) {
  return std::make_unique<ReluLayer>(planner);
}

std::unique_ptr<Layer> plan_layer(const Gelu&, LayerPlanner& planner) {
  return std::make_unique<SmoothLayer>(ops::Smooth::gelu, planner);
}

std::unique_ptr<Layer> plan_layer(const Silu&, LayerPlanner& planner) {
  return std::make_unique<SmoothLayer>(ops::Smooth::silu, planner);
}

std::unique_ptr<Layer> plan_layer(const Add&, LayerPlanner& planner) {
  return std::make_unique<AddLayer>(planner);
}

std::unique_ptr<Layer> plan_layer(const Concatenate&, LayerPlanner& planner) {
  return std::make_unique<ConcatenateLayer>(planner.compute(), planner);
}

std::unique_ptr<Layer> plan_layer(const JoinOutputs&, LayerPlanner& planner) {
  return std::make_unique<ConcatenateLayer>(DType::f32, planner);
}

std::unique_ptr<Layer> plan_layer(const AsOutput&, LayerPlanner& planner) {
  return std::make_unique<AsOutputLayer>(planner);
}

std::unique_ptr<Layer> plan_layer(const Dropout& operation, LayerPlanner& planner) {
  return std::make_unique<DropoutLayer>(ops::dropout, operation.rate, planner);
}

std::unique_ptr<Layer> plan_layer(const DropPath& operation, LayerPlanner& planner) {
  return std::make_unique<DropoutLayer>(ops::drop_path, operation.rate, planner);
}

}  // namespace wellspring
