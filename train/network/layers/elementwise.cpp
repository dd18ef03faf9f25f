// Elementwise operations, addition and concatenation.
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
  explicit ConcatenateLayer(LayerPlanner& planner) {
    const Node& node = planner.node();
    spec_.rows = planner.batch() * node.output.shape.positions();
    spec_.first = node.inputs[0].shape.channels;
    spec_.second = node.inputs[1].shape.channels;
    spec_.compute = planner.compute();
  }
  void forward(const LayerRun& run) override {
    ops::concatenate(run.stream(), spec_, run.input[0], run.input[1], run.output);
  }
  void backward(const LayerRun& run) override {
    ops::concatenate_backward(run.stream(), spec_, run.output_gradient, run.input_gradient[0],
                              run.input_gradient[1]);
  }

 private:
  ops::ConcatenateSpec spec_;
};

class DropoutLayer : public Layer {
 public:
  DropoutLayer(const Dropout& operation, LayerPlanner& planner) {
    spec_.rows = planner.batch();
    spec_.columns = planner.node().output.shape.elements();
    spec_.rate = operation.rate;
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
      ops::dropout(run.stream(), spec_, run.pass.slots, run.pass.state, from, to);
    } else {
      ops::convert(run.stream(), spec_.rows * spec_.columns, spec_.compute, from, spec_.compute,
                   to);
    }
  }

  ops::DropoutSpec spec_;
};

}  // namespace

std::unique_ptr<Layer> plan_layer(const Relu&, LayerPlanner& planner) {
  return std::make_unique<ReluLayer>(planner);
}

std::unique_ptr<Layer> plan_layer(const Add&, LayerPlanner& planner) {
  return std::make_unique<AddLayer>(planner);
}

std::unique_ptr<Layer> plan_layer(const Concatenate&, LayerPlanner& planner) {
  return std::make_unique<ConcatenateLayer>(planner);
}

std::unique_ptr<Layer> plan_layer(const Dropout& operation, LayerPlanner& planner) {
  return std::make_unique<DropoutLayer>(operation, planner);
}

}  // namespace wellspring
