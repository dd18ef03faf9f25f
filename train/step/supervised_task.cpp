#include "train/step/supervised_task.h"

#include "kernels/ops/training.h"
#include "train/heads/average_outputs.h"
#include "train/heads/head_losses.h"
#include "train/network/fastest_plans.h"
#include "train/optimizer/gradient_clipping.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/parameter_view.h"
#include "train/optimizer/weight_averaging.h"
#include "train/step/source_truth.h"

#include <algorithm>
#include <utility>

namespace wellspring {

SupervisedTask::Input SupervisedTask::Input::of(const RunConfig& config, const Mixture& mixture) {
  Input input = {mixture.layout(), make_heads(config.heads, training_truth(config, mixture))};
  input.loss_in_output_layer = fuses_output_layer(input.heads, config.data.mix.on());
  return input;
}

SupervisedTask::SupervisedTask(const RunConfig& config, RunContext& context, DType compute,
                               Input input)
    : input_(std::move(input)),
      rows_(context.pass_share().rows),
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
  NetworkSpec spec{.batch = rows_,
                   .compute = compute,
                   .seed = config.seed,
                   .loss_in_output_layer = input_.loss_in_output_layer && !input_.features,
                   .rules = config.optimizer.parameters,
                   .recompute_blocks = config.train.recompute_blocks};
  if (config.train.sync_batch_norm && context.ranks.size() > 1) spec.ranks = &context.ranks;
  auto whole = std::make_unique<Network>(tape, spec, context.stream, context.memory);
  phases_ = whole->parameters().phases();
  for (std::size_t phase = 0; phase + 1 < phases_.size(); ++phase) {
    spec.step = phases_[phase];
    networks_.push_back(
        std::make_unique<Network>(tape, spec, context.stream, context.memory, whole.get()));
  }
  networks_.push_back(std::move(whole));
  parameters().plan(context.memory, compute, optimizer_, ema_ > 0);
  if (context.passes > 1) parameters().plan_sums(context.memory);
  for (const HeadSpec& head : input_.heads) {
    hidden_ |= head.hidden;
    patch_ = std::max(patch_, head.patch);
  }
  if (hidden_ != 0 || patch_ > 0)
    visible_ = context.memory.reserve<std::byte>(
        "activations", "visible values",
        static_cast<std::size_t>(spec.batch * input_.layout.elements()) * size_of(compute));
  norm_partials_ =
      context.memory.reserve<float>("workspace", "gradient norm", ops::gradient_norm_partials());
}

std::size_t SupervisedTask::select_phase(std::uint64_t step) {
  const auto after = std::ranges::upper_bound(phases_, step);
  return phase_ = static_cast<std::size_t>(after - phases_.begin()) - 1;
}

bool SupervisedTask::hides(const BatchView& batch) const {
  return hidden_ != 0 || (patch_ > 0 && batch.mask != nullptr);
}

BatchView SupervisedTask::visible(BatchView batch) const {
  if (hides(batch)) batch.x = visible_.data();
  return batch;
}

void SupervisedTask::forward(const Pass& pass) {
  if (hidden_ != 0) {
    ops::hide_features(pass.stream, pass.batch, hidden_, visible_.data());
  } else if (hides(pass.batch)) {
    ops::hide_patches(pass.stream, pass.batch, patch_, visible_.data());
  }
  const BatchView batch = visible(pass.batch);
  networks_[phase_]->forward({pass.stream, batch, pass.slots, pass.state, pass.mode});
  if (pass.mode == PassMode::train) return;
  for (const HeadSpec& head : heads()) {
    if (head.average_with.empty()) continue;
    const auto other = std::ranges::find(heads(), head.average_with, &HeadSpec::name);
    ops::average_outputs(pass.stream, network().outputs(), pass.batch.size, outputs_per_sample(),
                         head.begin, other->begin, head.outputs());
  }
}

void SupervisedTask::backward(const Pass& pass, GradientBuckets* buckets,
                              ops::PartTotals* waiting) {
  const BatchView batch = visible(pass.batch);
  networks_[phase_]->backward({pass.stream, batch, pass.slots, pass.state, pass.mode}, buckets,
                              waiting);
}

void SupervisedTask::optimize(Stream& stream, const ops::ScheduleSpec& schedule,
                              const ops::CollectMetrics& end, ops::PartTotals* waiting) {
  StepState* const state = end.state;
  const ops::ParameterView view = parameters().view();
  if (view.units > 0) {
    if (waiting != nullptr) waiting->launch(stream);
    ops::clip_adaptively(stream, view, optimizer_.agc);
  }
  ops::gradient_norm(stream, view, schedule, clip_, norm_partials_.data(), state, end, waiting);
  ops::optimizer_step(stream, optimizer_, view, parameters().first_moment(),
                      parameters().second_moment(), state);
  if (ema_ > 0)
    ops::average_weights(stream, parameters().changing(), ema_, view.master, parameters().average(),
                         state);
}

}  // namespace wellspring
