#include "train/supervised_task.h"

#include "core/text.h"
#include "generators/generator.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {
SupervisedTask::SupervisedTask(const RunConfig& config, const Stream& stream, MemoryPlan& memory,
                               DType compute, Input input)
    : input_(std::move(input)),
      optimizer_(config.optimizer.spec),
      clip_(static_cast<float>(config.train.clip)),
      context_(memory, stream, config.train.batch, compute) {
  int outputs = 0;
  for (const HeadSpec& head : input_.heads) outputs += head.outputs();
  network_ = make_model(config.model.name, config.model.params, config.model.place)
                 ->plan(context_, input_.layout.shape(), outputs);
  context_.parameters.plan(memory, compute, optimizer_);
  norm_partials_ =
      memory.reserve<float>("workspace", "gradient norm", ops::gradient_norm_partials());
}

void SupervisedTask::forward(Stream& stream, const BatchView& batch) {
  network_->forward(stream, batch.x);
}

void SupervisedTask::backward(Stream& stream, const BatchView& batch) {
  network_->backward(stream, batch.x);
}

void SupervisedTask::optimize(Stream& stream, StepState* state) {
  const ops::ParameterView view = context_.parameters.view();
  ops::gradient_norm(stream, view, clip_, norm_partials_.data(), state);
  ops::optimizer_step(stream, optimizer_, view, context_.parameters.first_moment(),
                      context_.parameters.second_moment(), state);
}

}  // namespace wellspring
