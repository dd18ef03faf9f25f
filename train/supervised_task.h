// A network with its losses, parameters and optimizer on one batch: what a training step and an
// evaluation share. Host only.
#pragma once

#include "kernels/emission/batch.h"
#include "kernels/memory_plan.h"
#include "kernels/ops/training.h"
#include "kernels/step_state.h"
#include "kernels/stream.h"
#include "sources/mixture.h"
#include "train/model.h"
#include "train/network/network.h"
#include "train/run_config.h"

#include <memory>
#include <string>
#include <vector>

namespace wellspring {

class SupervisedTask {
 public:
  struct Input {
    SampleLayout layout;
    std::vector<MixtureHead> heads;  ///< label spaces of the network, in the order of its logits
  };
  /// Plans everything. Errors (config): the model does not fit the input; a regression's target is
  /// no latent of every source.
  SupervisedTask(const RunConfig& config, const Stream& stream, MemoryPlan& memory, DType compute,
                 Input input);

  /// After commit: uploads what the loss needs.
  void load(Stream& stream);

  /// Enqueues the network on `batch` and the loss of the samples in `slots`. `heads` [kMaxSources]:
  /// by source index of the slots.
  void forward(const Pass& pass);
  void loss(Stream& stream, const BatchView& batch, const Slot* slots, const ops::HeadRange* heads,
            float label_smoothing);
  /// Enqueues the backward pass: the gradient of every parameter.
  void backward(const Pass& pass);
  /// Enqueues clipping and the update of every parameter.
  void optimize(Stream& stream, StepState* state);

  /// The head called `name`, with `loss_weight`. Error (data) where `classes` are not the head's.
  ops::HeadRange head_for(const std::string& name, const std::vector<std::string>& classes,
                          float loss_weight, const std::string& source) const;

  ParameterArena& parameters() { return network_->parameters(); }
  const ParameterArena& parameters() const { return network().parameters(); }
  const Network& network() const { return *network_; }
  const std::vector<MixtureHead>& heads() const { return input_.heads; }
  const SampleLayout& layout() const { return input_.layout; }
  int outputs() const { return outputs_; }
  DType compute() const { return network_->compute(); }
  const float* losses() const { return loss_.data(); }             ///< [batch]
  const std::uint8_t* correct() const { return correct_.data(); }  ///< [batch]

 private:
  void plan_targets(const RunConfig& config, MemoryPlan& memory);

  Input input_;
  LossKind kind_;
  ops::OptimizerSpec optimizer_;
  float clip_;
  int outputs_ = 0;
  std::unique_ptr<Network> network_;
  Planned<float> loss_, norm_partials_;
  Planned<std::uint8_t> correct_;
  // Of a regression.
  std::vector<std::int32_t> target_index_;
  std::vector<float> target_shift_, target_scale_;
  Planned<std::int32_t> device_index_;
  Planned<float> device_shift_, device_scale_;
};

}  // namespace wellspring
