#include "train/supervised_task.h"

#include "core/text.h"
#include "generators/generator.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {
namespace {

/// Where a regression finds one of its targets, and how it is brought to [-1, 1].
struct Target {
  std::int32_t index = 0;
  float shift = 0, scale = 1;
  friend bool operator==(const Target&, const Target&) = default;
};

Target find_target(const SourceSpec& spec, int size, const std::string& name) {
  if (spec.kind == SourceKind::files)
    fail(ErrorKind::config,
         {fmt::format("loss: target '{}' of source '{}'", name, spec.name),
          "files carry labels, not latents", "set loss.kind: cross_entropy, or leave it out"});
  const auto generator = make_generator(spec.generator, size, spec.params, spec.place);
  const std::vector<LatentInfo>& latents = generator->info().latents;
  std::vector<std::string> names;
  for (const LatentInfo& latent : latents) names.push_back(latent.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    fail(ErrorKind::config, {fmt::format("loss: source '{}' has no latent '{}'", spec.name, name),
                             "", name_advice(name, names)});
  const auto index = found - names.begin();
  const LatentInfo& latent = latents[static_cast<std::size_t>(index)];
  return {static_cast<std::int32_t>(index), 0.5f * (latent.low + latent.high),
          latent.high > latent.low ? 2 / (latent.high - latent.low) : 1};
}

}  // namespace

SupervisedTask::SupervisedTask(const RunConfig& config, const Stream& stream, MemoryPlan& memory,
                               DType compute, Input input)
    : input_(std::move(input)),
      kind_(config.loss.kind),
      optimizer_(config.optimizer.spec),
      clip_(static_cast<float>(config.train.clip)) {
  if (kind_ == LossKind::mse) plan_targets(config, memory);
  if (kind_ == LossKind::cross_entropy)
    for (const MixtureHead& head : input_.heads) outputs_ += static_cast<int>(head.classes.size());
  const auto model = make_model(config.model.name, config.model.params, config.model.place);
  network_ = std::make_unique<Network>(model->record(input_.layout, outputs_),
                                       NetworkSpec{config.train.batch, compute, config.seed},
                                       stream, memory);
  parameters().plan(memory, compute, optimizer_);
  const auto rows = static_cast<std::size_t>(config.train.batch);
  loss_ = memory.reserve<float>("activations", "loss of each sample", rows);
  correct_ = memory.reserve<std::uint8_t>("activations", "correct or not", rows);
  norm_partials_ =
      memory.reserve<float>("workspace", "gradient norm", ops::gradient_norm_partials());
}

void SupervisedTask::plan_targets(const RunConfig& config, MemoryPlan& memory) {
  outputs_ = static_cast<int>(config.loss.targets.size());
  for (const std::string& name : config.loss.targets) {
    const auto target_of = [&](std::size_t source) {
      return find_target(config.data.sources[source].spec, static_cast<int>(config.data.size),
                         name);
    };
    const Target target = target_of(0);
    for (std::size_t i = 1; i < config.data.sources.size(); ++i)
      if (!(target_of(i) == target))
        fail(ErrorKind::config,
             {fmt::format("loss: latent '{}' differs between sources '{}' and '{}'", name,
                          config.data.sources[0].spec.name, config.data.sources[i].spec.name),
              "a target has one place and one range among the latents of all sources",
              "mix sources of one generator only"});
    target_index_.push_back(target.index);
    target_shift_.push_back(target.shift);
    target_scale_.push_back(target.scale);
  }
  device_index_ = memory.reserve<std::int32_t>("data", "target columns", target_index_.size());
  device_shift_ = memory.reserve<float>("data", "target shifts", target_shift_.size());
  device_scale_ = memory.reserve<float>("data", "target scales", target_scale_.size());
}

void SupervisedTask::load(Stream& stream) {
  if (kind_ != LossKind::mse) return;
  const auto upload = [&stream](auto& block, const auto& values) {
    stream.copy(block.data(), values.data(), block.bytes(), CopyDirection::host_to_device,
                "targets of the regression");
  };
  upload(device_index_, target_index_);
  upload(device_shift_, target_shift_);
  upload(device_scale_, target_scale_);
  stream.synchronize();
}

void SupervisedTask::forward(const Pass& pass) {
  network_->forward(pass);
}

void SupervisedTask::loss(Stream& stream, const BatchView& batch, const Slot* slots,
                          const ops::HeadRange* heads, float label_smoothing) {
  if (kind_ == LossKind::mse) {
    ops::MseSpec spec;
    spec.batch = batch.size;
    spec.targets = outputs_;
    spec.latent_stride = batch.layout.latents;
    spec.gradient = compute();
    ops::mean_squared_error(stream, spec, network_->outputs(), batch.latents, device_index_.data(),
                            device_shift_.data(), device_scale_.data(), batch.weight, loss_.data(),
                            correct_.data(), network_->output_gradient());
    return;
  }
  ops::LossSpec spec;
  spec.batch = batch.size;
  spec.width = outputs_;
  spec.label_smoothing = label_smoothing;
  std::copy(heads, heads + kMaxSources, spec.heads);
  spec.gradient = compute();
  ops::softmax_cross_entropy(stream, spec, network_->outputs(), slots, batch.label, batch.weight,
                             loss_.data(), correct_.data(), network_->output_gradient());
}

void SupervisedTask::backward(const Pass& pass) {
  network_->backward(pass);
}

void SupervisedTask::optimize(Stream& stream, StepState* state) {
  const ops::ParameterView view = parameters().view();
  ops::gradient_norm(stream, view, clip_, norm_partials_.data(), state);
  ops::optimizer_step(stream, optimizer_, view, parameters().first_moment(),
                      parameters().second_moment(), state);
}

ops::HeadRange SupervisedTask::head_for(const std::string& name,
                                        const std::vector<std::string>& classes, float loss_weight,
                                        const std::string& source) const {
  for (const MixtureHead& head : input_.heads) {
    if (head.name != name) continue;
    if (head.classes != classes)
      fail(ErrorKind::data, {fmt::format("source '{}' has {} classes ({}), head '{}' has {} ({})",
                                         source, classes.size(), join(classes), name,
                                         head.classes.size(), join(head.classes)),
                             "label i must mean the same class to the network and to the data",
                             "use data with the classes that the network was made for"});
    return {head.begin, static_cast<std::int32_t>(head.classes.size()), loss_weight};
  }
  fail(ErrorKind::config, {fmt::format("source '{}': the network has no head '{}'", source, name),
                           "its logits belong to other label spaces", ""});
}

}  // namespace wellspring
