// Normalisations, with a fused residual and ReLU.
#include "kernels/ops/batch_norm.h"
#include "kernels/ops/layer_norm.h"
#include "train/network/layer.h"

namespace wellspring {
namespace {

enum NormValue : std::size_t { kScale = 0, kShift = 1, kRunningMean = 2, kRunningVariance = 3 };
enum Saved : std::size_t { kMean = 0, kRstd = 1 };

const void* residual(const LayerRun& run) {
  return run.input.size() > 1 ? run.input[1] : nullptr;
}

void* residual_gradient(const LayerRun& run) {
  return run.input.size() > 1 ? run.input_gradient[1] : nullptr;
}

std::size_t align_up(std::size_t bytes) {
  return (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
}

float* floats(void* memory) {
  return static_cast<float*>(memory);
}

class GroupNormLayer : public Layer {
 public:
  GroupNormLayer(const GroupNorm& operation, LayerPlanner& planner)
      : pool_(operation.pool), mean_(operation.mean) {
    const TensorShape& in = planner.node().inputs[0].shape;
    const int side = pool_ ? 2 : 1;
    spec_.batch = planner.batch();
    spec_.height = in.height / side;
    spec_.width = in.width / side;
    spec_.channels = in.channels;
    spec_.groups = operation.groups;
    spec_.epsilon = operation.epsilon;
    spec_.residual = planner.node().inputs.size() > 1;
    spec_.activation = operation.relu ? ops::Activation::relu : ops::Activation::none;
    spec_.compute = planner.compute();
    pool_activation_ = operation.pool_relu ? ops::Activation::relu : ops::Activation::none;
    planner.vector(planner.node().name, "weight", in.channels, Init::ones);
    planner.vector(planner.node().name, "bias", in.channels, Init::zeros);
    const auto statistics = static_cast<std::size_t>(spec_.batch * spec_.groups) * sizeof(float);
    const auto elements = static_cast<std::size_t>(spec_.batch * spec_.height * spec_.width) *
                          static_cast<std::size_t>(spec_.channels);
    planner.save(statistics);
    planner.save(statistics);
    if (pool_ || mean_) planner.save(elements * size_of(spec_.compute));
    if (pool_) planner.save(elements);
    unwanted_ = align_up(ops::group_norm_partials(spec_) * sizeof(float));
    planner.workspace(unwanted_);
    if (planner.learns()) planner.sum_parts();
    if (!planner.input_gradient(0) && !pool_)
      planner.workspace(unwanted_ + elements * size_of(spec_.compute));
    if (!mean_) planner.add_gradients();
    if (!pool_) planner.keep_input(0);
    if (operation.relu && !mean_) planner.keep_output();
  }

  void forward(const LayerRun& run) override {
    const ops::PoolBeforeNorm pool{pool_activation_, winners(run), run.input[0]};
    ops::group_norm_forward(run.stream(), spec_, normalised(run), run.value(kScale),
                            run.value(kShift), residual(run), output(run), floats(run.saved[kMean]),
                            floats(run.saved[kRstd]), floats(run.workspace.data),
                            mean_ ? run.output : nullptr, pool_ ? &pool : nullptr);
  }

  void backward(const LayerRun& run) override {
    void* dx = run.input_gradient[0];
    const ops::PoolBeforeNorm pool{pool_activation_, winners(run), nullptr, dx};
    const bool pools = pool_ && dx != nullptr;
    if (pool_)
      dx = run.saved[kKept];
    else if (dx == nullptr)
      dx = static_cast<std::byte*>(run.workspace.data) + unwanted_;
    ops::group_norm_backward(run.stream(), spec_, normalised(run), output(run),
                             {run.output_gradient, run.output_gradient_again, mean_},
                             run.value(kScale), floats(run.saved[kMean]), floats(run.saved[kRstd]),
                             dx, residual_gradient(run), run.value_gradient(kScale),
                             run.value_gradient(kShift), floats(run.workspace.data),
                             run.workspace.totals, pools ? &pool : nullptr);
  }

 private:
  /// Index of a saved value: the pooled input, whose memory then holds its gradient in the backward
  /// pass, or the output before the mean.
  static constexpr std::size_t kKept = 2;
  std::uint8_t* winners(const LayerRun& run) const {
    return pool_ ? static_cast<std::uint8_t*>(run.saved[kKept + 1]) : nullptr;
  }
  const void* normalised(const LayerRun& run) const {
    return pool_ ? run.saved[kKept] : run.input[0];
  }
  void* output(const LayerRun& run) const { return mean_ ? run.saved[kKept] : run.output; }

  ops::GroupNormSpec spec_;
  bool pool_, mean_;
  ops::Activation pool_activation_ = ops::Activation::none;
  std::size_t unwanted_ = 0;  ///< workspace offset of an input gradient that is not needed
};

class LayerNormLayer : public Layer {
 public:
  LayerNormLayer(const LayerNorm& operation, LayerPlanner& planner) {
    const TensorShape& in = planner.node().inputs[0].shape;
    spec_.rows = planner.batch() * in.positions();
    spec_.channels = in.channels;
    spec_.epsilon = operation.epsilon;
    spec_.compute = planner.compute();
    planner.vector(planner.node().name, "weight", in.channels, Init::ones);
    planner.vector(planner.node().name, "bias", in.channels, Init::zeros);
    const auto statistics = static_cast<std::size_t>(spec_.rows) * sizeof(float);
    planner.save(statistics);
    planner.save(statistics);
    planner.workspace(ops::layer_norm_partials(spec_) * sizeof(float));
    if (planner.learns()) planner.sum_parts();
    planner.keep_input(0);
  }
  void forward(const LayerRun& run) override {
    ops::layer_norm_forward(run.stream(), spec_, run.input[0], run.value(kScale), run.value(kShift),
                            run.output, floats(run.saved[kMean]), floats(run.saved[kRstd]));
  }
  void backward(const LayerRun& run) override {
    ops::layer_norm_backward(run.stream(), spec_, run.input[0], run.output_gradient,
                             run.value(kScale), floats(run.saved[kMean]), floats(run.saved[kRstd]),
                             run.input_gradient[0], run.value_gradient(kScale),
                             run.value_gradient(kShift), floats(run.workspace.data),
                             run.workspace.totals);
  }

 private:
  ops::LayerNormSpec spec_;
};

class BatchNormLayer : public Layer {
 public:
  BatchNormLayer(const BatchNorm& operation, LayerPlanner& planner) {
    const TensorShape& in = planner.node().inputs[0].shape;
    spec_.rows = planner.batch() * in.positions();
    spec_.channels = in.channels;
    spec_.momentum = operation.momentum;
    spec_.epsilon = operation.epsilon;
    spec_.activation = operation.relu ? ops::Activation::relu : ops::Activation::none;
    spec_.compute = planner.compute();
    spec_.ranks = planner.ranks();
    ops::expect_batch_norm_fits(spec_, planner.stream().device());
    const std::string& name = planner.node().name;
    planner.vector(name, "weight", in.channels, operation.weight);
    planner.vector(name, "bias", in.channels, Init::zeros);
    planner.buffer(name, "running_mean", in.channels, Init::zeros);
    planner.buffer(name, "running_var", in.channels, Init::ones);
    learns_ = planner.learns();
    const auto statistics = static_cast<std::size_t>(in.channels) * sizeof(float);
    planner.save(statistics);
    planner.save(statistics);
    planner.keep_saved();
    planner.workspace(ops::batch_norm_partials(spec_) * sizeof(float));
    planner.add_gradients();
    if (learns_) planner.keep_input(0);
    if (operation.relu) planner.keep_output();
  }

  void forward(const LayerRun& run) override {
    if (learns_ && run.pass.mode == PassMode::train) {
      ops::batch_norm_forward(run.stream(), spec_, run.input[0], run.value(kScale),
                              run.value(kShift), residual(run), run.output, statistics(run),
                              floats(run.workspace.data));
      return;
    }
    ops::batch_norm_running_statistics(run.stream(), spec_, statistics(run));
    recompute(run);
  }

  /// Leaves the running statistics unchanged.
  void recompute(const LayerRun& run) override {
    ops::batch_norm_apply(run.stream(), spec_, run.input[0], run.value(kScale), run.value(kShift),
                          residual(run), run.output, statistics(run));
  }

  void backward(const LayerRun& run) override {
    ops::batch_norm_backward(run.stream(), spec_, run.input[0], run.output,
                             {run.output_gradient, run.output_gradient_again}, run.value(kScale),
                             floats(run.saved[kMean]), floats(run.saved[kRstd]),
                             run.input_gradient[0], residual_gradient(run),
                             run.value_gradient(kScale), run.value_gradient(kShift),
                             floats(run.workspace.data));
  }

 private:
  static ops::BatchNormStatistics statistics(const LayerRun& run) {
    return {floats(run.saved[kMean]), floats(run.saved[kRstd]), run.buffer(kRunningMean),
            run.buffer(kRunningVariance)};
  }

  ops::BatchNormSpec spec_;
  bool learns_ = true;  ///< false: the parameters are frozen, and so are the running statistics
};

}  // namespace

std::unique_ptr<Layer> plan_layer(const GroupNorm& operation, LayerPlanner& planner) {
  return std::make_unique<GroupNormLayer>(operation, planner);
}

std::unique_ptr<Layer> plan_layer(const LayerNorm& operation, LayerPlanner& planner) {
  return std::make_unique<LayerNormLayer>(operation, planner);
}

std::unique_ptr<Layer> plan_layer(const BatchNorm& operation, LayerPlanner& planner) {
  return std::make_unique<BatchNormLayer>(operation, planner);
}

}  // namespace wellspring
