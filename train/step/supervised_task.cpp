#include "train/step/supervised_task.h"

#include "train/network/fastest_plans.h"
#include "train/optimizer/gradient_clipping.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/parameter_view.h"
#include "train/optimizer/weight_averaging.h"
#include "train/step/source_truth.h"

namespace wellspring {

SupervisedTask::Input SupervisedTask::Input::of(const RunConfig& config, const Mixture& mixture) {
  return {mixture.layout(), make_heads(config.heads, training_truth(config, mixture))};
}

SupervisedTask::SupervisedTask(const RunConfig& config, RunContext& context, DType compute,
                               Input input)
    : input_(std::move(input)),
      optimizer_(config.optimizer.spec),
      clip_(static_cast<float>(config.train.clip)),
      ema_(static_cast<float>(config.train.ema)) {
  const auto model = make_model(config.model.name, config.model.params, config.model.place);
  if (config.train.convolutions == ConvolutionPlans::fastest) use_fastest_plans(context.stream);
  Tape tape = model->record(input_.layout, outputs_of(input_.heads));
  if (input_.features) {
    feature_shape_ = tape.append_features(*input_.features);
    features_ = static_cast<std::int32_t>(feature_shape_.elements());
  }
  network_ = std::make_unique<Network>(tape,
                                       NetworkSpec{.batch = context.pass_share().rows,
                                                   .compute = compute,
                                                   .seed = config.seed,
                                                   .rules = config.optimizer.parameters},
                                       context.stream, context.memory);
  parameters().plan(context.memory, compute, optimizer_, ema_ > 0);
  if (context.passes > 1) parameters().plan_sums(context.memory);
  norm_partials_ =
      context.memory.reserve<float>("workspace", "gradient norm", ops::gradient_norm_partials());
}

void SupervisedTask::forward(const Pass& pass) {
  network_->forward(pass);
}

void SupervisedTask::backward(const Pass& pass) {
  network_->backward(pass);
}

void SupervisedTask::optimize(Stream& stream, const ops::ScheduleSpec& schedule, StepState* state) {
  const ops::ParameterView view = parameters().view();
  if (view.units > 0) ops::clip_adaptively(stream, view, optimizer_.agc);
  ops::gradient_norm(stream, view, schedule, clip_, norm_partials_.data(), state);
  ops::optimizer_step(stream, optimizer_, view, parameters().first_moment(),
                      parameters().second_moment(), state);
  if (ema_ > 0)
    ops::average_weights(stream, parameters().changing(), ema_, view.master, parameters().average(),
                         state);
}

}  // namespace wellspring
