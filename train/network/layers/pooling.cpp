// Upsampling, and pooling over windows, images and the items of sets.
#include "kernels/ops/sets.h"
#include "kernels/ops/upsample.h"
#include "train/network/layer.h"

#include <stdexcept>

namespace wellspring {
namespace {

ops::PoolSpec image_of(const LayerPlanner& planner) {
  const TensorShape& in = planner.node().inputs[0].shape;
  ops::PoolSpec spec;
  spec.batch = planner.batch();
  spec.height = in.height;
  spec.width = in.width;
  spec.channels = in.channels;
  spec.compute = planner.compute();
  return spec;
}

class MaxPoolLayer : public Layer {
 public:
  MaxPoolLayer(const MaxPool& operation, LayerPlanner& planner) : spec_(image_of(planner)) {
    spec_.window = operation.window;
    spec_.stride = operation.stride;
    spec_.padding = operation.padding;
    spec_.activation = operation.relu ? ops::Activation::relu : ops::Activation::none;
    planner.save(
        static_cast<std::size_t>(planner.batch() * planner.node().output.shape.elements()));
  }
  void forward(const LayerRun& run) override {
    ops::max_pool_forward(run.stream(), spec_, run.input[0], run.output, winners(run));
  }
  void backward(const LayerRun& run) override {
    ops::max_pool_backward(run.stream(), spec_, run.output_gradient, winners(run),
                           run.input_gradient[0]);
  }

 private:
  static std::uint8_t* winners(const LayerRun& run) {
    return static_cast<std::uint8_t*>(run.saved[0]);
  }

  ops::PoolSpec spec_;
};

class UpsampleLayer : public Layer {
 public:
  explicit UpsampleLayer(LayerPlanner& planner) : spec_(image_of(planner)) {}
  void forward(const LayerRun& run) override {
    ops::upsample_forward(run.stream(), spec_, run.input[0], run.output);
  }
  void backward(const LayerRun& run) override {
    ops::upsample_backward(run.stream(), spec_, run.output_gradient, run.input_gradient[0]);
  }

 private:
  ops::PoolSpec spec_;
};

class GlobalMeanLayer : public Layer {
 public:
  explicit GlobalMeanLayer(LayerPlanner& planner) : spec_(image_of(planner)) {}
  void forward(const LayerRun& run) override {
    ops::global_mean_forward(run.stream(), spec_, run.input[0], run.output);
  }
  void backward(const LayerRun& run) override {
    ops::global_mean_backward(run.stream(), spec_, run.output_gradient, run.input_gradient[0]);
  }

 private:
  ops::PoolSpec spec_;
};

class ItemPoolLayer : public Layer {
 public:
  ItemPoolLayer(const ItemPool& operation, LayerPlanner& planner) {
    const TensorShape& in = planner.node().inputs[0].shape;
    spec_.rows = planner.batch();
    spec_.items = static_cast<int>(in.positions());
    spec_.features = in.channels;
    spec_.mean = operation.mean;
    spec_.compute = planner.compute();
  }
  void forward(const LayerRun& run) override {
    ops::item_pool_forward(run.stream(), spec_, counts(run), run.input[0], run.output);
  }
  void backward(const LayerRun& run) override {
    ops::item_pool_backward(run.stream(), spec_, counts(run), run.output_gradient,
                            run.input_gradient[0]);
  }

 private:
  static const std::int32_t* counts(const LayerRun& run) {
    if (run.pass.batch.count == nullptr)
      throw std::logic_error("pooling over items: the batch has no counts");
    return run.pass.batch.count;
  }

  ops::ItemPoolSpec spec_;
};

class GlobalsLayer : public Layer {
 public:
  explicit GlobalsLayer(LayerPlanner& planner)
      : compute_(planner.compute()),
        elements_(planner.batch() * planner.node().output.shape.elements()) {}
  void forward(const LayerRun& run) override {
    if (run.pass.batch.globals == nullptr)
      throw std::logic_error("globals: the batch has no global columns");
    ops::convert(run.stream(), elements_, DType::f32, run.pass.batch.globals, compute_, run.output);
  }
  void backward(const LayerRun&) override {}

 private:
  DType compute_;
  std::int64_t elements_;
};

}  // namespace

std::unique_ptr<Layer> plan_layer(const MaxPool& operation, LayerPlanner& planner) {
  return std::make_unique<MaxPoolLayer>(operation, planner);
}

std::unique_ptr<Layer> plan_layer(const Upsample&, LayerPlanner& planner) {
  return std::make_unique<UpsampleLayer>(planner);
}

std::unique_ptr<Layer> plan_layer(const GlobalMean&, LayerPlanner& planner) {
  return std::make_unique<GlobalMeanLayer>(planner);
}

std::unique_ptr<Layer> plan_layer(const ItemPool& operation, LayerPlanner& planner) {
  return std::make_unique<ItemPoolLayer>(operation, planner);
}

std::unique_ptr<Layer> plan_layer(const Globals&, LayerPlanner& planner) {
  return std::make_unique<GlobalsLayer>(planner);
}

}  // namespace wellspring
